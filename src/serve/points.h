// The last points of a stream or a model, for whoever looks at it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/answer.h"

namespace kalstream::serve {

/// How many points all streams together may hold.
class PointBudget {
 public:
  explicit PointBudget(std::int64_t points) : left_(points) {}
  bool take(std::int64_t points) {
    if (left_.fetch_sub(points) >= points) return true;
    left_ += points;
    return false;
  }
  void give(std::int64_t points) { left_ += points; }

 private:
  std::atomic<std::int64_t> left_;
};

/// One sample as it is drawn. Numbers are NaN where they are not known.
struct Point {
  std::uint64_t event = 0;  ///< that it came with: they grow
  std::uint64_t sample = 0;
  std::int64_t at = 0;  ///< milliseconds since 1970
  std::string key;      ///< where there are many
  std::string time;     ///< as written; empty: none
  bool time_is_text = false;
  bool anomaly = false;
};

/// Of one point and one target.
struct Numbers {
  double target;
  double prediction;
  double low;
  double high;
  double surprise;
};

struct ShownPoint : Point, Numbers {};

/// The last ones, oldest first: at most so many, and as many as the budget has room for.
class Points {
 public:
  Points(PointBudget& budget, std::size_t targets, std::size_t most)
      : budget_(&budget), targets_(targets), most_(most) {}
  ~Points() { budget_->give(taken_); }
  Points(const Points&) = delete;
  Points& operator=(const Points&) = delete;

  /// `grows`: there may be more than there are.
  void add(std::uint64_t event, std::int64_t at, const Answer& answer, bool with_key,
           bool grows = true);
  /// The target of an earlier one has come; false if that is not there any more.
  bool label(const Answer& answer, bool with_key);

  std::size_t size() const { return points_.size(); }
  /// From the k-th on, with the numbers of one target.
  std::vector<ShownPoint> from(std::size_t k, std::size_t target) const;
  /// The first that came with a later event.
  std::size_t after(std::uint64_t event) const;

 private:
  std::size_t place(std::size_t k) const { return (first_ + k) % points_.size(); }
  void write_target(std::size_t place, const Answer& answer);

  PointBudget* budget_;
  std::size_t targets_;
  std::size_t most_;
  std::vector<Point> points_;     // a ring once it is full
  std::vector<Numbers> numbers_;  // of each its targets
  std::size_t first_ = 0;
  std::int64_t taken_ = 0;  // of the budget
};

}  // namespace kalstream::serve

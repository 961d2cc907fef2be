// Inputs known ahead of their time: weather forecasts, holidays, prices of tomorrow.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace kalstream {

class Archive;
class StreamClock;

/// By the moment they are for, until that has passed.
class KnownInputs {
 public:
  static constexpr std::size_t most = 20'000;  ///< moments; the farthest give way

  /// `which`: for every input whether it is known ahead.
  explicit KnownInputs(std::vector<bool> which = {}) : which_(std::move(which)) {}

  const std::vector<bool>& which() const { return which_; }
  /// From now on others are; what is known stays.
  void set_which(std::vector<bool> which);
  bool any() const;
  bool all() const;  ///< every input is

  /// Of the row's inputs those that are known ahead; NaN: this one is not, yet.
  void add(std::int64_t moment, std::span<const double> x);
  /// Puts what is known for the moment (give or take half a step) in the place of inputs. False if
  /// some input that could be known is not.
  bool fill(std::int64_t moment, const StreamClock& clock, std::span<double> x) const;
  void forget_until(std::int64_t moment) { rows_.erase(rows_.begin(), rows_.upper_bound(moment)); }

  void exchange(Archive& archive);

 private:
  const std::vector<double>* find(std::int64_t moment, const StreamClock& clock) const;

  std::vector<bool> which_;
  std::map<std::int64_t, std::vector<double>> rows_;  // as many numbers as there are inputs
};

}  // namespace kalstream

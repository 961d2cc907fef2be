// Strangeness of a single output.
#pragma once

#include <array>
#include <cstddef>

#include "alarms/constants.h"
#include "alarms/recent_rows.h"
#include "alarms/usual_range.h"
#include "core/archive.h"
#include "kalstream/strangeness.h"

namespace kalstream {

/// Five statistics x of every row, with e = d − d̂, s the usual |e| of the last rows and z = e/s:
///
///   d,   mean₃₀ d,   mean₁₀ e,   mean₃₀ |e|,   mean₁₀ z
///
/// Each has its UsualRange, and m is how far x is beyond it, less what is usual for records. The
/// margin counts as far as the rows of the window were surprising, p the smallest surprise in the
/// window of w rows: m·min(1, (−log₁₀ p − log₁₀ w)/2). So what was forecast is not strange. Then
///
///   size = (1 + 10·max m)·log₁₀(min(n, H))/6,
///
/// n the rows so far: a record of 10,000 rows says more than one of 100. Equal values in a row have
/// a size of their own, their number divided by four times the most lately.
class StrangeOutput {
 public:
  StrangeOutput() = default;
  /// With other constants, which have to live as long. For experiments.
  explicit StrangeOutput(const StrangenessConstants& constants) : c_(&constants) {}

  /// The next row, which is learnt.
  Strangeness::Look take(double d_hat, double surprise, double d);
  void exchange(Archive& archive);

 private:
  enum Statistic : std::size_t { value, level, error, error_size, relative_error, statistics };
  using Row = std::array<double, statistics>;

  bool add(double d_hat, double surprise, double d);
  Row statistics_now() const;
  double gate_of(std::size_t statistic) const;
  void measure(const Row& x, Strangeness::Look& look) const;
  void measure_run(double d, Strangeness::Look& look);
  void tell(Strangeness::Look& look);
  void learn_error(double e);
  double largest_jump() const;

  static constexpr StrangenessConstants usual{};

  const StrangenessConstants* c_ = &usual;
  std::array<UsualRange, statistics> range_;
  RecentRows values_;
  RecentRows errors_;
  RecentRows relative_errors_;
  RecentRows rareness_;  // −log₁₀ surprise
  double rows_ = 0;
  double errors_seen_ = 0;
  double error_now_ = 0;    // mean |e| of the last 16 rows
  double error_usual_ = 0;  // mean |e| of the last 1,024 rows
  double usual_value_ = 0;  // slow mean
  double run_ = 0;          // equal values until now
  double longest_run_ = 2;  // lately
  double changes_ = 0;      // of the value
  double told_ = 0;         // the strangest since it was calm
  double calm_ = 0;         // rows
  bool is_strange_ = false;
};

}  // namespace kalstream

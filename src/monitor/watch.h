// Looks at a stream and says what a person should know.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "monitor/notices.h"

namespace kalstream {

/// Page's test for yes and no: whether yes now comes with p₁ instead of p₀, by the logarithm of the
/// likelihood ratio,
///
///     S ← max(0, S + log(p₁/p₀)) on yes,   S ← max(0, S + log((1 − p₁)/(1 − p₀))) on no,
///
/// with an alarm at S ≥ h. While yes comes independently with p₀, an alarm comes at most every eʰ
/// samples on average (Lorden 1971), 5·10⁸ for h = 20, whatever lies behind the yes: with ranks or
/// quantiles as questions that is so for any distribution. Real streams are not independent, and
/// what they do in bursts is no news: after each alarm h is four times what it was, and goes back
/// slowly, half of the way in 70,000 samples.
class ChangeTest {
 public:
  ChangeTest(double p0, double p1)
      : log_yes_(std::log(p1 / p0)), log_no_(std::log((1 - p1) / (1 - p0))) {}

  /// Whether this sample raises the alarm; the sum then starts again.
  bool add(bool yes);

  /// Samples since the sum was zero, the last one included: since when there is a change, if there
  /// is one; and how many were yes.
  std::uint64_t since() const { return since_; }
  std::uint64_t yes_since() const { return yes_since_; }

  /// Starts again. The threshold becomes three times what the sum would have reached on these
  /// values, yes being those above the limit, if that is more than 20: what comes in bursts anyway
  /// needs longer ones to be news.
  void restart(std::span<const double> usual_values, double limit);

 private:
  double step(bool yes) const { return std::max(0.0, sum_ + (yes ? log_yes_ : log_no_)); }

  static constexpr double least_threshold = 20;

  double log_yes_;
  double log_no_;
  double sum_ = 0;
  double threshold_ = least_threshold;
  double extra_ = 0;  // above the threshold, after alarms
  std::uint64_t since_ = 0;
  std::uint64_t yes_since_ = 0;
};

struct WatchOptions {
  std::uint64_t stuck_after = 500;                                     ///< samples at one value
  double exploding = 5;                                                ///< times the usual error
  double nominal_coverage = std::numeric_limits<double>::quiet_NaN();  ///< NaN: no intervals
};

/// What was found.
struct Finding {
  Warning kind{};
  std::string text;
};

/// Each call looks at one more sample of the stream and returns what it found, nearly always
/// nothing; the view lives until the next call. Costs some nanoseconds per input and allocates only
/// for findings. A target may be looked at when it arrives, long after its inputs.
class Watch {
 public:
  using Findings = std::span<const Finding>;

  explicit Watch(std::vector<std::string> input_names, const WatchOptions& options = {});

  /// An input stuck at one value for stuck_after samples, and five times longer than ever before,
  /// after it had varied (said again when twice as long, and so on); an input farther outside the
  /// range seen than the range is wide. Such a value widens the range only so far: one wild value
  /// does not hide the next. What is not finite is passed over.
  Findings look_at_inputs(std::span<const double> x);

  /// Errors far above the usual, or more often large than usual. Usual is what nine of ten of the
  /// last 5,000 were below; nothing is said before there have been 1,000.
  Findings look_at_error(std::span<const double> d_hat, std::span<const double> d);

  /// Whether the interval held the target: too seldom, or too often.
  Findings look_at_interval(bool held);

 private:
  struct Input {
    double last = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t run = 0;      // samples at the last value
    std::uint64_t longest = 0;  // run before this one
    std::uint64_t changes = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    std::uint64_t seen = 0;
  };

  std::uint64_t patience(const Input& input) const;
  bool stuck(Input& input, double v) const;
  bool unusual(Input& input, double v);
  void remember(double squared_error);
  double far_off() const { return options_.exploding * options_.exploding * usual_; }
  void say(Warning kind, std::string text);

  std::vector<std::string> names_;
  WatchOptions options_;
  std::vector<Input> inputs_;
  std::pair<double, double> before_;  // the range an unusual value was outside of

  std::vector<double> past_;     // squared errors, of every fifth sample once it is full
  std::vector<double> scratch_;  // for their quantile
  std::size_t next_ = 0;         // place in past_
  std::uint64_t errors_ = 0;
  double usual_ = 0;      // the 0.9-quantile of past_
  double since_sum_ = 0;  // of squared errors, since the drift test's sum was zero
  ChangeTest drift_;
  ChangeTest explosion_;

  ChangeTest too_seldom_;
  ChangeTest too_often_;

  std::vector<Finding> findings_;
};

}  // namespace kalstream

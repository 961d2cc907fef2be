#include "monitor/watch.h"

#include <fmt/format.h>

#include <bit>

namespace kalstream {
namespace {

constexpr double raise = 3;               // of the threshold by an alarm, times what it was
constexpr double relaxing = 1e-5;         // of a raised threshold, per sample
constexpr std::size_t past_size = 1000;   // errors that say what is usual …
constexpr std::uint64_t past_stride = 5;  // … one of five, once there are so many
constexpr std::uint64_t review = 100;     // samples between two looks at what is usual
constexpr double large = 0.1;             // the share of errors above the usual
constexpr double larger = 0.3;            // what it is tested against
// One in ten errors is above the usual, so at most one in 50 is above five times that, for any tail
// that is not heavier than Cauchy's.
constexpr double exploded = 0.02;
constexpr std::uint64_t settled = 1000;  // samples before a range means anything
constexpr std::uint64_t varied = 10;     // changes before an input can be said to be stuck

double clamped_share(double share) { return std::clamp(share, 1e-6, 1 - 1e-6); }

}  // namespace

bool ChangeTest::add(bool yes) {
  extra_ *= 1 - relaxing;
  if (sum_ == 0) since_ = yes_since_ = 0;
  sum_ = step(yes);
  ++since_;
  yes_since_ += yes ? 1 : 0;
  if (sum_ < threshold_ + extra_) return false;
  extra_ += raise * (threshold_ + extra_);
  sum_ = 0;
  return true;
}

void ChangeTest::restart(std::span<const double> usual_values, double limit) {
  sum_ = 0;
  double highest = 0;
  for (const double v : usual_values) highest = std::max(highest, sum_ = step(v > limit));
  threshold_ = std::max(least_threshold, 3 * highest);
  sum_ = 0;
}

Watch::Watch(std::vector<std::string> input_names, const WatchOptions& options)
    : names_(std::move(input_names)),
      options_(options),
      inputs_(names_.size()),
      drift_(large, larger),
      explosion_(exploded, larger),
      too_seldom_(clamped_share(1 - options.nominal_coverage),
                  clamped_share(std::min(3 * (1 - options.nominal_coverage),
                                         1 - options.nominal_coverage / 2))),
      too_often_(clamped_share(1 - options.nominal_coverage),
                 clamped_share((1 - options.nominal_coverage) / 10)) {
  past_.reserve(past_size);
  scratch_.reserve(past_size);
}

void Watch::say(Warning kind, std::string text) { findings_.push_back({kind, std::move(text)}); }

std::uint64_t Watch::patience(const Input& input) const {
  return std::max(options_.stuck_after, 5 * input.longest);
}

// Counts v, and tells whether the input has been at one value for too long now.
bool Watch::stuck(Input& input, double v) const {
  if (v != input.last) {
    // A run that was found too long counts as no longer than that: it may have been a fault.
    input.longest = std::max(input.longest, std::min(input.run, patience(input)));
    input.changes += input.run > 0 ? 1 : 0;
    input.run = 0;
    input.last = v;
  }
  ++input.run;
  const std::uint64_t limit = patience(input);
  return input.changes >= varied && input.run % limit == 0 &&
         std::has_single_bit(input.run / limit);
}

// Counts v, and tells whether it is far outside the range so far.
bool Watch::unusual(Input& input, double v) {
  const double width = input.high - input.low;
  const bool judge = ++input.seen > settled && width > 0;
  const double edge = judge ? std::clamp(v, input.low - width, input.high + width) : v;
  const bool far = edge != v;
  if (far) before_ = {input.low, input.high};
  input.low = std::min(input.low, edge);
  input.high = std::max(input.high, edge);
  return far;
}

Watch::Findings Watch::look_at_inputs(std::span<const double> x) {
  findings_.clear();
  std::size_t n_stuck = 0;
  std::size_t n_unusual = 0;
  const std::size_t n = std::min(x.size(), inputs_.size());
  for (std::size_t k = 0; k < n; ++k) {
    if (!std::isfinite(x[k])) continue;
    Input& input = inputs_[k];
    if (stuck(input, x[k]) && n_stuck++ == 0)
      say(Warning::stuck_input,
          fmt::format(
              "input '{}' has been {:.6g} for {} samples and never stayed the same for more "
              "than {} before; check where it comes from",
              names_[k], x[k], input.run, input.longest));
    if (unusual(input, x[k]) && n_unusual++ == 0)
      say(Warning::unusual_input,
          fmt::format(
              "input '{}' is {:.6g}, far outside what was seen, {:.6g} to {:.6g}; check its "
              "unit and where it comes from",
              names_[k], x[k], before_.first, before_.second));
  }
  for (Finding& finding : findings_) {
    const std::size_t count = finding.kind == Warning::stuck_input ? n_stuck : n_unusual;
    if (count > 1) finding.text += fmt::format(" ({} more inputs likewise)", count - 1);
  }
  return findings_;
}

void Watch::remember(double squared_error) {
  if (past_.size() < past_size) {
    past_.push_back(squared_error);
  } else if (errors_ % past_stride == 0) {
    past_[next_] = squared_error;
    next_ = (next_ + 1) % past_size;
  }
  ++errors_;
  if (past_.size() < past_size || errors_ % review != 0) return;
  scratch_ = past_;
  const auto place = scratch_.begin() + static_cast<std::ptrdiff_t>((1 - large) * past_size);
  std::nth_element(scratch_.begin(), place, scratch_.end());
  usual_ = *place;
  if (errors_ > past_size) return;
  // Full for the first time, and every sample is in it, in the order of the stream.
  drift_.restart(past_, usual_);
  explosion_.restart(past_, far_off());
}

Watch::Findings Watch::look_at_error(std::span<const double> d_hat, std::span<const double> d) {
  findings_.clear();
  if (d.size() != d_hat.size() || d.empty()) return findings_;
  double squared = 0;
  for (std::size_t k = 0; k < d.size(); ++k) squared += (d[k] - d_hat[k]) * (d[k] - d_hat[k]);
  if (std::isnan(squared)) return findings_;
  if (past_.size() == past_size) {
    const bool exploding = usual_ > 0 && explosion_.add(squared > far_off());
    const bool drifting = drift_.add(squared > usual_);
    if (drift_.since() == 1) since_sum_ = 0;
    since_sum_ += squared;
    if (exploding || drifting) {
      const double n = static_cast<double>(d.size());
      const double rmse = std::sqrt(since_sum_ / static_cast<double>(drift_.since()) / n);
      const double usual = std::sqrt(usual_ / n);
      if (exploding)
        say(Warning::exploding_error,
            fmt::format("errors have become more than {:.3g} times what is usual: RMSE {:.4g} over "
                        "the last {} samples, where nine of ten errors were below {:.4g}; check "
                        "inputs and targets, or go back to a checkpoint",
                        options_.exploding, rmse, drift_.since(), usual));
      else
        say(Warning::drift,
            fmt::format(
                "errors have grown: RMSE {:.4g} over the last {} samples, where nine of ten "
                "errors were below {:.4g}; what the stream describes may have changed",
                rmse, drift_.since(), usual));
      // From here on, what follows is the usual.
      past_.clear();
      next_ = 0;
      errors_ = 0;
      return findings_;
    }
  }
  remember(squared);
  return findings_;
}

Watch::Findings Watch::look_at_interval(bool held) {
  findings_.clear();
  const double nominal = options_.nominal_coverage;
  if (!(nominal > 0 && nominal < 1)) return findings_;
  const bool seldom = too_seldom_.add(!held);
  const bool often = too_often_.add(!held);
  if (!seldom && !often) return findings_;
  const ChangeTest& test = seldom ? too_seldom_ : too_often_;
  const double misses = static_cast<double>(test.yes_since()) / static_cast<double>(test.since());
  say(Warning::coverage,
      fmt::format("intervals of {:.4g} % held the target in {:.1f} % of the last {} samples; {}",
                  100 * nominal, 100 * (1 - misses), test.since(),
                  seldom ? "do not rely on them before that has changed" : "they are too wide"));
  return findings_;
}

}  // namespace kalstream

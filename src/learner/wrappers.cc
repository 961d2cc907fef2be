
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/cloned.h"
#include "core/finite.h"
#include "core/moments.h"
#include "learner/history.h"
#include "learner/parts.h"
#include "learner/wild_start.h"

namespace kalstream {
namespace {

// Inputs: x' = (x − mean)/deviation, with x itself in the moments (it is known when d̂ is made); of
// inputs that are past targets, with the moments of these.
// Targets, from moments before d: d' = (d − mean)/(unit·deviation), held within ±1 for a tanh
// output; 0 while fewer than two are known and there is no unit. Classes and counts have units of
// their own, and stay as they are. The prediction is mapped back with
// the moments it was made with. If the start turns out to have been wild, the inner learner begins
// anew with better moments.
class Scaled final : public Learner {
 public:
  Scaled(std::unique_ptr<Learner> inner, OutputActivation activation, std::size_t lags,
         bool targets_as_they_are)
      : inner_(std::move(inner)),
        bounded_(activation == OutputActivation::tanh && !targets_as_they_are),
        raw_targets_(targets_as_they_are),
        first_lag_(inner_->inputs() - lags * inner_->outputs()),
        x_moments_(first_lag_),
        x_moments_new_(x_moments_),
        d_moments_(inner_->outputs()),
        x_start_(first_lag_),
        d_start_(inner_->outputs()),
        x_(inner_->inputs()),
        x_seen_(inner_->inputs()),
        d_(inner_->outputs()),
        d_hat_(inner_->outputs()),
        spread_(inner_->outputs()) {}

  std::size_t inputs() const override { return inner_->inputs(); }
  std::size_t outputs() const override { return inner_->outputs(); }
  std::uint64_t samples() const override { return before_ + inner_->samples(); }
  LearnerState state() const override { return inner_->state(); }

  std::span<const double> predict(std::span<const double> x) override {
    const auto d_hat = inner_->predict(standardise(x));
    for (std::size_t k = 0; k < d_hat_.size(); ++k) d_hat_[k] = to_target(k, d_hat[k]);
    return d_hat_;
  }

  std::span<const double> spread() override {
    const auto spread = inner_->spread();
    for (std::size_t k = 0; k < spread.size(); ++k)
      spread_[k] = raw_targets_ ? spread[k] : d_moments_.deviation(k) * unit() * spread[k];
    return std::span(spread_).first(spread.size());
  }

  StepReport learn(std::span<const double> x, std::span<const double> d) override {
    if (d.size() != d_.size() || !all_usable(d)) return refusal(*this);
    for (std::size_t k = 0; k < d.size(); ++k) d_[k] = to_network(k, d[k]);
    const StepReport report = inner_->learn(standardise(x), d_);
    if (report.status != StepStatus::rejected_input) {
      d_moments_.add(d);
      const bool was_wild = d_start_.add(d, d_moments_) && !raw_targets_;
      take(x, was_wild);
    }
    return report;
  }

  StepReport advance(std::span<const double> x) override {
    const StepReport report = inner_->advance(standardise(x));
    if (report.status != StepStatus::rejected_input) take(x, /*was_wild=*/false);
    return report;
  }

  void start_forecast() override { inner_->start_forecast(); }

  std::span<const double> forecast_next(std::span<const double> x) override {
    const bool usable = x.size() == x_.size() && all_usable(x);
    is_standardised_ = false;
    const auto d_hat = inner_->forecast_next(usable ? standardise(x, x_moments_) : x);
    for (std::size_t k = 0; k < d_hat_.size(); ++k) d_hat_[k] = to_target(k, d_hat[k]);
    return d_hat_;
  }

  std::unique_ptr<Learner> clone() const override { return std::make_unique<Scaled>(*this); }

  void reset() override {
    inner_->reset();
    x_moments_.reset();
    d_moments_.reset();
    x_start_.reset();
    d_start_.reset();
    before_ = 0;
    is_standardised_ = false;
  }

  void exchange(Archive& archive) override {
    is_standardised_ = false;
    inner_->exchange(archive);
    x_moments_.exchange(archive);
    d_moments_.exchange(archive);
    x_start_.exchange(archive);
    d_start_.exchange(archive);
    archive.count(before_);
  }

 private:
  // The moments that include x are those that count now.
  void take(std::span<const double> x, bool was_wild) {
    std::swap(x_moments_, x_moments_new_);
    is_standardised_ = false;
    was_wild |= x_start_.add(x.first(first_lag_), x_moments_);
    if (!was_wild) return;
    before_ += inner_->samples();
    inner_->reset();
  }

  // x' with moments that include x; the moments themselves wait in x_moments_new_. learn() asks for
  // the x that predict() has just seen: that one is not standardised again.
  std::span<const double> standardise(std::span<const double> x) {
    if (x.size() != x_.size()) return x;  // the inner learner will refuse it
    if (is_standardised_ &&
        (x.empty() || std::memcmp(x.data(), x_seen_.data(), x.size_bytes()) == 0))
      return x_;
    if (!all_usable(x)) return x;
    x_moments_new_ = x_moments_;
    x_moments_new_.add(x.first(first_lag_));
    std::ranges::copy(x, x_seen_.begin());
    is_standardised_ = true;
    return standardise(x, x_moments_new_);
  }

  std::span<const double> standardise(std::span<const double> x, const RunningMoments& moments) {
    for (std::size_t k = 0; k < x.size(); ++k)
      x_[k] = k < first_lag_ ? moments.standardised(k, x[k])
                             : d_moments_.standardised((k - first_lag_) % d_.size(), x[k]);
    return x_;
  }

  // A tanh output works best well inside its range: three deviations reach ±0.8.
  double unit() const { return bounded_ ? 3 / 0.8 : 1; }
  double to_network(std::size_t k, double d) const {
    if (raw_targets_) return d;
    const double scaled = d_moments_.count() < 2 ? 0 : d_moments_.standardised(k, d) / unit();
    return bounded_ ? std::clamp(scaled, -1.0, 1.0) : scaled;
  }
  double to_target(std::size_t k, double d_hat) const {
    if (raw_targets_) return d_hat;
    return d_moments_.mean(k) + d_moments_.deviation(k) * unit() * d_hat;
  }

  Cloned<Learner> inner_;
  bool bounded_;
  bool raw_targets_;
  std::size_t first_lag_;  // among the inputs
  RunningMoments x_moments_;
  RunningMoments x_moments_new_;
  RunningMoments d_moments_;
  WildStart x_start_;
  WildStart d_start_;
  std::uint64_t before_ = 0;    // samples before the inner learner began anew
  std::vector<double> x_;       // standardised
  std::vector<double> x_seen_;  // what x_ was made of, if is_standardised_
  bool is_standardised_ = false;
  std::vector<double> d_;
  std::vector<double> d_hat_;
  std::vector<double> spread_;
};

class Lagged final : public Learner {
 public:
  Lagged(std::unique_ptr<Learner> inner, std::size_t inputs, std::size_t lags)
      : inner_(std::move(inner)),
        inputs_(inputs),
        shown_(inner_->inputs() - lags * inner_->outputs()),
        history_(lags, inner_->outputs()),
        ahead_(history_),
        x_(inner_->inputs()),
        guess_(inner_->outputs()) {}

  std::size_t inputs() const override { return inputs_; }
  std::size_t outputs() const override { return inner_->outputs(); }
  std::uint64_t samples() const override { return inner_->samples(); }
  LearnerState state() const override { return inner_->state(); }

  std::span<const double> predict(std::span<const double> x) override {
    return inner_->predict(with_lags(x, history_));
  }

  std::span<const double> spread() override { return inner_->spread(); }

  StepReport learn(std::span<const double> x, std::span<const double> d) override {
    if (!all_usable(d)) return refusal(*this);  // it would be an input soon
    const StepReport report = inner_->learn(with_lags(x, history_), d);
    if (report.status != StepStatus::rejected_input) history_.push(d);
    return report;
  }

  StepReport advance(std::span<const double> x) override {
    const auto seen = with_lags(x, history_);
    const auto d_hat = inner_->predict(seen);
    std::copy(d_hat.begin(), d_hat.end(), guess_.begin());
    const StepReport report = inner_->advance(seen);
    if (report.status != StepStatus::rejected_input) history_.push_guess(guess_);
    return report;
  }

  StepReport observe(std::span<const double> x, std::span<const double> d) override {
    if (d.size() != outputs() || !all_usable(d)) return advance(x);
    const StepReport report = inner_->advance(with_lags(x, history_));
    if (report.status != StepStatus::rejected_input) history_.push(d);
    return report;
  }

  void start_forecast() override {
    inner_->start_forecast();
    ahead_ = history_;
  }

  std::span<const double> forecast_next(std::span<const double> x) override {
    const auto seen = with_lags(x, ahead_);
    const auto d_hat = inner_->forecast_next(seen);
    if (!seen.empty()) ahead_.push_guess(d_hat);
    return d_hat;
  }

  std::unique_ptr<Learner> clone() const override { return std::make_unique<Lagged>(*this); }

  void reset() override {
    inner_->reset();
    history_.reset();
  }

  void exchange(Archive& archive) override {
    inner_->exchange(archive);
    history_.exchange(archive);
  }

 private:
  // What the inner learner sees; nothing, which it refuses, for an x that cannot be used.
  std::span<const double> with_lags(std::span<const double> x, const TargetHistory& history) {
    if (x.size() != inputs_ || !all_usable(x)) return {};
    const auto after = std::copy_n(x.begin(), shown_, x_.begin());
    std::copy(history.all().begin(), history.all().end(), after);
    return x_;
  }

  Cloned<Learner> inner_;
  std::size_t inputs_;
  std::size_t shown_;  // of the inputs: all or none
  TargetHistory history_;
  TargetHistory ahead_;  // during a forecast
  std::vector<double> x_;
  std::vector<double> guess_;
};

}  // namespace

std::unique_ptr<Learner> make_scaled(std::unique_ptr<Learner> inner, OutputActivation activation,
                                     std::size_t lags, bool targets_as_they_are) {
  return std::make_unique<Scaled>(std::move(inner), activation, lags, targets_as_they_are);
}

std::unique_ptr<Learner> make_lagged(std::unique_ptr<Learner> inner, std::size_t inputs,
                                     std::size_t lags) {
  if (lags == 0) return inner;
  return std::make_unique<Lagged>(std::move(inner), inputs, lags);
}

}  // namespace kalstream

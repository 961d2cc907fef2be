#include "learner/scaled.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/finite.h"

namespace kalstream {
namespace {

/// Mean and spread of a stream of vectors, by Welford's recursion. A value far outside what came
/// before counts as the edge of it: one wild sample must not set the scale for all that follow,
/// while a real change of level widens the spread within a few dozen samples.
class RunningMoments {
 public:
  explicit RunningMoments(std::size_t n) : mean_(n, 0.0), sum_sq_(n, 0.0) {}

  void add(std::span<const double> v) {
    const double n = static_cast<double>(++count_);
    for (std::size_t k = 0; k < v.size(); ++k) {
      const double before = within(k, v[k]) - mean_[k];
      mean_[k] += before / n;
      sum_sq_[k] += before * before * (1 - 1 / n);
    }
  }

  std::uint64_t count() const { return count_; }

  /// (v − mean)/deviation, held within the reach.
  double standardised(std::size_t k, double v) const {
    return std::clamp((v - mean_[k]) / deviation(k), -reach, reach);
  }

  double mean(std::size_t k) const { return mean_[k]; }

  /// 1 until there is a spread to speak of.
  double deviation(std::size_t k) const {
    const double s = count_ < 2 ? 0 : std::sqrt(sum_sq_[k] / static_cast<double>(count_));
    return s > 1e-12 * std::abs(mean_[k]) && s > 0 ? s : 1;
  }

  void reset() {
    count_ = 0;
    std::fill(mean_.begin(), mean_.end(), 0.0);
    std::fill(sum_sq_.begin(), sum_sq_.end(), 0.0);
  }

 private:
  static constexpr double reach = 10;  // deviations

  // v, held within the reach once there are deviations.
  double within(std::size_t k, double v) const {
    if (count_ < 3 || !(sum_sq_[k] > 0)) return v;
    return std::clamp(v, mean_[k] - reach * deviation(k), mean_[k] + reach * deviation(k));
  }

  std::uint64_t count_ = 0;
  std::vector<double> mean_;
  std::vector<double> sum_sq_;
};

// Inputs: x' = (x − mean)/deviation, with x itself in the moments (it is known when d̂ is made).
// Targets, from moments before d: d' = (d − mean)/(unit·deviation), held within ±1 for a tanh
// output; 0 while fewer than two are known and there is no unit. The prediction is mapped back with
// the moments it was made with.
class Scaled final : public Learner {
 public:
  Scaled(std::unique_ptr<Learner> inner, OutputActivation activation)
      : inner_(std::move(inner)),
        bounded_(activation == OutputActivation::tanh),
        x_moments_(inner_->inputs()),
        x_moments_new_(x_moments_),
        d_moments_(inner_->outputs()),
        x_(inner_->inputs()),
        d_(inner_->outputs()),
        d_hat_(inner_->outputs()) {}

  Scaled(const Scaled& other)
      : Learner(other),
        inner_(other.inner_->clone()),
        bounded_(other.bounded_),
        x_moments_(other.x_moments_),
        x_moments_new_(other.x_moments_new_),
        d_moments_(other.d_moments_),
        x_(other.x_),
        d_(other.d_),
        d_hat_(other.d_hat_) {}

  std::size_t inputs() const override { return inner_->inputs(); }
  std::size_t outputs() const override { return inner_->outputs(); }

  std::span<const double> predict(std::span<const double> x) override {
    const auto d_hat = inner_->predict(standardise(x));
    for (std::size_t k = 0; k < d_hat_.size(); ++k) d_hat_[k] = to_target(k, d_hat[k]);
    return d_hat_;
  }

  StepReport learn(std::span<const double> x, std::span<const double> d) override {
    if (d.size() != d_.size() || !all_usable(d)) return inner_->learn({}, {});  // refused
    for (std::size_t k = 0; k < d.size(); ++k) {
      d_[k] = d_moments_.count() < 2 ? 0 : d_moments_.standardised(k, d[k]) / unit();
      if (bounded_) d_[k] = std::clamp(d_[k], -1.0, 1.0);
    }
    const StepReport report = inner_->learn(standardise(x), d_);
    if (report.status != StepStatus::rejected_input) {
      std::swap(x_moments_, x_moments_new_);
      d_moments_.add(d);
    }
    return report;
  }

  StepReport advance(std::span<const double> x) override {
    const StepReport report = inner_->advance(standardise(x));
    if (report.status != StepStatus::rejected_input) std::swap(x_moments_, x_moments_new_);
    return report;
  }

  bool forecast(std::size_t horizon, std::span<const double> future_inputs,
                std::span<double> d_hat) override {
    if (future_inputs.size() != horizon * inputs() || !all_usable(future_inputs)) return false;
    future_.resize(future_inputs.size());
    for (std::size_t n = 0; n < future_inputs.size(); ++n) {
      future_[n] = x_moments_.standardised(n % inputs(), future_inputs[n]);
    }
    if (!inner_->forecast(horizon, future_, d_hat)) return false;
    for (std::size_t n = 0; n < d_hat.size(); ++n) d_hat[n] = to_target(n % outputs(), d_hat[n]);
    return true;
  }

  std::unique_ptr<Learner> clone() const override { return std::make_unique<Scaled>(*this); }

  void reset() override {
    inner_->reset();
    x_moments_.reset();
    d_moments_.reset();
  }

 private:
  // x' with moments that include x; the moments themselves wait in x_moments_new_.
  std::span<const double> standardise(std::span<const double> x) {
    if (x.size() != x_.size() || !all_usable(x)) return x;  // the inner learner will refuse it
    x_moments_new_ = x_moments_;
    x_moments_new_.add(x);
    for (std::size_t k = 0; k < x.size(); ++k) x_[k] = x_moments_new_.standardised(k, x[k]);
    return x_;
  }

  // A tanh output works best well inside its range: three deviations reach ±0.8.
  double unit() const { return bounded_ ? 3 / 0.8 : 1; }
  double to_target(std::size_t k, double d_hat) const {
    return d_moments_.mean(k) + d_moments_.deviation(k) * unit() * d_hat;
  }

  std::unique_ptr<Learner> inner_;
  bool bounded_;
  RunningMoments x_moments_;
  RunningMoments x_moments_new_;
  RunningMoments d_moments_;
  std::vector<double> x_;
  std::vector<double> d_;
  std::vector<double> d_hat_;
  std::vector<double> future_;  // grows to the longest horizon asked for
};

}  // namespace

std::unique_ptr<Learner> make_scaled(std::unique_ptr<Learner> inner, OutputActivation activation) {
  return std::make_unique<Scaled>(std::move(inner), activation);
}

}  // namespace kalstream

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/archive.h"
#include "core/finite.h"
#include "learner/network_learner.h"
#include "learner/parts.h"
#include "update/block_kalman.h"

namespace kalstream {
namespace {

/// d̂ = m, which moves with every target: m ← m + (d − m)/t to the mean, m ← d to the last.
class Level final : public Learner {
 public:
  enum class Of { all, last };

  Level(std::size_t inputs, std::size_t outputs, Of of)
      : inputs_(inputs),
        of_(of),
        level_(outputs, 0.0),
        no_prediction_(outputs, std::numeric_limits<double>::quiet_NaN()) {}

  std::size_t inputs() const override { return inputs_; }
  std::size_t outputs() const override { return level_.size(); }
  std::uint64_t samples() const override { return samples_; }
  LearnerState state() const override { return {}; }

  std::span<const double> predict(std::span<const double> x) override {
    return usable(x) ? level_ : no_prediction_;
  }

  StepReport learn(std::span<const double> x, std::span<const double> d) override {
    if (!usable(x) || d.size() != level_.size() || !all_usable(d)) return refusal(*this);
    ++samples_;
    ++t_;
    const double step = of_ == Of::all ? 1 / static_cast<double>(t_) : 1;
    for (std::size_t k = 0; k < d.size(); ++k) level_[k] = std::lerp(level_[k], d[k], step);
    return {.status = StepStatus::applied, .applied = 1, .weights = {}};
  }

  StepReport advance(std::span<const double> x) override {
    if (!usable(x)) return refusal(*this);
    ++samples_;
    return {.status = StepStatus::missing, .weights = {}};
  }

  StepReport observe(std::span<const double> x, std::span<const double> d) override {
    return of_ == Of::last && d.size() == level_.size() && all_usable(d) ? learn(x, d) : advance(x);
  }

  void start_forecast() override {}
  std::span<const double> forecast_next(std::span<const double> x) override { return predict(x); }

  std::unique_ptr<Learner> clone() const override { return std::make_unique<Level>(*this); }

  void reset() override {
    samples_ = t_ = 0;
    std::fill(level_.begin(), level_.end(), 0.0);
  }

  void exchange(Archive& archive) override {
    archive.count(samples_);
    archive.count(t_, samples_);
    archive.numbers(level_, Archive::usable);
  }

 private:
  bool usable(std::span<const double> x) const { return x.size() == inputs_ && all_usable(x); }

  std::size_t inputs_;
  Of of_;
  std::uint64_t samples_ = 0;
  std::uint64_t t_ = 0;  // of them, with a target
  std::vector<double> level_;
  std::vector<double> no_prediction_;
};

// Least squares on `shown` inputs and the lags.
std::unique_ptr<Learner> make_linear(const NetworkOptions& sizes, std::size_t shown,
                                     std::size_t lags, const Iekf& rule) {
  const auto network = linear_network(shown + lags * sizes.outputs, sizes.outputs);
  auto linear =
      std::make_unique<NetworkLearner>(network, make_rule(rule, ParameterLayout(network)));
  return make_lagged(make_scaled(std::move(linear), network.output_activation, lags), sizes.inputs,
                     lags);
}

}  // namespace

NetworkOptions linear_network(std::size_t inputs, std::size_t outputs) {
  return {.inputs = inputs,
          .cell = Cell::feedforward,
          .hidden = 0,
          .outputs = outputs,
          .direct = true,
          .output_activation = OutputActivation::identity,
          .weight_deviation = 0};
}

Iekf least_squares(double initial_covariance, const Schedule& process_noise) {
  return {.initial_covariance = initial_covariance,
          .measurement_noise = 1,
          .process_noise = process_noise,
          .partition = Partition::node};
}

std::unique_ptr<Learner> make_baseline(const LearnerOptions& options, const Rls& rule) {
  return make_linear(options.network, options.network.inputs, options.lags,
                     least_squares(rule.initial_covariance, rule.process_noise));
}

std::unique_ptr<Learner> make_baseline(const LearnerOptions& options, const Ar& rule) {
  return make_linear(options.network, 0, rule.lags,
                     least_squares(rule.initial_covariance, rule.process_noise));
}

std::unique_ptr<Learner> make_baseline(const LearnerOptions& options, const Naive& /*rule*/) {
  return std::make_unique<Level>(options.network.inputs, options.network.outputs, Level::Of::last);
}

std::unique_ptr<Learner> make_baseline(const LearnerOptions& options, const Mean& /*rule*/) {
  return std::make_unique<Level>(options.network.inputs, options.network.outputs, Level::Of::all);
}

}  // namespace kalstream

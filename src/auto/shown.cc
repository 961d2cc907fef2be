#include "auto/shown.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/finite.h"
#include "learner/refusal.h"

namespace kalstream {
namespace {

class Shown final : public Learner {
 public:
  explicit Shown(std::size_t outputs)
      : d_hat_(outputs), no_prediction_(outputs, std::numeric_limits<double>::quiet_NaN()) {}

  std::size_t inputs() const override { return d_hat_.size(); }
  std::size_t outputs() const override { return d_hat_.size(); }
  std::uint64_t samples() const override { return 0; }
  LearnerState state() const override { return {.networks = 0, .weights = {}}; }

  std::span<const double> predict(std::span<const double> x) override {
    if (!is_usable(x)) return no_prediction_;
    std::copy(x.begin(), x.end(), d_hat_.begin());
    return d_hat_;
  }

  StepReport learn(std::span<const double> x, std::span<const double> d) override {
    return is_usable(x) && is_usable(d) ? done(StepStatus::gated) : refusal(*this);
  }
  StepReport advance(std::span<const double> x) override {
    return is_usable(x) ? done(StepStatus::missing) : refusal(*this);
  }

  void start_forecast() override {}
  std::span<const double> forecast_next(std::span<const double> x) override { return predict(x); }

  std::unique_ptr<Learner> clone() const override { return std::make_unique<Shown>(*this); }
  void reset() override {}
  void exchange(Archive& /*archive*/) override {}

 private:
  // Of any size: the last value may be a guess, and so a little beyond the largest target.
  bool is_usable(std::span<const double> v) const {
    return v.size() == d_hat_.size() && all_finite(v);
  }
  static StepReport done(StepStatus status) {
    return {.status = status, .experts = 0, .weights = {}};
  }

  std::vector<double> d_hat_;
  std::vector<double> no_prediction_;
};

}  // namespace

std::unique_ptr<Learner> make_shown(std::size_t outputs) {
  return std::make_unique<Shown>(outputs);
}

}  // namespace kalstream

#include "learner/lagged.h"

#include <algorithm>
#include <vector>

#include "core/finite.h"
#include "learner/history.h"
#include "learner/refusal.h"

namespace kalstream {
namespace {

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

  Lagged(const Lagged& other)
      : Learner(other),
        inner_(other.inner_->clone()),
        inputs_(other.inputs_),
        shown_(other.shown_),
        history_(other.history_),
        ahead_(other.ahead_),
        x_(other.x_),
        guess_(other.guess_) {}

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

  std::unique_ptr<Learner> inner_;
  std::size_t inputs_;
  std::size_t shown_;  // of the inputs: all or none
  TargetHistory history_;
  TargetHistory ahead_;  // during a forecast
  std::vector<double> x_;
  std::vector<double> guess_;
};

}  // namespace

std::unique_ptr<Learner> make_lagged(std::unique_ptr<Learner> inner, std::size_t inputs,
                                     std::size_t lags) {
  if (lags == 0) return inner;
  return std::make_unique<Lagged>(std::move(inner), inputs, lags);
}

}  // namespace kalstream

#include "auto/auto_learner.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "auto/constants.h"
#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "learner/parts.h"

namespace kalstream {

AutoLearner::AutoLearner(const Auto& options, const NetworkOptions& network)
    : options_(options),
      network_(network),
      ensemble_(std::make_unique<Ensemble>(options, network)),
      no_prediction_(network.outputs, std::numeric_limits<double>::quiet_NaN()) {}

std::span<const double> AutoLearner::predict(std::span<const double> x) {
  const FlushDenormals guard;
  if (!can_use(x)) return no_prediction_;
  const std::span<const double> d_hat = ensemble_->predict(x);
  if (!before_) return d_hat;
  const std::span<const double> d_hat_before = before_->predict(x);
  return before_is_better() ? d_hat_before : d_hat;
}

std::span<const double> AutoLearner::spread() {
  const FlushDenormals guard;
  return better().spread();
}

std::span<const double> AutoLearner::forecast_next(std::span<const double> x) {
  const FlushDenormals guard;
  return can_use(x) ? better().forecast_next(x) : no_prediction_;
}

StepReport AutoLearner::learn(std::span<const double> x, std::span<const double> d) {
  const FlushDenormals guard;
  if (!can_use(x) || d.size() != outputs() || !all_usable(d)) return refusal(*this);
  const Distance distance = ensemble_->distance(x, d);
  const bool believed = belief_.believes(distance);
  if (distance.is_far() && !before_) begin_contest();
  const bool said_by_before = before_is_better();
  StepReport of_before;
  if (before_) of_before = learn_before(x, d);
  if (believed && distance.is_wild()) ensemble_->begin_anew();
  StepReport report = believed ? ensemble_->learn(x, d) : ensemble_->doubt(x, d, distance);
  if (said_by_before) report = of_before;
  if (before_) look_at_contest();
  if (said_by_before || before_) {  // what was reported may be another's, or gone
    const LearnerState now = state();
    report.covariance_trace = now.covariance_trace;
    report.weights = now.weights;
  }
  return report;
}

// Where there is no memory for two, there is one.
void AutoLearner::begin_contest() {
  contest_ = {.longest = std::max(constants::longest_contest, ensemble_->samples())};
  try {
    before_ = ensemble_->clone();
  } catch (const std::bad_alloc&) {
  }
}

// Errors are compared in deviations of the targets from before.
StepReport AutoLearner::learn_before(std::span<const double> x, std::span<const double> d) {
  const double error = before_->error(ensemble_->predict(x), d);
  const double error_before = before_->error(before_->predict(x), d);
  const Distance distance = before_->distance(x, d);
  contest_.lately.track(error, error_before, constants::present_pace);
  ++contest_.length;
  contest_.calm_length = distance.is_far() ? 0 : contest_.calm_length + 1;
  if (contest_.calm_length > 0)
    contest_.calm.track(error, error_before, 1 / static_cast<double>(contest_.calm_length));
  // Fewer, between wild ones, are not believed either.
  if (contest_.calm_length >= constants::few_samples) return before_->learn(x, d);
  StepReport report = before_->observe(x, {});
  report.status = StepStatus::gated;
  return report;
}

bool AutoLearner::before_is_better() const { return before_ && contest_.lately.favour_before(); }

void AutoLearner::look_at_contest() {
  const bool is_calm = contest_.calm_length >= constants::enough_samples;
  if (!is_calm && contest_.length < contest_.longest) return;
  if ((is_calm ? contest_.calm : contest_.lately).favour_before()) ensemble_.swap(before_);
  before_.reset();
  belief_.reset();
}

StepReport AutoLearner::observe(std::span<const double> x, std::span<const double> d) {
  const FlushDenormals guard;
  if (!can_use(x)) return refusal(*this);
  if (d.size() != outputs() || !all_usable(d)) d = {};
  const StepReport report = ensemble_->observe(x, d);
  if (!before_) return report;
  const StepReport of_before = before_->observe(x, d);
  return before_is_better() ? of_before : report;
}

void AutoLearner::expect_periods(std::span<const double> samples) {
  ensemble_->expect_periods(samples);
  if (before_) before_->expect_periods(samples);
}

void AutoLearner::reset() {
  ensemble_->reset();
  before_.reset();
  belief_.reset();
}

void AutoLearner::exchange(Archive& archive) {
  ensemble_->exchange(archive);
  belief_.exchange(archive, samples());
  bool in_doubt = is_in_doubt();
  archive.flag(in_doubt);
  if (!in_doubt) return before_.reset();
  if (archive.reading()) before_ = std::make_unique<Ensemble>(options_, network_);
  before_->exchange(archive);
  for (Errors* e : {&contest_.lately, &contest_.calm})
    for (double* v : {&e->of_all, &e->of_before}) archive.number(*v, Archive::not_negative);
  archive.count(contest_.length, samples());
  archive.count(contest_.longest);
  archive.count(contest_.calm_length, contest_.length);
}

}  // namespace kalstream

#include "kalstream/calibrated.h"

#include <algorithm>
#include <utility>

#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {

CalibratedLearner::CalibratedLearner(std::unique_ptr<Learner> learner,
                                     const CalibrationOptions& calibration)
    : learner_(std::move(learner)), calibration_(calibration) {
  start_intervals();
  start_surprise();
  start_forecaster();
}

CalibratedLearner::CalibratedLearner(const CalibratedLearner& other)
    : learner_(other.learner_->clone()),
      calibration_(other.calibration_),
      intervals_(other.intervals_),
      inner_(other.inner_),
      surprise_(other.surprise_),
      forecaster_(other.forecaster_),
      own_(other.own_) {}

void CalibratedLearner::start_intervals() {
  intervals_.clear();
  inner_.clear();
  if (!(calibration_.coverage > 0)) return;
  intervals_.assign(2, Intervals(learner_->outputs(), calibration_.coverage));
  for (const double coverage : calibration_.inner)
    inner_.insert(inner_.end(), 2, Intervals(learner_->outputs(), coverage));
}

void CalibratedLearner::start_surprise() {
  surprise_.clear();
  if (calibration_.surprise) surprise_.assign(2, Surprise(learner_->outputs()));
}

void CalibratedLearner::start_forecaster() {
  forecaster_.reset();
  if (calibration_.horizon > 0)
    forecaster_.emplace(*learner_, calibration_.horizon, calibration_.coverage, calibration_.inner);
}

void CalibratedLearner::predict(std::span<const double> x, Prediction& to) {
  const auto d_hat = learner_->predict(x);
  to.d_hat.assign(d_hat.begin(), d_hat.end());
  to.across = false;
  const bool needs_spread = !intervals_.empty() || !surprise_.empty();
  judge(needs_spread ? learner_->spread() : std::span<const double>{}, to);
}

void CalibratedLearner::predict_across(std::span<const double> x, Prediction& to) {
  const auto d_hat = learner_->forecast_next(x);
  to.d_hat.assign(d_hat.begin(), d_hat.end());
  to.across = true;
  judge({}, to);
}

void CalibratedLearner::judge(std::span<const double> spread, Prediction& to) {
  const std::size_t which = to.across ? 1 : 0;
  to.bounds.clear();
  to.inner.clear();
  to.expected.clear();
  if (!surprise_.empty()) {
    const auto expected = surprise_[which].expect(to.d_hat, spread);
    to.expected.assign(expected.begin(), expected.end());
  }
  if (!intervals_.empty()) {
    const auto bounds = intervals_[which].around(to.d_hat, spread);
    to.bounds.assign(bounds.begin(), bounds.end());
  }
  const std::size_t outputs = to.d_hat.size();
  for (std::size_t i = which; i < inner_.size(); i += 2) {
    const auto bounds = inner_[i].around(to.d_hat, spread);
    to.inner.insert(to.inner.end(), bounds.begin(), bounds.end());
  }
  // Each learns by itself, and they might cross: wider ones contain the others.
  for (std::size_t i = 0; i < to.inner.size(); ++i) {
    const bool is_widest = i + outputs >= to.inner.size();
    (is_widest ? to.bounds[i % outputs] : to.inner[i + outputs]).contain(to.inner[i]);
  }
}

std::span<const double> CalibratedLearner::surprise_of(const Prediction& said,
                                                       std::span<const double> d) {
  if (surprise_.empty() || said.expected.empty()) return {};
  return surprise_[said.across ? 1 : 0].of(said.expected, d);
}

StepReport CalibratedLearner::learn(std::span<const double> x, std::span<const double> d,
                                    const Prediction& said) {
  return taught(learner_->learn(x, d), d, said);
}

StepReport CalibratedLearner::observe(std::span<const double> x, std::span<const double> d,
                                      const Prediction& said) {
  return taught(learner_->observe(x, d), d, said);
}

StepReport CalibratedLearner::learn(std::span<const double> x, std::span<const double> d) {
  if (needs_prediction(x, d)) predict(x, own_);
  return learn(x, d, own_);
}

StepReport CalibratedLearner::observe(std::span<const double> x, std::span<const double> d) {
  if (needs_prediction(x, d)) predict(x, own_);
  return observe(x, d, own_);
}

StepReport CalibratedLearner::advance(std::span<const double> x) {
  const StepReport report = learner_->advance(x);
  if (forecaster_ && report.status != StepStatus::rejected_input) forecaster_->learn(*learner_, {});
  return report;
}

bool CalibratedLearner::needs_prediction(std::span<const double> x,
                                         std::span<const double> d) const {
  return (!intervals_.empty() || !surprise_.empty()) && learner_->can_use(x) && all_finite(d);
}

StepReport CalibratedLearner::taught(StepReport report, std::span<const double> d,
                                     const Prediction& said) {
  if (report.status == StepStatus::rejected_input) return report;
  const std::size_t which = said.across ? 1 : 0;
  if (!intervals_.empty() && !said.bounds.empty()) intervals_[which].learn(said.bounds, d);
  for (std::size_t i = 0; which + 2 * i < inner_.size() && !said.inner.empty(); ++i)
    inner_[which + 2 * i].learn(std::span(said.inner).subspan(i * d.size(), d.size()), d);
  if (!surprise_.empty() && !said.expected.empty()) surprise_[which].learn(said.expected, d);
  if (forecaster_) forecaster_->learn(*learner_, d);
  return report;
}

std::size_t CalibratedLearner::forecast(std::span<const double> inputs, std::size_t passed) {
  return forecaster_ ? forecaster_->forecast(*learner_, inputs, passed) : 0;
}

void CalibratedLearner::recalibrate(const CalibrationOptions& calibration) {
  const CalibrationOptions before = std::exchange(calibration_, calibration);
  const bool other_coverage =
      before.coverage != calibration.coverage || before.inner != calibration.inner;
  if (other_coverage) start_intervals();
  if (before.surprise != calibration.surprise) start_surprise();
  if (other_coverage || before.horizon != calibration.horizon) start_forecaster();
}

void CalibratedLearner::widen(std::size_t outputs) {
  learner_ = widened(*learner_, outputs);
  start_intervals();
  start_surprise();
  start_forecaster();
}

void CalibratedLearner::reset() {
  learner_->reset();
  for (Intervals& i : intervals_) i.reset();
  for (Intervals& i : inner_) i.reset();
  for (Surprise& s : surprise_) s.reset();
  if (forecaster_) forecaster_->reset();
}

void CalibratedLearner::exchange(Archive& archive) {
  for (Surprise& s : surprise_) s.exchange(archive);
  for (Intervals& i : intervals_) i.exchange(archive);
  for (Intervals& i : inner_) i.exchange(archive);
  if (forecaster_) forecaster_->exchange(archive);
}

}  // namespace kalstream

#include "engine/model.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kalstream {

StreamModel::StreamModel(const ModelOptions& options)
    : options_(options), scores_(1), known_(options.known_ahead), announced_(options.known_ahead) {}

StreamModel::StreamModel(CalibratedLearner learner, const ModelOptions& options)
    : StreamModel(options) {
  begin(std::move(learner));
}

void StreamModel::begin(CalibratedLearner made) {
  calibrated_.emplace(std::move(made));
  calibrated_->recalibrate(calibration());
  target_known_ = learner().samples() > 0;
  scores_ = of_classes() ? Scores::of_classes() : Scores(learner().outputs());
  last_x_.assign(learner().inputs(), std::numeric_limits<double>::quiet_NaN());
  forecast_.resize(options_.horizon * learner().outputs());
  start_alarms();
  if (options_.periods) tell_periods(*options_.periods);
}

bool StreamModel::of_classes() const {
  const Recipe* recipe = learner().recipe();
  return recipe != nullptr && recipe->options.loss.kind == Loss::Kind::cross_entropy &&
         learner().outputs() > 1;
}

// The probabilities of classes say it all: they have no bounds, and no forecasts.
CalibrationOptions StreamModel::calibration() const {
  if (of_classes()) return {};
  return {.coverage = options_.coverage,
          .inner = options_.inner,
          .surprise = options_.surprise,
          .horizon = options_.horizon};
}

bool StreamModel::complete(std::span<double> x) {
  if (x.size() == last_x_.size())  // or a checkpoint is forged, and the learner will refuse it
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (!std::isnan(x[k])) last_x_[k] = x[k];
      if (options_.holds_missing) x[k] = last_x_[k];
    }
  return !options_.holds_missing ||
         std::none_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
}

bool StreamModel::can_complete(std::span<const double> x) const {
  for (std::size_t k = 0; k < x.size() && k < last_x_.size() && options_.holds_missing; ++k)
    if (std::isnan(x[k]) && std::isnan(last_x_[k])) return false;
  return true;
}

// Of the last sample, or from before where they were missing; 0 before there is one.
std::vector<double> StreamModel::last_inputs() const {
  std::vector<double> last = last_x_;
  for (double& v : last)
    if (std::isnan(v)) v = 0;
  return last;
}

Answer StreamModel::take(const Sample& sample, StreamListener& listener) {
  learn(listener);
  if (sample.kind == Sample::Kind::label) return take_label(sample);

  const std::size_t known = classes_.size();
  const bool has_target = !sample.d.empty();
  const bool may_come = !has_target && !sample.id.empty() && options_.max_delay > 0;
  const bool across = !pending_.empty();
  const bool waits = across || may_come;
  Waiting& taken = waits ? arriving_ : now_;
  if (across)
    predict_across(sample.x, taken.said);
  else
    calibrated_->predict(sample.x, taken.said);
  read_target(sample, taken.d);
  ++samples_;
  announced_.forget_until(static_cast<std::int64_t>(samples_));
  taken.number = samples_ - passed_;
  taken.x = sample.x;
  if (waits) {
    answered_ = taken.said;
    if (across) ++ahead_;  // the forecast went on to it
    pending_.push_back(taken);
    pending_.back().id = may_come ? sample.id : "";
    pending_.back().said.d_hat.resize(learner().outputs(), 0.0);
    if (may_come) wait_for(sample.id, samples_);
  }
  owed_ = true;
  const CalibratedLearner::Prediction& said = waits ? answered_ : now_.said;
  Answer answer{.status = has_target ? Answer::Status::learnt : Answer::Status::predicted,
                .sample = samples_ - passed_,
                .of_classes = of_classes(),
                .classes = std::span(classes_).first(known),
                .prediction = said.d_hat,
                .interval = said.bounds,
                .inner = said.inner};
  judge(taken, answer);
  look_for_alarm(sample, taken, answer);
  if (options_.horizon == 0) return answer;
  learn(listener);
  forecast(last_inputs());
  answer.forecast = forecast_;
  answer.forecast_interval = forecast_interval_;
  answer.forecast_inner = forecast_inner_;
  return answer;
}

// Of sample x, which comes after those that wait: a forecast across them.
void StreamModel::predict_across(std::span<const double> x, CalibratedLearner::Prediction& to) {
  if (ahead_ == 0) calibrated_->learner().start_forecast();
  for (; ahead_ < pending_.size(); ++ahead_)
    calibrated_->learner().forecast_next(pending_[ahead_].x);
  calibrated_->predict_across(x, to);
}

// How strange its target is, by all that had been learnt when it came.
void StreamModel::judge(const Waiting& sample, Answer& answer) {
  if (sample.d.empty()) return;
  if (of_classes()) {
    if (!options_.surprise) return;
    const double p = scores_.classes()->probability(sample.said.d_hat, class_in(sample.d));
    class_surprise_ = -std::log(p);
    answer.surprise = {&class_surprise_, 1};
    answer.anomaly = p <= options_.alarm_rate;
    return;
  }
  answer.surprise = calibrated_->surprise_of(sample.said, sample.d);
  answer.anomaly =
      !answer.surprise.empty() && Surprise::is_anomaly(answer.surprise, options_.alarm_rate);
}

// ---- Alarms.

void StreamModel::start_alarms() {
  alarms_.reset();
  if (options_.alarms.any() && !of_classes()) alarms_.emplace(options_.alarms, learner().outputs());
}

// In the order in which targets come. A sample that waits for its target is not missing it.
void StreamModel::look_for_alarm(const Sample& from, const Waiting& sample, Answer& answer) {
  if (!alarms_) return;
  const AlarmTime at{sample.number, from.time, from.time_is_text};
  const AlarmNews* news = nullptr;
  if (!sample.d.empty()) {
    news = alarms_->take(at, sample.said.d_hat, answer.surprise, sample.d);
    answer.strangeness = alarms_->strangeness();
  } else if (from.id.empty()) {
    news = alarms_->take_missing();
  }
  if (news != nullptr) answer.alarm = *news;
}

bool StreamModel::judge_alarm(bool real) {
  if (alarms_) alarms_->judge(real);
  return alarms_.has_value();
}

// Of the samples after the last one. Inputs are those known ahead, or stay what they are.
void StreamModel::forecast(std::span<const double> x) {
  future_.clear();
  for (const Waiting& w : pending_) future_.insert(future_.end(), w.x.begin(), w.x.end());
  held_known_ = false;
  for (std::size_t lead = 1; lead <= options_.horizon && !x.empty(); ++lead) add_future(x, lead);
  const std::size_t leads = calibrated_->forecast(future_, pending_.size());
  ahead_ = 0;
  const Forecaster& forecaster = *calibrated_->forecaster();
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  std::ranges::fill(forecast_, none);
  std::ranges::copy(forecaster.values().first(leads * learner().outputs()), forecast_.begin());
  const auto bounds = forecaster.bounds();
  forecast_interval_.assign(bounds.begin(), bounds.end());
  if (options_.coverage > 0) forecast_interval_.resize(forecast_.size(), {none, none});
  const auto inner = forecaster.inner_bounds();
  forecast_inner_.assign(inner.begin(), inner.end());
  forecast_inner_.resize(forecast_.size() * options_.inner.size(), {none, none});
}

// The inputs of that lead, as far as they are not those of x.
void StreamModel::add_future(std::span<const double> x, std::size_t lead) {
  future_.insert(future_.end(), x.begin(), x.end());
  const auto row = std::span(future_).last(x.size());
  if (options_.elapsed) row.back() = clock_.elapsed();
  if (!known_.any()) return;
  const auto moment = clock_.after(lead);
  const bool known =
      moment ? known_.fill(*moment, clock_, row)
             : announced_.any() &&
                   announced_.fill(static_cast<std::int64_t>(samples_ + lead), clock_, row);
  if (!known) held_known_ = true;
}

Foresight StreamModel::foresee(std::size_t horizon, std::span<const double> inputs) {
  const std::size_t n_in = last_x_.size();
  const std::size_t n_d = learner().outputs();
  const bool held = held_known_;
  // Of the last sample, or 0 before there is one.
  const std::vector<double> last = last_inputs();
  future_.clear();
  for (const Waiting& w : pending_) future_.insert(future_.end(), w.x.begin(), w.x.end());
  for (std::size_t lead = 1; lead <= horizon && n_in > 0; ++lead) {
    add_future(last, lead);
    const auto row = std::span(future_).last(n_in);
    for (std::size_t k = 0; k < n_in && (lead - 1) * n_in < inputs.size(); ++k)
      if (const double v = inputs[(lead - 1) * n_in + k]; !std::isnan(v)) row[k] = v;
  }
  held_known_ = held;
  ahead_ = 0;  // what the learner was asked before is to be asked again
  Foresight said;
  said.value.assign(horizon * n_d, std::numeric_limits<double>::quiet_NaN());
  if (calibrated_->forecaster() != nullptr && horizon <= options_.horizon) {
    Forecaster copy = *calibrated_->forecaster();
    const std::size_t leads = copy.forecast(calibrated_->learner(), future_, pending_.size());
    const std::size_t told = std::min(leads, horizon) * n_d;
    std::ranges::copy(copy.values().first(told), said.value.begin());
    if (options_.coverage > 0) {
      constexpr double none = std::numeric_limits<double>::quiet_NaN();
      said.interval.assign(copy.bounds().begin(), copy.bounds().begin() + told);
      said.interval.resize(said.value.size(), {none, none});
      const std::size_t levels = options_.inner.size();
      said.inner.assign(copy.inner_bounds().begin(), copy.inner_bounds().begin() + told * levels);
      said.inner.resize(said.value.size() * levels, {none, none});
    }
    return said;
  }
  calibrated_->learner().start_forecast();
  const std::size_t rows = pending_.size() + horizon;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto d_hat = calibrated_->learner().forecast_next(
        std::span<const double>(future_).subspan(row * n_in, n_in));
    if (row >= pending_.size())
      std::ranges::copy(d_hat, said.value.begin() + (row - pending_.size()) * n_d);
  }
  return said;
}

// ---- Classes.

bool StreamModel::has_room_for(const std::string& label) const {
  return label.empty() || classes_.size() < options_.max_classes ||
         std::ranges::find(classes_, label) != classes_.end();
}

// What the learner is told: the target as it is, or which class it is. One that is new widens the
// learner: after the prediction, which could not know of it.
void StreamModel::read_target(const Sample& sample, std::vector<double>& to) {
  to.assign(sample.d.begin(), sample.d.end());
  if (sample.d.empty() || sample.label.empty()) return;
  const auto found = std::ranges::find(classes_, sample.label);
  const auto k = static_cast<std::size_t>(found - classes_.begin());
  if (found == classes_.end()) {
    classes_.reserve(std::max(options_.max_classes, classes_.size() + 1));  // answers look at them
    classes_.push_back(sample.label);
    if (options_.learns) widen();
  }
  to.assign(std::max(learner().outputs(), k + 1), 0.0);
  to[k] = 1;
}

void StreamModel::widen() {
  const std::size_t outputs = classes_.size();
  if (outputs <= learner().outputs()) return;
  calibrated_->widen(outputs);
  ahead_ = 0;
  for (Waiting& w : pending_) {
    w.said.d_hat.resize(outputs, 0.0);
    if (!w.d.empty()) w.d.resize(outputs, 0.0);
  }
}

// ---- Targets that come later.

// The first sample of the id that waits for its target; 0 if there is none.
std::uint64_t StreamModel::waiting_for(const std::string& id) const {
  const auto found = waits_.find(id);
  return found == waits_.end() ? 0 : found->second.front();
}

void StreamModel::wait_for(const std::string& id, std::uint64_t sample) {
  waits_[id].push_back(sample);
  id_bytes_ += id.size();
}

void StreamModel::wait_no_more(const std::string& id) {
  const auto found = waits_.find(id);
  id_bytes_ -= id.size();
  found->second.pop_front();
  if (found->second.empty()) waits_.erase(found);
}

std::uint64_t StreamModel::waiting_bytes() const {
  constexpr std::size_t heap = 16;         // what it needs for an allocation itself
  constexpr std::size_t by_id = 120 + 48;  // in waits_: a node, and one of its list
  if (pending_.empty()) return 0;
  const std::size_t n_d = learner().outputs();
  const std::size_t bounds =
      options_.coverage > 0 ? (1 + options_.inner.size()) * (n_d * sizeof(Interval) + heap) : 0;
  const std::size_t numbers = (last_x_.size() + 2 * n_d) * sizeof(double) + 3 * heap;
  return pending_.size() * (sizeof(Waiting) + numbers + bounds) + waits_.size() * by_id +
         2 * id_bytes_;
}

Answer StreamModel::take_label(const Sample& sample) {
  const std::uint64_t number = waiting_for(sample.id);
  if (number == 0) return {.status = Answer::Status::late};
  wait_no_more(sample.id);
  const std::size_t known = classes_.size();
  Waiting& w = pending_[static_cast<std::size_t>(number - settled_ - 1)];
  read_target(sample, w.d);
  answered_ = w.said;
  owed_ = true;
  Answer answer{.status = Answer::Status::labelled,
                .sample = w.number,
                .of_classes = of_classes(),
                .classes = std::span(classes_).first(known),
                .prediction = answered_.d_hat,
                .interval = answered_.bounds,
                .inner = answered_.inner};
  judge(w, answer);
  look_for_alarm(sample, w, answer);
  return answer;
}

// All samples that need not wait any more.
void StreamModel::learn(StreamListener& listener) {
  if (!owed_) return;
  owed_ = false;
  if (pending_.empty()) return step(now_, listener);
  while (!pending_.empty()) {
    const Waiting& first = pending_.front();
    const bool has_target = !first.d.empty();
    if (!has_target && !first.id.empty() && pending_.size() <= options_.max_delay) return;
    if (!has_target && !first.id.empty()) wait_no_more(first.id);
    step(first, listener);
    pending_.pop_front();
  }
}

void StreamModel::step(const Waiting& sample, StreamListener& listener) {
  ahead_ = 0;
  ++settled_;
  const bool counts = settled_ > options_.warm_up;
  StepReport report;
  if (sample.d.empty() || sample.d.size() > learner().outputs() || !counts)
    report = calibrated_->advance(sample.x);
  else
    report = options_.learns ? calibrated_->learn(sample.x, sample.d, sample.said)
                             : calibrated_->observe(sample.x, sample.d, sample.said);
  if (!sample.d.empty()) {
    if (target_known_ && counts) {
      scores_.add(sample.said.d_hat, sample.said.bounds, sample.d);
      listener.scored(sample.number, sample.said.d_hat, sample.said.bounds, sample.d);
    }
    target_known_ = true;
  }
  if (sample.number > 0) listener.stepped(sample.number, report);
}

std::vector<double> StreamModel::expert_weights() const {
  const auto weights = learner().state().weights;
  return {weights.begin(), weights.end()};
}

}  // namespace kalstream

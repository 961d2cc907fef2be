#include "engine/turn.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/finite.h"
#include "schema/timestamp.h"
#include "schema/value.h"

namespace kalstream {
namespace {

// What was read from a store may be anything.
bool is_for(const StreamModel& model, const SampleReader& reader) {
  const Learner& learner = model.learner();
  const bool same_targets =
      reader.has_classes() ? model.of_classes() : learner.outputs() == reader.outputs();
  return same_targets && learner.inputs() == reader.inputs();
}

template <class T>
void own(std::span<const T>& view, std::vector<T>& copy) {
  copy.assign(view.begin(), view.end());
  view = copy;
}

}  // namespace

bool is_usable(const Sample& sample) {
  const auto fits = [](double v) { return std::isnan(v) || std::abs(v) <= largest_magnitude; };
  return std::ranges::all_of(sample.x, fits) && std::ranges::all_of(sample.d, fits);
}

void Turn::clear(std::uint64_t line) {
  sample.key.clear();
  expected = {};
  model = nullptr;
  is_read = is_silent = false;
  passed = held = 0;
  remarks.clear();
  events.clear();
  events_later.clear();
  failure = nullptr;
  line_ = line;
  answer_ = {};
}

void Turn::refuse(std::string reason) {
  reason_ = std::move(reason);
  answer_ = {.status = Answer::Status::refused,
             .reason = reason_,
             .line = line_,
             .has_model = model != nullptr,
             .key = sample.key};
}

void Turn::be_late() { say({.status = Answer::Status::late}); }

void Turn::refuse_incomplete(const TurnRules& rules) {
  refuse("without a number: " + rules.reader.missing_inputs(sample) +
         "; every line needs all inputs (or an id and the target of an earlier one); with "
         "--missing hold they keep their last values, and auto learns without them");
}

bool Turn::may_be_ahead(const TurnRules& rules) const {
  return !rules.options.future.empty() && sample.d.empty() && sample.tick;
}

bool Turn::require_usable(const TurnRules& rules) {
  const bool label = sample.kind != Sample::Kind::inputs;
  if (!label && sample.missing > 0 && rules.options.missing == MissingInputs::refuse &&
      !may_be_ahead(rules)) {
    refuse_incomplete(rules);
    return false;
  }
  if (is_usable(sample)) return true;
  refuse("a number is beyond ±1e100; rescale the data, or leave it away if it is missing");
  return false;
}

// The form of a record tells that it is a label where there are inputs and none has come
// (SampleReader). Otherwise it is one if the model waits for a target of this id and the record
// cannot be the next sample.
bool Turn::is_label() const {
  if (sample.kind == Sample::Kind::label) return true;
  if (sample.d.empty() || !model->waits_for(sample.id)) return false;
  const StreamClock& clock = model->clock();
  return sample.x.empty() ||
         (sample.tick && clock.has_started() && !clock.is_off() && *sample.tick <= clock.last());
}

void Turn::take(const TurnRules& rules, StreamListener& listener) {
  const EngineOptions& options = rules.options;
  const bool label = sample.kind == Sample::Kind::label;
  if (!model->has_begun()) model->begin(rules.make());
  if (!is_for(*model, rules.reader))
    return refuse("the model has other inputs or targets than the stream");
  if (sample.kind == Sample::Kind::verdict) return judge();
  if (!label && !options.future.empty()) {
    model->fill_known(sample);
    if (!require_usable(rules)) return;
  }
  if (!sample.d.empty() && !model->has_room_for(sample.label))
    return refuse("the class " + shown(sample.label, '\'') + " is one more than the " +
                  std::to_string(options.model.max_classes) +
                  " that there may be; --classes allows more");
  if (may_be_ahead(rules) && model->is_ahead(sample)) return say(model->keep_ahead(sample));
  if (!label && sample.missing > 0 && options.missing == MissingInputs::refuse)
    return refuse_incomplete(rules);
  if (is_label()) {
    sample.kind = Sample::Kind::label;
  } else {
    if (rules.reader.has_time() && !arrive(rules, listener)) return;
    if (!model->complete(sample.x))
      return refuse("no number has come yet for " + rules.reader.missing_inputs(sample) +
                    ", so there is none to hold; lines are refused until one has");
    listener.took(sample.x);
  }
  held = sample.missing;
  say(model->take(sample, listener));
  if (!answer_.forecast.empty()) write_forecast_times(rules);
  if (model->held_known())
    remarks.emplace_back(
        "inputs known ahead are not known for all of the horizon: there they are held at their "
        "last values");
}

void Turn::judge() {
  if (!model->judge_alarm(sample.is_real_alarm))
    return refuse("a class has no alarms that could be judged");
  say({.status = Answer::Status::judged});
}

// False, and answered, for a sample that comes too late, or a second time: it is not learnt.
bool Turn::arrive(const TurnRules& rules, StreamListener& listener) {
  const StreamClock& clock = model->clock();
  if (rules.options.model.elapsed) sample.x.back() = clock.elapsed(sample.tick);
  if (!model->can_complete(sample.x)) return true;
  const StreamClock::Verdict verdict = model->arrive(sample, listener);
  if (const std::string text = model->clock().take_remark(); !text.empty())
    remarks.push_back((sample.key.empty() ? "" : sample.key + ": ") + text);
  if (verdict.kind == StreamClock::Kind::late) {
    reason_ = "its time is before that of the last sample";
    say({.status = Answer::Status::late, .reason = reason_});
    return false;
  }
  if (verdict.kind == StreamClock::Kind::repeated) {
    reason_ = "there was a sample of this time";
    say({.status = Answer::Status::repeated, .reason = reason_});
    return false;
  }
  passed = verdict.missing;
  return true;
}

void Turn::write_forecast_times(const TurnRules& rules) {
  if (!sample.tick || !model->clock().step()) return;
  const TimeText text(sample.time, *sample.tick, rules.reader.schema().time_form);
  forecast_times_.clear();
  for (std::size_t lead = 1; lead <= rules.options.model.horizon; ++lead)
    forecast_times_.push_back(text.write(*model->clock().after(lead)));
  answer_.forecast_time = forecast_times_;
}

void Turn::say(Answer answer) {
  answer.has_model = model != nullptr;
  answer.id = sample.id;
  answer.id_is_text = sample.id_is_text;
  answer.key = sample.key;
  answer.time = sample.time;
  answer.time_is_text = sample.time_is_text;
  answer.held = sample.missing;
  answer.target = sample.d;
  answer.label = sample.label;
  answer_ = answer;
}

void Turn::keep() {
  own(answer_.prediction, prediction_);
  own(answer_.interval, interval_);
  own(answer_.inner, inner_);
  own(answer_.surprise, surprise_);
  own(answer_.strangeness, strangeness_);
  own(answer_.forecast, forecast_);
  own(answer_.forecast_interval, forecast_interval_);
  own(answer_.forecast_inner, forecast_inner_);
}

void EventBuffer::clear() {
  events_.clear();
  numbers_.clear();
  bounds_.clear();
}

void EventBuffer::took(std::span<const double> x) {
  events_.push_back({.kind = Event::Kind::took, .first = x.size(), .report = {}});
  numbers_.insert(numbers_.end(), x.begin(), x.end());
}

void EventBuffer::scored(std::uint64_t sample, std::span<const double> d_hat,
                         std::span<const Interval> interval, std::span<const double> d) {
  events_.push_back({.kind = Event::Kind::scored,
                     .sample = sample,
                     .first = d_hat.size(),
                     .second = d.size(),
                     .bounds = interval.size(),
                     .report = {}});
  numbers_.insert(numbers_.end(), d_hat.begin(), d_hat.end());
  numbers_.insert(numbers_.end(), d.begin(), d.end());
  bounds_.insert(bounds_.end(), interval.begin(), interval.end());
}

void EventBuffer::stepped(std::uint64_t sample, const StepReport& report) {
  events_.push_back({.kind = Event::Kind::stepped, .sample = sample, .report = report});
  events_.back().report.weights = {};
}

void EventBuffer::replay(StreamListener& to) const {
  std::span<const double> numbers = numbers_;
  std::span<const Interval> bounds = bounds_;
  for (const Event& event : events_) {
    const auto first = numbers.first(event.first);
    const auto second = numbers.subspan(event.first, event.second);
    switch (event.kind) {
      case Event::Kind::took:
        to.took(first);
        break;
      case Event::Kind::scored:
        to.scored(event.sample, first, bounds.first(event.bounds), second);
        break;
      case Event::Kind::stepped:
        to.stepped(event.sample, event.report);
        break;
    }
    numbers = numbers.subspan(event.first + event.second);
    bounds = bounds.subspan(event.bounds);
  }
}

}  // namespace kalstream

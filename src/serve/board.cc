#include "serve/board.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "settings/schema_json.h"

namespace kalstream::serve {
std::int64_t milliseconds_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// ---- Points.

void Points::add(std::uint64_t event, std::int64_t at, const Answer& answer, bool with_key,
                 bool grows) {
  constexpr std::size_t least = 4;
  std::size_t here = first_;
  const bool has_room = grows && points_.size() < most_ && budget_->take(1);
  if (has_room) ++taken_;
  if (has_room || points_.size() < std::min(least, most_)) {
    // Room is made at the end, so the ring must begin at its beginning.
    std::rotate(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(first_),
                points_.end());
    std::rotate(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(first_ * targets_),
                numbers_.end());
    first_ = 0;
    here = points_.size();
    points_.emplace_back();
    numbers_.resize(points_.size() * targets_);
  } else {
    first_ = (first_ + 1) % points_.size();
  }
  Point& point = points_[here];
  point.event = event;
  point.sample = answer.sample;
  point.at = at;
  if (with_key) point.key = answer.key;
  point.time = answer.time;
  point.time_is_text = answer.time_is_text;
  for (std::size_t k = 0; k < targets_; ++k) {
    Numbers& n = numbers_[here * targets_ + k];
    n.prediction = k < answer.prediction.size() ? answer.prediction[k] : StreamStatus::unknown;
    n.low = k < answer.interval.size() ? answer.interval[k].low : StreamStatus::unknown;
    n.high = k < answer.interval.size() ? answer.interval[k].high : StreamStatus::unknown;
  }
  write_target(here, answer);
}

void Points::write_target(std::size_t here, const Answer& answer) {
  points_[here].anomaly = answer.anomaly;
  for (std::size_t k = 0; k < targets_; ++k) {
    Numbers& n = numbers_[here * targets_ + k];
    n.target = k < answer.target.size() ? answer.target[k] : StreamStatus::unknown;
    n.surprise = k < answer.surprise.size() ? answer.surprise[k] : StreamStatus::unknown;
  }
}

// Mostly it is among the last.
bool Points::label(const Answer& answer, bool with_key) {
  for (std::size_t k = size(); k-- > 0;) {
    const Point& point = points_[place(k)];
    if (with_key && point.key != answer.key) continue;
    if (point.sample < answer.sample) return false;
    if (point.sample > answer.sample) continue;
    write_target(place(k), answer);
    return true;
  }
  return false;
}

std::vector<ShownPoint> Points::from(std::size_t k, std::size_t target) const {
  std::vector<ShownPoint> shown;
  shown.reserve(size() - k);
  for (; k < size(); ++k)
    shown.push_back({points_[place(k)], numbers_[place(k) * targets_ + target]});
  return shown;
}

std::size_t Points::after(std::uint64_t event) const {
  std::size_t first = 0;
  for (std::size_t end = size(); first < end;) {
    const std::size_t middle = first + (end - first) / 2;
    points_[place(middle)].event > event ? end = middle : first = middle + 1;
  }
  return first;
}

Board::Board(std::string name, const StreamSettings& settings, std::int64_t created,
             BoardLimits limits, PointBudget& budget)
    : name_(std::move(name)),
      learner_(settings.learner),
      created_(created),
      limits_(limits),
      budget_(budget),
      options_(to_json(settings)) {}

// ---- By the stream.

void Board::settle(const Engine& engine) {
  const std::lock_guard lock(mutex_);
  const ModelOptions& model = engine.options().model;
  keys_ = engine.has_keys();
  interval_ = model.coverage;
  horizon_ = model.horizon;
  if (!engine.settled()) return;
  settled_ = true;
  targets_ = engine.schema().target_names();
  schema_ = schema_json(engine.schema(), nullptr);
  naive_.emplace(targets_.size());
  if (keys_) all_ = std::make_unique<Points>(budget_, targets_.size(), limits_.of_key);
  ++event_;
}

void Board::know(const std::vector<std::string>& keys) {
  const std::lock_guard lock(mutex_);
  if (!settled_) return;
  for (const std::string& key : keys) model_of(key);
}

void Board::answered(const Answer& answer, std::int64_t at) {
  const bool sample =
      answer.status == Answer::Status::predicted || answer.status == Answer::Status::learnt;
  const bool label = answer.status == Answer::Status::labelled;
  if (!sample && !label) return;
  const std::lock_guard lock(mutex_);
  if (!settled_) return;
  last_ = at;
  ++event_;
  Model& model = model_of(answer.key);
  model.last = at;
  model.anomalies += answer.anomaly ? 1 : 0;
  if (!answer.surprise.empty())
    model.surprise = surprise_ = *std::ranges::min_element(answer.surprise);
  score(model, answer);
  if (answer.alarm) keep_alarm(answer);
  Points* const points = points_for(model);
  if (label) {
    if (points != nullptr) points->label(answer, false);
    if (all_) all_->label(answer, true);
    constexpr std::size_t most = 1000;
    if (labels_.size() == most) labels_.pop_front();
    labels_.push_back({event_,
                       std::string(answer.key),
                       answer.sample,
                       {answer.target.begin(), answer.target.end()},
                       {answer.surprise.begin(), answer.surprise.end()},
                       answer.anomaly});
    return;
  }
  model.samples = answer.sample;
  if (points != nullptr) {
    const std::size_t before = points->size();
    points->add(event_, at, answer, false, !keys_ || points_of_keys_ < limits_.of_keys);
    if (keys_) points_of_keys_ += points->size() - before;
  }
  if (all_) all_->add(event_, at, answer, true);
  if (answer.forecast.empty()) return;
  Forecast& f = model.forecast;
  f.time.assign(answer.forecast_time.begin(), answer.forecast_time.end());
  f.time_is_text = answer.time_is_text;
  f.value.assign(answer.forecast.begin(), answer.forecast.end());
  f.interval.assign(answer.forecast_interval.begin(), answer.forecast_interval.end());
}

// The end of an alarm is told of the last one of its key, if that lasts.
void Board::keep_alarm(const Answer& answer) {
  const auto lasts = [&](const KeptAlarm& kept) {
    return kept.key == answer.key && !kept.alarm.is_over();
  };
  const auto found =
      answer.alarm->is_new ? alarms_.rend() : std::find_if(alarms_.rbegin(), alarms_.rend(), lasts);
  if (found != alarms_.rend()) {
    found->alarm = answer.alarm->alarm;
    return;
  }
  if (alarms_.size() == most_alarms) alarms_.pop_front();
  alarms_.push_back({std::string(answer.key), answer.alarm->alarm});
}

// Against the last value: what a stream without a model would say.
void Board::score(Model& model, const Answer& answer) {
  if (answer.target.empty()) return;
  if (!model.last_target.empty()) {
    model.naive->add(model.last_target, answer.target);
    if (keys_) {
      naive_->add(model.last_target, answer.target);
      if (!answer.prediction.empty()) model.score->add(answer.prediction, answer.target);
    }
  }
  model.last_target.assign(answer.target.begin(), answer.target.end());
}

Board::Model& Board::model_of(std::string_view key) {
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) {
    if (found->second != models_.begin()) models_.splice(models_.begin(), models_, found->second);
    return models_.front();
  }
  if (models_.size() >= limits_.keys) erase(std::prev(models_.end()));
  Model& model = models_.emplace_front();
  model.key = key;
  model.score.emplace(targets_.size());
  model.naive.emplace(targets_.size());
  by_key_.emplace(model.key, models_.begin());
  return model;
}

// Where there is no room for more keys, those that have not been used for long give way.
Points* Board::points_for(Model& model) {
  constexpr std::int64_t long_ago = 60'000;  // milliseconds
  if (model.points) {
    shown_.splice(shown_.begin(), shown_, model.shown);
    return model.points.get();
  }
  if (keys_ && points_of_keys_ >= limits_.of_keys && !shown_.empty()) {
    if (model.last - shown_.back()->last < long_ago) return nullptr;
    hide(*shown_.back());
  }
  model.points =
      std::make_unique<Points>(budget_, targets_.size(), keys_ ? limits_.of_key : limits_.points);
  shown_.push_front(&model);
  model.shown = shown_.begin();
  return model.points.get();
}

void Board::hide(Model& model) {
  if (!model.points) return;
  if (keys_) points_of_keys_ -= model.points->size();
  shown_.erase(model.shown);
  model.points.reset();
}

void Board::erase(Place model) {
  hide(*model);
  by_key_.erase(model->key);
  models_.erase(model);
}

void Board::forget(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) erase(found->second);
  ++event_;
}

void Board::clear() {
  const std::lock_guard lock(mutex_);
  while (!models_.empty()) erase(models_.begin());
  settled_ = false;
  targets_.clear();
  schema_ = "null";
  all_.reset();
  naive_.reset();
  labels_.clear();
  alarms_.clear();
  counts_ = {};
  errors_ = recent_errors_ = {};
  coverage_recent_ = surprise_ = StreamStatus::unknown;
  last_ = 0;
  model_count_ = memory_ = 0;
  status_ = {};
  warnings_before_ = {};
  ++event_;
}

void Board::warned(std::string_view kind, std::string_view text) {
  constexpr std::size_t most = 200;
  const std::lock_guard lock(mutex_);
  if (warnings_.size() == most) warnings_.pop_front();
  warnings_.push_back({++event_, milliseconds_now(), std::string(kind), std::string(text)});
}

void Board::set_failure(std::string why) {
  const std::lock_guard lock(mutex_);
  if (failure_ == why) return;
  failure_ = std::move(why);
  ++event_;
}

std::string Board::failure_to_open() const {
  const std::lock_guard lock(mutex_);
  return models_.empty() && counts_.samples == 0 ? failure_ : std::string();
}

void Board::count(const Engine& engine) {
  const Scores* scores = engine.scores();
  const Models* models = engine.models();
  const std::lock_guard lock(mutex_);
  ++event_;
  counts_ = engine.counts();
  memory_ = engine.memory_of_models();
  if (models != nullptr) model_count_ = models->in_memory() + models->stored();
  if (scores == nullptr) return;
  errors_ = scores->errors().all();
  recent_errors_ = scores->errors().recent();
  if (interval_ > 0 && scores->intervals() > 0) coverage_recent_ = scores->recent_coverage();
}

void Board::set_status(StreamStatus status) {
  if (status.learner.empty()) status.learner = learner_;  // no model is in memory
  const std::lock_guard lock(mutex_);
  if (std::isfinite(status.samples_per_second) &&
      status.samples_per_second != status_.samples_per_second)
    ++event_;
  for (std::size_t k = 0; k < status.warnings.size(); ++k)
    status.warnings[k] += warnings_before_[k];
  status_ = std::move(status);
}

// ---- By anybody.

std::uint64_t Board::events() const {
  const std::lock_guard lock(mutex_);
  return event_;
}

StreamStatus Board::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

std::vector<std::string> Board::targets() const {
  const std::lock_guard lock(mutex_);
  return targets_;
}

std::optional<std::size_t> Board::target(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (name.empty()) return 0;
  const auto found = std::ranges::find(targets_, name);
  if (found == targets_.end()) return {};
  return static_cast<std::size_t>(found - targets_.begin());
}

const Board::Model* Board::find(const View& view) const {
  if (keys_ && !view.key) return nullptr;
  const auto found = by_key_.find(keys_ ? *view.key : std::string());
  return found == by_key_.end() ? nullptr : &*found->second;
}

const Points* Board::points_of(const View& view) const {
  if (keys_ && !view.key) return all_.get();
  const Model* model = find(view);
  return model == nullptr ? nullptr : model->points.get();
}

}  // namespace kalstream::serve

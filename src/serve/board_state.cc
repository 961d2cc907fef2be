// What a board shows, in a checkpoint and out of it: after a restart it shows the same.
#include <algorithm>

#include "core/archive.h"
#include "core/envelope.h"
#include "kalstream/snapshot.h"
#include "serve/board.h"

namespace kalstream::serve {
namespace {

// Times are never negative.
void exchange_time(Archive& archive, std::int64_t& at) {
  auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(at, 0));
  archive.count(time);
  at = static_cast<std::int64_t>(time);
}

void exchange_numbers(Archive& archive, std::vector<double>& values) {
  values.resize(archive.length(values.size()));
  archive.run(values, Archive::any);
}

void exchange_forecast(Archive& archive, Board::Forecast& f) {
  f.time.resize(archive.length(f.time.size()));
  for (std::string& time : f.time) archive.text(time);
  archive.flag(f.time_is_text);
  exchange_numbers(archive, f.value);
  f.interval.resize(archive.length(f.interval.size()));
  for (Interval& bounds : f.interval)
    for (double* v : {&bounds.low, &bounds.high}) archive.number(*v, Archive::any);
}

}  // namespace

void Points::exchange(Archive& archive, bool with_key) {
  const std::size_t n = archive.length(size());
  std::vector<Point> points(n);
  std::vector<Numbers> numbers(n * targets_);
  for (std::size_t k = 0; k < n; ++k) {
    if (!archive.reading()) {
      points[k] = points_[place(k)];
      std::copy_n(numbers_.begin() + static_cast<std::ptrdiff_t>(place(k) * targets_), targets_,
                  numbers.begin() + static_cast<std::ptrdiff_t>(k * targets_));
    }
    Point& p = points[k];
    archive.count(p.event);
    archive.count(p.sample);
    exchange_time(archive, p.at);
    if (with_key) archive.text(p.key);
    archive.text(p.time);
    archive.flag(p.time_is_text);
    archive.flag(p.anomaly);
    for (Numbers& m : std::span(numbers).subspan(k * targets_, targets_))
      for (double* v : {&m.target, &m.prediction, &m.low, &m.high, &m.surprise})
        archive.number(*v, Archive::any);
  }
  const auto all = static_cast<std::int64_t>(n);
  if (!archive.reading() || n > most_ || !budget_->take(all)) return;
  taken_ += all;
  points_ = std::move(points);
  numbers_ = std::move(numbers);
}

std::string Board::state(bool all, bool& is_whole) const {
  constexpr std::size_t few = 10'000;
  Bytes bytes;
  Archive to(bytes);
  const std::lock_guard lock(mutex_);
  std::size_t points = all_ ? all_->size() : 0;
  for (const Model* model : shown_) points += model->points->size();
  is_whole = all || points <= few;
  if (settled_)
    const_cast<Board*>(this)->exchange(to, is_whole);  // NOLINT: writing changes nothing
  return std::string(as_text(bytes));
}

bool Board::restore(std::string_view state) {
  bool is_whole = state.empty();
  Archive from(as_bytes(state));
  const std::lock_guard lock(mutex_);
  if (settled_ && !state.empty()) exchange(from, is_whole);
  from.require(from.left() == 0);
  return is_whole;
}

// Models from the one used longest ago on, so that the last one comes to lie in front.
void Board::exchange(Archive& archive, bool& with_points) {
  archive.flag(with_points);
  archive.count(event_);
  exchange_time(archive, last_);
  archive.number(surprise_, Archive::any);
  naive_->exchange(archive);
  auto& warnings = archive.reading() ? warnings_before_ : status_.warnings;
  for (std::uint64_t& n : warnings) archive.count(n);
  warnings_.resize(archive.length(warnings_.size()));
  for (Warned& w : warnings_) {
    archive.count(w.event);
    exchange_time(archive, w.at);
    archive.text(w.kind);
    archive.text(w.text);
  }
  if (all_ && with_points) all_->exchange(archive, true);
  auto model = models_.rbegin();
  for (std::size_t left = archive.length(models_.size()); left > 0; --left) {
    std::string key = archive.reading() ? "" : model->key;
    archive.text(key);
    exchange(archive, archive.reading() ? model_of(key) : *model++, with_points);
  }
  // The last of all, and only there if there were any.
  if (archive.reading() ? archive.left() == 0 : alarms_.empty()) return;
  alarms_.resize(archive.length(alarms_.size()));
  archive.require(alarms_.size() <= most_alarms);
  for (KeptAlarm& kept : alarms_) {
    archive.text(kept.key);
    kept.alarm.exchange(archive, targets_.size());
  }
}

void Board::exchange(Archive& archive, Model& model, bool with_points) {
  exchange_time(archive, model.last);
  archive.count(model.samples);
  archive.count(model.anomalies);
  archive.number(model.surprise, Archive::any);
  model.score->exchange(archive);
  model.naive->exchange(archive);
  exchange_numbers(archive, model.last_target);
  exchange_forecast(archive, model.forecast);
  bool has_points = with_points && model.points;
  archive.flag(has_points);
  if (!has_points) return;
  if (!model.points) {
    model.points =
        std::make_unique<Points>(budget_, targets_.size(), keys_ ? limits_.of_key : limits_.points);
    shown_.push_front(&model);
    model.shown = shown_.begin();
  }
  model.points->exchange(archive, false);
  if (archive.reading() && keys_) points_of_keys_ += model.points->size();
}

}  // namespace kalstream::serve

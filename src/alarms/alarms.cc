#include "alarms/alarms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/archive.h"

namespace kalstream {
namespace {

constexpr double still_strange = 0.5;   // of the least that is told
constexpr double calm_rows = 30;        // end an alarm …
constexpr double calm_rows_limit = 10;  // … or one of a limit alone
constexpr double short_event = 5;       // rows outside of a spike
constexpr double large_error = 3;       // usual ones
constexpr double first_rows = 10;       // rows in which a jump belongs to the start

// Silence: so many samples without a target, and so many times as many as ever lately.
constexpr double silent_rows = 10;
constexpr double silent_times = 4;
constexpr double silence_memory = 8192;      // targets
constexpr double targets_for_silence = 100;  // before which nobody knows what is usual

// What people say of alarms.
constexpr double pace = 1.25;           // of one verdict …
constexpr double most_pace = 2;         // … at most, for an alarm that was far from ordinary
constexpr double above_severity = 1.1;  // times that of the false alarm, which is told no more
constexpr double lowest = 0.5;
constexpr double highest = 8;

void exchange_time(Archive& archive, AlarmTime& time) {
  archive.count(time.sample);
  archive.text(time.time);
  archive.flag(time.is_text);
}

void exchange_kind(Archive& archive, AlarmKind& kind) {
  auto k = static_cast<std::uint64_t>(kind);
  archive.count(k, static_cast<std::uint64_t>(AlarmKind::below));
  kind = static_cast<AlarmKind>(k);
}

}  // namespace

void AlarmEvent::exchange(Archive& archive, std::size_t outputs) {
  exchange_kind(archive, kind);
  exchange_time(archive, start);
  exchange_time(archive, end);
  archive.count(output, outputs - 1);
  archive.number(value, Archive::any);
  archive.number(severity, Archive::not_negative);
}

void Alarms::Signs::exchange(Archive& archive) {
  for (double* v : {&rows, &calm, &strange, &too_large, &too_small, &spread, &stuck, &outside,
                    &jump, &farthest})
    archive.number(*v, Archive::not_negative);
  archive.number(usual, Archive::usable);
  exchange_kind(archive, strongest);
  archive.flag(by_limit);
}

Alarms::Alarms(const AlarmOptions& options, std::size_t outputs)
    : options_(options), measure_(outputs), outputs_(outputs) {}

void Alarms::set_limits(const AlarmOptions& options) {
  options_.above = options.above;
  options_.below = options.below;
}

// ---- Targets.

const AlarmNews* Alarms::take(const AlarmTime& at, std::span<const double> d_hat,
                              std::span<const double> surprise, std::span<const double> d) {
  if (options_.strangeness) measure_.take(d_hat, surprise, d);
  ++targets_;
  Finding found = look_at(d);
  const AlarmNews* news = end_silence(at);
  if (news != nullptr) {
    owed_ = found.look.strangeness;
  } else {
    found.look.strangeness = std::max(found.look.strangeness, std::exchange(owed_, 0));
    news = follow(at, found, d);
  }
  last_ = at;
  return news;
}

// The strangest of all outputs, or the first that is beyond a limit.
Alarms::Finding Alarms::look_at(std::span<const double> d) const {
  Finding found;
  for (std::size_t k = 0; k < std::min(d.size(), outputs_); ++k) {
    const Strangeness::Look look = options_.strangeness ? measure_.looks()[k] : Strangeness::Look{};
    const bool too_high = d[k] > options_.above;
    const bool too_low = d[k] < options_.below;
    const bool is_first_beyond = (too_high || too_low) && !found.is_beyond_limit;
    if (!is_first_beyond && (found.is_beyond_limit || !(look.size > found.look.size))) continue;
    found = {look, k, too_high || too_low, too_high ? AlarmKind::above : AlarmKind::below};
  }
  return found;
}

const AlarmNews* Alarms::follow(const AlarmTime& at, const Finding& found,
                                std::span<const double> d) {
  const double value =
      found.output < d.size() ? d[found.output] : std::numeric_limits<double>::quiet_NaN();
  if (!is_open_) {
    if (!found.is_beyond_limit && !(found.look.strangeness >= least_)) return nullptr;
    begin(at, found, value);
    return &news_;
  }
  go_on(at, found, value);
  const double enough = signs_.by_limit ? calm_rows_limit : calm_rows;
  return signs_.calm >= enough ? end() : nullptr;
}

void Alarms::begin(const AlarmTime& at, const Finding& found, double value) {
  is_open_ = true;
  signs_ = {};
  calm_since_ = {};
  news_ = {.is_new = true, .alarm = {.start = at, .output = found.output}};
  go_on(at, found, value);
}

void Alarms::go_on(const AlarmTime& at, const Finding& found, double value) {
  const Strangeness::Look& look = found.look;
  AlarmEvent& alarm = news_.alarm;
  const bool is_first = signs_.rows == 0;
  ++signs_.rows;
  const bool is_strange = look.size >= still_strange * least_;
  if (!is_strange && !found.is_beyond_limit) {
    if (++signs_.calm == 1) calm_since_ = at;
    return;
  }
  signs_.calm = 0;
  if (signs_.rows <= first_rows) signs_.jump = std::max(signs_.jump, look.jump);
  signs_.strange += 1;
  signs_.too_large += look.error > large_error ? 1 : 0;
  signs_.too_small += look.error < -large_error ? 1 : 0;
  signs_.spread += look.kind == AlarmKind::spread ? 1 : 0;
  signs_.stuck += look.kind == AlarmKind::stuck ? 1 : 0;
  signs_.outside += look.is_outside ? 1 : 0;
  const bool was_limit = alarm.kind == AlarmKind::above || alarm.kind == AlarmKind::below;
  signs_.by_limit = found.is_beyond_limit && (is_first || signs_.by_limit);
  if (look.size > alarm.severity || is_first) {
    alarm.severity = std::max(alarm.severity, look.size);
    signs_.strongest = look.kind;
    alarm.output = found.output;
  }
  if (found.is_beyond_limit)
    alarm.kind = found.limit;
  else if (!was_limit)
    alarm.kind = kind_of_signs();
  keep_worst(is_first, look, value);
}

// Beyond a limit it is the one farthest beyond, otherwise the one farthest from the usual.
void Alarms::keep_worst(bool is_first, const Strangeness::Look& look, double value) {
  AlarmEvent& alarm = news_.alarm;
  if (is_first) signs_.usual = look.usual;
  const double distance = std::abs(value - signs_.usual);
  bool is_worse = distance > signs_.farthest;
  if (alarm.kind == AlarmKind::above) is_worse = value > alarm.value;
  if (alarm.kind == AlarmKind::below) is_worse = value < alarm.value;
  if (is_first || is_worse) alarm.value = value;
  if (!std::isnan(distance)) signs_.farthest = std::max(signs_.farthest, distance);
}

// Values that jump and stay are a level, those that leave slowly a drift.
AlarmKind Alarms::kind_of_signs() const {
  const Signs& s = signs_;
  constexpr double some = 3;
  if (2 * s.stuck > s.strange) return AlarmKind::stuck;
  const double other_side = std::min(s.too_large, s.too_small);
  const bool is_wide = s.strongest == AlarmKind::spread && 2 * s.spread > s.strange;
  if (is_wide || other_side >= std::max(some, s.strange / 5)) return AlarmKind::spread;
  const bool is_abrupt = s.jump >= s.farthest / 2;
  if (s.outside > short_event) return is_abrupt ? AlarmKind::level : AlarmKind::drift;
  return s.strongest == AlarmKind::level && !is_abrupt ? AlarmKind::drift : s.strongest;
}

const AlarmNews* Alarms::end() {
  is_open_ = false;
  news_.is_new = false;
  news_.alarm.end = calm_since_;
  last_severity_ = news_.alarm.severity;
  return &news_;
}

// ---- Silence.

// How strange it is that so many targets in a row are missing.
double Alarms::silence() const {
  if (targets_ < targets_for_silence) return 0;
  return missing_ / std::max(silent_rows, silent_times * most_missing_);
}

const AlarmNews* Alarms::take_missing() {
  ++missing_;
  const double size = options_.strangeness ? silence() : 0;
  if (is_open_) {
    if (news_.alarm.kind == AlarmKind::silence) news_.alarm.severity = std::max(size, 1.0);
    return nullptr;
  }
  if (!(size >= std::max(1.0, least_))) return nullptr;
  is_open_ = true;
  signs_ = {};
  calm_since_ = {};
  news_ = {.is_new = true, .alarm = {.kind = AlarmKind::silence, .start = last_, .severity = size}};
  return &news_;
}

// A silence of samples that did not come is known only when it is over.
const AlarmNews* Alarms::end_silence(const AlarmTime& at) {
  constexpr double most_growth = 4;
  const double missing = std::exchange(missing_, 0);
  if (missing == 0) {
    most_missing_ = std::max(2.0, most_missing_ * (1 - 1 / silence_memory));
    return nullptr;
  }
  missing_ = missing;
  const double size = options_.strangeness ? silence() : 0;
  missing_ = 0;
  most_missing_ = std::max(most_missing_, std::min(missing, most_growth * most_missing_));
  const bool is_told = is_open_ && news_.alarm.kind == AlarmKind::silence;
  if (!is_told && (is_open_ || !(size >= std::max(1.0, least_)))) return nullptr;
  if (!is_told) news_ = {.is_new = true, .alarm = {.kind = AlarmKind::silence, .start = last_}};
  news_.is_new = !is_told;
  is_open_ = false;
  news_.alarm.severity = std::max(news_.alarm.severity, size);
  news_.alarm.end = at;
  last_severity_ = news_.alarm.severity;
  return &news_;
}

// ---- What people say.

void Alarms::judge(bool real) {
  if (real) {
    least_ = std::max(lowest, least_ / pace);
    return;
  }
  const double severity = is_open_ ? news_.alarm.severity : last_severity_;
  least_ =
      std::min(highest, std::clamp(above_severity * severity, pace * least_, most_pace * least_));
}

void Alarms::exchange(Archive& archive) {
  if (options_.strangeness) measure_.exchange(archive);
  archive.number(least_, [](double v) { return v >= lowest && v <= highest; });
  for (double* v : {&last_severity_, &targets_, &missing_, &owed_})
    archive.number(*v, Archive::not_negative);
  archive.number(most_missing_, [](double v) { return v >= 2 && std::isfinite(v); });
  exchange_time(archive, last_);
  archive.flag(is_open_);
  if (!is_open_) return;
  signs_.exchange(archive);
  exchange_time(archive, calm_since_);
  news_.alarm.exchange(archive, outputs_);
}

}  // namespace kalstream

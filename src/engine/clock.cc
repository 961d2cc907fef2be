#include "engine/clock.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include "core/archive.h"
#include "schema/timestamp.h"

namespace kalstream {
namespace {

constexpr std::uint64_t last_eight = 0xff;
constexpr double nanos = 1e9;

void exchange_signed(Archive& archive, std::int64_t& value) {
  auto word = static_cast<std::uint64_t>(value);
  archive.word(word);
  value = static_cast<std::int64_t>(word);
}

}  // namespace

StreamClock::Verdict StreamClock::take(std::int64_t moment, bool calendar) {
  if (off_) return {};
  calendar_ = calendar;
  if (!started_) {
    start_at(moment);
    return {};
  }
  turned_away_ = (turned_away_ << 1) & last_eight;
  repeated_ = (repeated_ << 1) & last_eight;
  ++since_restart_;
  if (moment == last_) return turn_away(Kind::repeated, moment);
  if (moment < last_) return turn_away(Kind::late, moment);

  const std::uint64_t steps = steps_to(moment);
  last_ = moment;
  moments_.push_back(moment);
  if (moments_.size() > most_moments) moments_.erase(moments_.begin());
  look_for_step();
  if (steps <= 1) return {};
  if (steps - 1 <= longest_gap) return {.missing = steps - 1};
  remark(std::to_string(steps - 1) + " samples are missing before " +
         (calendar_ ? iso_text(moment) : std::to_string(static_cast<double>(moment) / nanos)) +
         ": too many to be passed one by one; it is taken for the next one");
  return {};
}

void StreamClock::start_at(std::int64_t moment) {
  started_ = true;
  last_ = moment;
  offset_ = 0;
  moments_ = {moment};
  step_.reset();
  irregular_ = false;
  turned_away_ = repeated_ = 0;
}

void StreamClock::take_undated() {
  if (!started_ || off_) return;
  if (const auto next = after(1)) last_ = *next;
  moments_ = {last_};  // what lies between it and others is not known
}

// Steps from the last sample to this one. Samples may be off the grid's moments by less than half a
// step; the grid follows slowly, for the clock of a device may run fast.
std::uint64_t StreamClock::steps_to(std::int64_t moment) {
  if (!step_) return 1;
  constexpr double most = 1e15;
  if (step_->unit != TimeStep::Unit::nanoseconds)
    return static_cast<std::uint64_t>(
        std::clamp(std::round(step_->between(last_, moment)), 1.0, most));
  const auto step = static_cast<double>(step_->count);
  const double since = nanoseconds_between(last_, moment) - offset_;
  const double steps = std::clamp(std::round(since / step), 1.0, most);
  const double off_grid = since - steps * step;  // of this sample
  constexpr double follow = 1.0 / 8;
  offset_ = std::abs(off_grid) < step ? -off_grid * (1 - follow) : 0;
  return static_cast<std::uint64_t>(steps);
}

// A few of the last samples turned away are theirs to blame; most of them, and it is the time that
// is no good.
StreamClock::Verdict StreamClock::turn_away(Kind kind, std::int64_t moment) {
  constexpr int too_many = 4;
  constexpr std::uint64_t soon = 64;
  turned_away_ |= 1;
  if (kind == Kind::repeated) repeated_ |= 1;
  if (std::popcount(turned_away_) < too_many) return {.kind = kind};
  if (std::popcount(repeated_) >= too_many || (restarted_ && since_restart_ < soon)) {
    off_ = true;
    step_.reset();
    remark(
        "the times do not tell the samples' order: many are the same, or earlier than before; from "
        "here on they are left out of account (--time none: from the beginning)");
    return {};
  }
  start_at(moment);
  restarted_ = true;
  since_restart_ = 0;
  remark("the time was set back to " +
         (calendar_ ? iso_text(moment) : std::to_string(static_cast<double>(moment) / nanos)) +
         " and goes on from there");
  return {};
}

void StreamClock::look_for_step() {
  if (step_ && moments_.size() < few_moments) return;
  const auto found = find_step(moments_, calendar_);
  if (found && found == step_) return;
  const auto share_of_ones = [&](const TimeStep& step) {
    const auto last = std::span(moments_).last(std::min(moments_.size(), few_moments));
    double ones = 0;
    for (std::size_t k = 1; k < last.size(); ++k)
      ones += std::abs(step.between(last[k - 1], last[k]) - 1) < 0.3 ? 1 : 0;
    return ones / static_cast<double>(last.size() - 1);
  };
  if (found && step_) {
    const bool nearly_same =
        found->unit == step_->unit &&
        std::abs(static_cast<double>(found->count) / static_cast<double>(step_->count) - 1) < 0.05;
    if (nearly_same || share_of_ones(*found) < 0.75) return;
    remark("the step between samples is " + to_string(*found, calendar_) + " now, no more " +
           to_string(*step_, calendar_));
  } else if (found) {
    remark("the step between samples is " + to_string(*found, calendar_) +
           (irregular_ ? " now" : ""));
  } else if (step_) {
    if (share_of_ones(*step_) >= 0.25) return;
    irregular_ = true;
    remark("samples do not come at equal distances of time any more");
  } else {
    if (moments_.size() < most_moments || irregular_) return;
    irregular_ = true;
    remark("samples do not come at equal distances of time");
  }
  step_ = found;
  offset_ = 0;
  if (step_) irregular_ = false;
}

std::optional<std::int64_t> StreamClock::after(std::uint64_t n) const {
  if (!started_ || !step_) return {};
  return step_->after(last_, static_cast<std::int64_t>(n));
}

double StreamClock::elapsed(std::optional<std::int64_t> moment) const {
  if (started_ && moment && *moment > last_) return nanoseconds_between(last_, *moment) / nanos;
  std::vector<double> apart;
  for (std::size_t k = 1; k < moments_.size(); ++k)
    apart.push_back(nanoseconds_between(moments_[k - 1], moments_[k]) / nanos);
  if (apart.empty()) return 0;
  std::ranges::nth_element(apart, apart.begin() + std::ssize(apart) / 2);
  return apart[apart.size() / 2];
}

std::vector<double> StreamClock::periods() const {
  return step_ && calendar_ ? calendar_periods(*step_) : std::vector<double>{};
}

std::string StreamClock::text() const {
  if (off_) return "not told by the times";
  if (step_) return to_string(*step_, calendar_);
  return irregular_ ? "irregular" : "not known yet";
}

void StreamClock::remark(const std::string& text) {
  if (!remark_.empty()) remark_ += "; ";
  remark_ += text;
}

std::string StreamClock::take_remark() { return std::exchange(remark_, {}); }

void StreamClock::exchange(Archive& archive) {
  for (bool* flag : {&started_, &calendar_, &off_, &irregular_, &restarted_}) archive.flag(*flag);
  bool has_step = step_.has_value();
  archive.flag(has_step);
  if (has_step) {
    TimeStep step = step_.value_or(TimeStep{});
    auto unit = static_cast<std::uint64_t>(step.unit);
    archive.count(unit, static_cast<std::uint64_t>(TimeStep::Unit::workdays));
    step.unit = static_cast<TimeStep::Unit>(unit);
    exchange_signed(archive, step.count);
    const bool is_calendar = step.unit != TimeStep::Unit::nanoseconds;
    archive.require(step.count >= 1 && (!is_calendar || step.count <= 12'000));
    archive.flag(step.month_end);
    step_ = step;
  } else {
    step_.reset();
  }
  exchange_signed(archive, last_);
  archive.number(offset_, Archive::usable);
  moments_.resize(archive.length(moments_.size()));
  archive.require(moments_.size() <= most_moments);
  for (std::int64_t& moment : moments_) exchange_signed(archive, moment);
  archive.count(turned_away_, last_eight);
  archive.count(repeated_, last_eight);
  archive.count(since_restart_);
}

}  // namespace kalstream

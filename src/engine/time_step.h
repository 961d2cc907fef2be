// How far samples are apart in time, and what repeats itself in so many of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kalstream {

/// A step that the clock or the calendar counts. Moments are nanoseconds since 1970, or whatever
/// another clock counts.
struct TimeStep {
  enum class Unit : std::uint8_t {
    nanoseconds,
    months,
    workdays,  ///< Monday to Friday
  };

  Unit unit = Unit::nanoseconds;
  std::int64_t count = 1;
  bool month_end = false;  ///< of months: the last day of each

  bool operator==(const TimeStep&) const = default;

  /// Steps from one moment to another, and parts of one.
  double between(std::int64_t from, std::int64_t to) const;
  /// The moment n steps later.
  std::int64_t after(std::int64_t moment, std::int64_t n) const;
};

/// b − a, which may be more than 64 bits count.
double nanoseconds_between(std::int64_t a, std::int64_t b);

/// The step that most of these moments have in common, each later than the one before; some may be
/// absent, and each may be somewhat off its time. Nothing if there is none, or too few can tell.
/// `calendar`: they are moments of the calendar.
std::optional<TimeStep> find_step(std::span<const std::int64_t> moments, bool calendar);

/// The last few moments are enough to tell a step that is kept to; to tell one that is not, from
/// samples that come at any time, it takes more of them.
inline constexpr std::size_t few_moments = 13;
inline constexpr std::size_t most_moments = 25;

/// "1 hour", "5 minutes", "3 months"; of another clock than the calendar's "0.1".
std::string to_string(const TimeStep& step, bool calendar = true);

/// In how many samples the hour, the day, the week or the year come again: those that make sense
/// for the step, two at most, the shortest first.
std::vector<double> calendar_periods(const TimeStep& step);

}  // namespace kalstream

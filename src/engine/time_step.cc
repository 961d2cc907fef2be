#include "engine/time_step.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "schema/calendar.h"

namespace kalstream {
namespace {

constexpr std::int64_t one_second = 1'000'000'000;
constexpr std::int64_t one_minute = 60 * one_second;
constexpr std::int64_t one_hour = 60 * one_minute;
constexpr std::int64_t one_day = 24 * one_hour;
constexpr std::int64_t one_week = 7 * one_day;
constexpr double days_of_year = 365.25;

struct Day {
  std::int64_t day = 0;   // since 1970
  std::int64_t time = 0;  // nanoseconds since midnight
};

Day day_of(std::int64_t moment) {
  std::int64_t day = moment / one_day;
  if (moment % one_day < 0) --day;
  return {day, moment - day * one_day};
}

// Months since the year 0, and what of its month has passed by then.
struct Month {
  std::int64_t number = 0;
  Date date;
  std::int64_t time = 0;

  explicit Month(std::int64_t moment) {
    const Day at = day_of(moment);
    date = date_of(at.day);
    number = std::int64_t{12} * date.year + date.month - 1;
    time = at.time;
  }
  bool is_end() const { return date.day == days_in(date.year, date.month); }
  double passed() const {
    return (date.day - 1 + static_cast<double>(time) / one_day) / days_in(date.year, date.month);
  }
};

// Workdays since a Monday; all of a weekend counts as the beginning of the next week.
constexpr std::int64_t first_monday = 4;  // 1970-01-05
double workdays_until(std::int64_t moment) {
  const Day at = day_of(moment);
  std::int64_t week = (at.day - first_monday) / 7;
  if ((at.day - first_monday) % 7 < 0) --week;
  const auto weekday = static_cast<double>(at.day - first_monday - 7 * week);
  return 5.0 * static_cast<double>(week) +
         std::min(5.0, weekday + static_cast<double>(at.time) / one_day);
}

bool is_weekend(std::int64_t moment) {
  const std::int64_t weekday = ((day_of(moment).day - first_monday) % 7 + 7) % 7;
  return weekday >= 5;
}

// ---- Finding the step.

using Differences = std::vector<double>;

Differences differences(std::span<const std::int64_t> moments) {
  Differences apart;
  for (std::size_t k = 1; k < moments.size(); ++k)
    apart.push_back(nanoseconds_between(moments[k - 1], moments[k]));
  return apart;
}

// The same day of every month, or the last one.
std::optional<TimeStep> months_of(std::span<const std::int64_t> moments) {
  const Month first(moments.front());
  bool same_day = true;
  bool month_ends = true;
  std::vector<std::int64_t> apart;
  std::int64_t before = first.number;
  for (const std::int64_t moment : moments) {
    const Month month(moment);
    same_day &= month.date.day == first.date.day && month.time == first.time;
    month_ends &= month.is_end() && month.time == first.time;
    if (month.number > before) apart.push_back(month.number - before);
    before = month.number;
  }
  if ((!same_day && !month_ends) || apart.size() + 1 != moments.size()) return {};
  const std::int64_t count = *std::ranges::min_element(apart);
  const auto is_multiple = [&](std::int64_t n) { return n % count == 0; };
  const auto ones = std::ranges::count(apart, count);
  if (!std::ranges::all_of(apart, is_multiple) || 3 * ones < std::ssize(apart)) return {};
  return TimeStep{TimeStep::Unit::months, count, month_ends};
}

// What people choose, and a program that is late now and then means.
double rounded_to_usual(double step, double tolerance) {
  constexpr std::int64_t ms = one_second / 1000;
  constexpr std::array usual{ms,
                             2 * ms,
                             5 * ms,
                             10 * ms,
                             20 * ms,
                             50 * ms,
                             100 * ms,
                             200 * ms,
                             500 * ms,
                             one_second,
                             2 * one_second,
                             5 * one_second,
                             10 * one_second,
                             15 * one_second,
                             20 * one_second,
                             30 * one_second,
                             one_minute,
                             2 * one_minute,
                             5 * one_minute,
                             10 * one_minute,
                             15 * one_minute,
                             20 * one_minute,
                             30 * one_minute,
                             one_hour,
                             2 * one_hour,
                             3 * one_hour,
                             4 * one_hour,
                             6 * one_hour,
                             8 * one_hour,
                             12 * one_hour,
                             one_day,
                             one_week};
  for (const std::int64_t nice : usual)
    if (std::abs(step / static_cast<double>(nice) - 1) <= tolerance)
      return static_cast<double>(nice);
  return step;
}

struct Fit {
  double ones = 0;       // share of the differences that are one step …
  double multiples = 0;  // … or some
};

Fit fit_of(const Differences& apart, double step, double tolerance) {
  Fit fit;
  for (const double d : apart) {
    const double n = std::round(d / step);
    if (n < 1 || std::abs(d / step - n) > tolerance) continue;
    fit.ones += n == 1 ? 1 : 0;
    ++fit.multiples;
  }
  fit.ones /= static_cast<double>(apart.size());
  fit.multiples /= static_cast<double>(apart.size());
  return fit;
}

// One that a third of the differences are, and nearly all others a multiple of.
std::optional<double> exact_step(const Differences& apart) {
  constexpr double tolerance = 0.005;
  std::optional<double> best;
  double best_share = 0;
  for (const double step : apart) {
    const Fit fit = fit_of(apart, step, tolerance);
    if (3 * fit.ones < 1 || 4 * fit.multiples < 3) continue;
    if (best && (fit.multiples < best_share || (fit.multiples == best_share && step <= *best)))
      continue;
    best = step;
    best_share = fit.multiples;
  }
  if (best) best = rounded_to_usual(*best, 1e-4);  // doubles cannot count every nanosecond
  return best;
}

// Of samples that come more or less in time. By chance few streams look so.
std::optional<double> rough_step(const Differences& apart) {
  constexpr double tolerance = 0.3;
  if (apart.size() + 1 < most_moments) return {};
  Differences sorted = apart;
  std::ranges::sort(sorted);
  const double median = sorted[sorted.size() / 2];
  const Fit fit = fit_of(apart, median, tolerance);
  if (fit.ones < 0.5 || fit.multiples < 0.9) return {};
  double time = 0;
  double steps = 0;
  for (const double d : apart) {
    time += d;
    steps += std::max(1.0, std::round(d / median));
  }
  return rounded_to_usual(time / steps, 0.03);
}

// Days from Monday to Friday, and weekends absent more than once.
bool are_workdays(std::span<const std::int64_t> moments) {
  if (std::ranges::any_of(moments, is_weekend)) return false;
  std::size_t weekends = 0;
  for (std::size_t k = 1; k < moments.size(); ++k)
    if (nanoseconds_between(moments[k - 1], moments[k]) == 3 * one_day) ++weekends;
  return weekends >= 2;
}

}  // namespace

double nanoseconds_between(std::int64_t a, std::int64_t b) {
  const double whole = static_cast<double>(b) - static_cast<double>(a);
  constexpr double countable = 9e18;
  return std::abs(whole) < countable ? static_cast<double>(b - a) : whole;
}

double TimeStep::between(std::int64_t from, std::int64_t to) const {
  const auto n = static_cast<double>(count);
  if (unit == Unit::nanoseconds) return nanoseconds_between(from, to) / n;
  if (unit == Unit::workdays) return (workdays_until(to) - workdays_until(from)) / n;
  const Month a(from);
  const Month b(to);
  const double parts = month_end && a.is_end() && b.is_end() ? 0 : b.passed() - a.passed();
  return (static_cast<double>(b.number - a.number) + parts) / n;
}

std::int64_t TimeStep::after(std::int64_t moment, std::int64_t n) const {
  if (unit == Unit::nanoseconds) {
    std::int64_t later = 0;
    if (__builtin_mul_overflow(count, n, &later) || __builtin_add_overflow(moment, later, &later))
      return moment;
    return later;
  }
  constexpr std::int64_t farthest = 100'000;  // days and months that nanoseconds can count to
  const Day at = day_of(moment);
  if (unit == Unit::workdays) {
    auto day = static_cast<std::int64_t>(std::floor(workdays_until(moment))) + n * count;
    std::int64_t week = day / 5;
    if (day % 5 < 0) --week;
    day = first_monday + 7 * week + (day - 5 * week);
    if (std::abs(day) > farthest) return moment;
    return day * one_day + at.time;
  }
  const Month month(moment);
  const std::int64_t number = month.number + n * count;
  if (number < 12 * 1700 || number > 12 * 2200) return moment;
  Date date{.year = static_cast<int>(number / 12), .month = static_cast<int>(number % 12) + 1};
  const int last = days_in(date.year, date.month);
  date.day = month_end ? last : std::min(month.date.day, last);
  return date.days() * one_day + at.time;
}

std::optional<TimeStep> find_step(std::span<const std::int64_t> moments, bool calendar) {
  constexpr std::size_t fewest = 4;
  if (moments.size() < fewest) return {};
  const auto last = moments.last(std::min(moments.size(), few_moments));
  if (calendar)
    if (const auto months = months_of(last)) return months;
  std::optional<double> step = exact_step(differences(last));
  if (!step) step = rough_step(differences(moments));
  constexpr double longest = 9e18;
  if (!step || *step < 1 || *step > longest) return {};
  const TimeStep found{.count = std::llround(*step)};
  if (calendar && found.count == one_day && are_workdays(last))
    return TimeStep{.unit = TimeStep::Unit::workdays, .count = 1};
  return found;
}

// ---- For people and for learners.

std::string to_string(const TimeStep& step, bool calendar) {
  const auto plural = [](std::int64_t n, const char* what) {
    return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
  };
  if (step.unit == TimeStep::Unit::workdays) return plural(step.count, "workday");
  if (step.unit == TimeStep::Unit::months) {
    if (step.count % 12 == 0) return plural(step.count / 12, "year");
    return step.count == 3 ? "1 quarter" : plural(step.count, "month");
  }
  struct Named {
    std::int64_t size;
    const char* name;
  };
  constexpr std::array units{Named{one_week, "week"},     Named{one_day, "day"},
                             Named{one_hour, "hour"},     Named{one_minute, "minute"},
                             Named{one_second, "second"}, Named{1'000'000, "millisecond"},
                             Named{1'000, "microsecond"}, Named{1, "nanosecond"}};
  if (calendar)
    for (const Named& unit : units)
      if (step.count % unit.size == 0) return plural(step.count / unit.size, unit.name);
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(),
                                 static_cast<double>(step.count) / one_second);
  return {text.data(), end.ptr};
}

std::vector<double> calendar_periods(const TimeStep& step) {
  const auto n = static_cast<double>(step.count);
  if (step.unit == TimeStep::Unit::workdays)
    return step.count == 1 ? std::vector{5.0} : std::vector<double>{};
  if (step.unit == TimeStep::Unit::months)
    return step.count < 12 && 12 % step.count == 0 ? std::vector{12 / n} : std::vector<double>{};
  std::array<double, 2> cycles{};
  if (step.count < one_minute)
    cycles = {one_minute, one_hour};
  else if (step.count < 5 * one_minute)
    cycles = {one_hour, one_day};
  else if (step.count < one_day)
    cycles = {one_day, one_week};
  else
    cycles = {one_week, days_of_year * one_day};
  constexpr double shortest = 4;  // fewer show no course of the day
  constexpr double longest = 10'000;
  std::vector<double> periods;
  for (const double cycle : cycles)
    if (cycle / n >= shortest && cycle / n <= longest) periods.push_back(cycle / n);
  return periods;
}

}  // namespace kalstream

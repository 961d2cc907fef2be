// Days and dates, as the Gregorian calendar has them, and the words and digits they are written in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kalstream {

constexpr bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

constexpr int days_in(int year, int month) {
  constexpr std::array<int, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : days[static_cast<std::size_t>(month - 1)];
}

/// Days from 1970-01-01 to the first of January: 365 for each year, and one for each leap year.
constexpr std::int64_t days_before(int year) {
  constexpr auto leap_years_until = [](int y) { return y / 4 - y / 100 + y / 400; };
  return std::int64_t{365} * (year - 1970) + leap_years_until(year - 1) - leap_years_until(1969);
}

struct Date {
  int year = 1970, month = 1, day = 1;

  bool exists() const {
    return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month);
  }
  std::int64_t days() const {
    std::int64_t sum = days_before(year) + day - 1;
    for (int m = 1; m < month; ++m) sum += days_in(year, m);
    return sum;
  }
};

inline Date date_of(std::int64_t days) {
  Date date{.year = static_cast<int>(1970 + days / 366)};  // between 1970 and the year …
  while (days_before(date.year) > days) --date.year;
  while (days_before(date.year + 1) <= days) ++date.year;  // … and now it is the year
  days -= days_before(date.year);
  for (; days >= days_in(date.year, date.month); ++date.month)
    days -= days_in(date.year, date.month);
  date.day = static_cast<int>(days + 1);
  return date;
}

constexpr std::int64_t nanos_per_second = 1'000'000'000;
constexpr std::int64_t seconds_per_day = 86'400;

/// A moment, in nanoseconds since 1970, as a day since 1970 and nanoseconds since its midnight.
struct DayTime {
  std::int64_t days = 0;
  std::int64_t nanoseconds = 0;
};
constexpr DayTime day_time_of(std::int64_t moment) {
  constexpr std::int64_t day = seconds_per_day * nanos_per_second;
  const std::int64_t days = moment / day - (moment % day < 0 ? 1 : 0);
  // Not moment − days·day, which the earliest moments would make overflow.
  const std::int64_t rest = moment % day;
  return {days, rest < 0 ? rest + day : rest};
}

constexpr std::array<std::string_view, 12> month_names{
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> weekday_names{
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

/// With zeros in front, at least so many digits.
inline std::string padded(std::int64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
  return text;
}

}  // namespace kalstream

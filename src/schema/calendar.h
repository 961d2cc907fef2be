// Days and dates, as the Gregorian calendar has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

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

}  // namespace kalstream

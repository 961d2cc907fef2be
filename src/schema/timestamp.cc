#include "schema/timestamp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "schema/calendar.h"
#include "schema/text_rest.h"
#include "schema/value.h"

namespace kalstream {
namespace {

/// A time stamp while it is read.
struct Reading {
  TimeForm form = TimeForm::none;  // that it is written in, once that is known
  bool sure = true;
  Date date;
  bool has_date = false;
  bool has_clock = false;
  bool zoned = false;
  std::int64_t seconds = 0;  // since midnight; zones may make it negative
  std::int64_t nanoseconds = 0;
};

bool take_month(TextRest& rest, int& month) {
  for (std::size_t k = 0; k < month_names.size(); ++k)
    if (rest.take_word(month_names[k], 3)) {
      month = static_cast<int>(k + 1);
      return true;
    }
  return false;
}

/// Which day of the week it is goes without saying, so it is not checked.
void skip_weekday(TextRest& rest) {
  for (const std::string_view name : weekday_names)
    if (rest.take_word(name, 3)) {
      rest.take(',');
      rest.take_blanks();
      return;
    }
}

/// Z, UTC, GMT, +02:00, +0200 or +02, perhaps with a blank before it. True if there is none.
bool read_zone(TextRest& rest, Reading& r) {
  const TextRest before = rest;
  rest.take_blanks();
  if (rest.take_word("z") || rest.take_word("utc") || rest.take_word("gmt")) {
    r.zoned = true;
    return true;
  }
  char sign = 0;
  if (!rest.take_one_of("+-", sign)) {
    rest = before;
    return true;
  }
  int hours = 0;
  int minutes = 0;
  if (!rest.take_digits(2, hours)) return false;
  if (rest.take(':') ? !rest.take_number(2, 2, minutes)
                     : rest.digits() > 0 && !rest.take_number(2, 2, minutes))
    return false;
  if (hours > 15 || minutes > 59) return false;
  const int ahead = (hours * 60 + minutes) * 60;
  r.seconds -= sign == '+' ? ahead : -ahead;
  r.zoned = true;
  return true;
}

/// AM or PM, perhaps with a blank before it. True if there is neither.
bool read_half(TextRest& rest, int& hour) {
  const TextRest before = rest;
  rest.take_blanks();
  const bool am = rest.take_word("am");
  if (!am && !rest.take_word("pm")) {
    rest = before;
    return true;
  }
  if (hour < 1 || hour > 12) return false;
  hour = hour % 12 + (am ? 0 : 12);
  return true;
}

/// 12:30, 12:30:00.5, 12.30.00, 123000, 12:30 PM; all with a zone. `after_date` allows 12 and 1230.
bool read_clock(TextRest& rest, Reading& r, bool after_date) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  bool has_seconds = true;
  const std::size_t digits = rest.digits();
  if (digits == 1 || digits == 2) {
    rest.take_number(1, 2, hour);
    char mark = 0;
    if (!rest.take_one_of(":.", mark)) {
      if (!after_date || digits != 2) return false;
      has_seconds = false;
    } else {
      if (!rest.take_number(2, 2, minute)) return false;
      has_seconds = rest.take(mark);
      if (has_seconds && !rest.take_number(2, 2, second)) return false;
      // 12.30 is a number, 1.30.00 a version, and 12.30.00.1 an address.
      if (mark == '.' && (!has_seconds || digits != 2 || rest.front() == '.')) return false;
    }
  } else if (after_date && (digits == 4 || digits == 6)) {
    rest.take_digits(2, hour);
    rest.take_digits(2, minute);
    has_seconds = digits == 6;
    if (has_seconds) rest.take_digits(2, second);
  } else {
    return false;
  }
  char mark = 0;
  if (has_seconds && rest.take_one_of(".,", mark) &&
      !rest.take_fraction(nanos_per_second, r.nanoseconds))
    return false;
  if (!read_half(rest, hour)) return false;
  const bool midnight = hour == 24 && minute == 0 && second == 0 && r.nanoseconds == 0;
  if ((hour > 23 && !midnight) || minute > 59 || second > 60) return false;
  r.seconds += (hour * 60 + minute) * 60 + second;
  r.has_clock = true;
  return read_zone(rest, r);
}

/// The clock that may follow a date: 2024-01-31T12:30, 31.01.2024 12:30, 1/31/2024, 12:30 PM.
bool read_clock_after(TextRest& rest, Reading& r) {
  if (rest.empty()) return true;
  char mark = 0;
  const bool comma = rest.take(',');
  const bool separated = rest.take_blanks() || (!comma && rest.take_one_of("Tt", mark));
  return separated && read_clock(rest, r, true);
}

/// 2024-01-31, 2024/1/31, 2024.01.31, 2024-Jan-31, 2024-01.
bool read_year_first(TextRest& rest, Reading& r) {
  char mark = 0;
  r.form = TimeForm::year_first;
  if (!rest.take_digits(4, r.date.year) || !rest.take_one_of("-/.", mark)) return false;
  const std::size_t digits = rest.digits();
  if (!rest.take_number(1, 2, r.date.month) && !take_month(rest, r.date.month)) return false;
  if (rest.empty()) return mark == '-' && digits == 2;
  return rest.take(mark) && rest.take_number(1, 2, r.date.day) && read_clock_after(rest, r);
}

/// 20240131, 20240131T123000, 20240131123000. Only years of our time: it could be any number.
bool read_digits(TextRest& rest, Reading& r) {
  r.form = TimeForm::year_first;
  const std::size_t digits = rest.digits();
  rest.take_digits(4, r.date.year);
  rest.take_digits(2, r.date.month);
  rest.take_digits(2, r.date.day);
  if (r.date.year < 1900 || r.date.year > 2100) return false;
  return digits == 8 ? read_clock_after(rest, r) : read_clock(rest, r, true);
}

/// 31 Jan 2024, 31-Jan-2024, 31/Jan/2024:12:34:56, 31. January 2024; the day has been read.
bool read_month_after_day(TextRest& rest, Reading& r, char mark) {
  r.form = TimeForm::day_first;
  if (!take_month(rest, r.date.month)) return false;
  if (mark == ' ') {
    rest.take('.');
    rest.take(',');
    if (!rest.take_blanks()) return false;
  } else if (!rest.take(mark)) {
    return false;
  }
  if (!rest.take_number(4, 4, r.date.year)) return false;
  return rest.take(':') ? read_clock(rest, r, false) : read_clock_after(rest, r);
}

/// 31.01.2024, 31/01/2024, 01/31/2024. With points, the day is always first; else `wanted` says
/// which it is, or what is possible, or else the month.
bool read_year_last(TextRest& rest, Reading& r, TimeForm wanted) {
  int first = 0;
  int second = 0;
  char mark = 0;
  if (!rest.take_number(1, 2, first)) return false;
  if (!rest.take_one_of("-/. ", mark)) return false;
  const bool point = mark == '.';
  if (point && rest.take_blanks()) mark = ' ';
  if (mark == ' ') rest.take_blanks();
  if (is_letter(rest.front())) {
    r.date.day = first;
    return read_month_after_day(rest, r, mark);
  }
  if (mark == ' ') return false;
  if (!rest.take_number(1, 2, second) || !rest.take(mark) || !rest.take_number(4, 4, r.date.year))
    return false;
  if (wanted == TimeForm::day_first || wanted == TimeForm::month_first)
    r.form = point ? TimeForm::day_first : wanted;
  else
    r.form = point || first > 12 ? TimeForm::day_first : TimeForm::month_first;
  r.sure = point || first > 12 || second > 12;
  r.date.day = r.form == TimeForm::day_first ? first : second;
  r.date.month = r.form == TimeForm::day_first ? second : first;
  return read_clock_after(rest, r);
}

/// Jan 31, 2024 12:30; and as C writes it, Jan 31 12:34:56 2024.
bool read_month_name_first(TextRest& rest, Reading& r) {
  r.form = TimeForm::month_first;
  if (!take_month(rest, r.date.month)) return false;
  rest.take('.');
  if (!rest.take_blanks() || !rest.take_number(1, 2, r.date.day)) return false;
  const bool comma = rest.take(',');
  if (!rest.take_blanks()) return false;
  if (rest.take_number(4, 4, r.date.year)) return read_clock_after(rest, r);
  return !comma && read_clock(rest, r, false) && rest.take_blanks() &&
         rest.take_number(4, 4, r.date.year);
}

/// The whole text as a time stamp, of the form `wanted`, or of whatever form if that is none.
bool read(std::string_view text, TimeForm wanted, Reading& r) {
  constexpr std::size_t longest = 64;
  TextRest rest(trim(text));
  if (text.size() > longest) return false;
  const std::size_t digits = rest.digits();
  TextRest clock = rest;
  if (digits <= 2 && digits > 0 && read_clock(clock, r, false) && clock.empty()) return true;
  r = {.has_date = true};
  bool found = false;
  if (digits == 0) skip_weekday(rest);
  if (digits == 4)
    found = read_year_first(rest, r);
  else if (digits == 8 || digits == 14)
    found = read_digits(rest, r);
  else if (is_digit(rest.front()))
    found = read_year_last(rest, r, wanted);
  else
    found = read_month_name_first(rest, r);
  if (!found || !rest.empty() || !r.date.exists()) return false;
  return wanted == TimeForm::none || wanted == r.form;
}

/// Nothing for moments that nanoseconds cannot count to: those before 1677 and after 2262.
std::optional<Timestamp> moment_of(const Reading& r) {
  constexpr std::int64_t last_day =
      std::numeric_limits<std::int64_t>::max() / nanos_per_second / seconds_per_day - 2;
  const std::int64_t days = r.has_date ? r.date.days() : 0;
  if (days < -last_day || days > last_day) return {};
  return Timestamp{
      .nanoseconds = (days * seconds_per_day + r.seconds) * nanos_per_second + r.nanoseconds,
      .zoned = r.zoned,
      .has_date = r.has_date,
      .has_clock = r.has_clock};
}

bool is_text_form(TimeForm form) {
  return form == TimeForm::year_first || form == TimeForm::day_first ||
         form == TimeForm::month_first;
}

}  // namespace

std::int64_t unit_of(TimeForm form) {
  return form == TimeForm::seconds        ? nanos_per_second
         : form == TimeForm::milliseconds ? nanos_per_second / 1'000
         : form == TimeForm::microseconds ? nanos_per_second / 1'000'000
         : form == TimeForm::nanoseconds  ? 1
                                          : 0;
}

std::optional<Timestamp> parse_time(std::string_view text, TimeForm form) {
  Reading r;
  if (!is_text_form(form) || !read(text, form, r)) return {};
  return moment_of(r);
}

std::optional<FoundForm> form_of(std::string_view text) {
  Reading r;
  if (!read(text, TimeForm::none, r) || !moment_of(r)) return {};
  return FoundForm{.form = r.has_date ? r.form : TimeForm::year_first, .sure = r.sure};
}

std::optional<TimeForm> epoch_form_of(double number) {
  constexpr auto first = static_cast<double>(days_before(1990) * seconds_per_day);
  constexpr auto end = static_cast<double>(days_before(2100) * seconds_per_day);
  for (const TimeForm form :
       {TimeForm::seconds, TimeForm::milliseconds, TimeForm::microseconds, TimeForm::nanoseconds}) {
    const double seconds =
        number * static_cast<double>(unit_of(form)) / static_cast<double>(nanos_per_second);
    if (seconds >= first && seconds < end) return form;
  }
  return {};
}

std::optional<Timestamp> time_of(double number, TimeForm form) {
  const std::int64_t unit = unit_of(form);
  if (unit == 0 || !std::isfinite(number)) return {};
  const double whole = std::floor(number);
  const double limit =
      static_cast<double>(std::numeric_limits<std::int64_t>::max()) / static_cast<double>(unit) - 2;
  if (std::abs(whole) >= limit) return {};
  // Apart from each other, since a double has no room for both.
  const double part = std::round((number - whole) * static_cast<double>(unit));
  return Timestamp{
      .nanoseconds = static_cast<std::int64_t>(whole) * unit + static_cast<std::int64_t>(part),
      .zoned = true};
}

std::string iso_text(std::int64_t nanoseconds) {
  const auto [days, time] = day_time_of(nanoseconds);
  const Date date = date_of(days);
  const std::int64_t seconds = time / nanos_per_second;
  std::string text = padded(date.year, 4) + '-' + padded(date.month, 2) + '-' +
                     padded(date.day, 2) + 'T' + padded(seconds / 3600, 2) + ':' +
                     padded(seconds / 60 % 60, 2) + ':' + padded(seconds % 60, 2);
  if (const std::int64_t fraction = time % nanos_per_second; fraction > 0) {
    text += '.' + padded(fraction, 9);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + 'Z';
}

}  // namespace kalstream

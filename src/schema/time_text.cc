#include <algorithm>
#include <array>
#include <cmath>

#include "core/number_in.h"
#include "schema/calendar.h"
#include "schema/text_rest.h"
#include "schema/timestamp.h"
#include "schema/value.h"

namespace kalstream {
namespace {

// Whether the word is one of the names, or its first three letters.
bool is_one_of(std::string_view word, auto names) {
  const std::string small = lower_case(word);
  return std::ranges::any_of(names, [&](std::string_view name) {
    const std::string whole = lower_case(name);
    return small == whole || small == whole.substr(0, 3);
  });
}

// The name as long as the example is, and in its letters.
std::string like(std::string_view example, std::string_view name) {
  std::string text(example.size() == 3 ? name.substr(0, 3) : name);
  if (lower_case(example) == example) return lower_case(text);
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  if (std::ranges::none_of(example, is_small))
    for (char& c : text)
      if (is_small(c)) c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::size_t decimals_of(std::string_view number) {
  const std::size_t point = number.find_first_of(".,");
  return point == number.npos ? 0 : number.size() - point - 1;
}

std::string number_text(std::int64_t moment, std::int64_t unit, std::size_t decimals) {
  const bool negative = moment < 0;
  const auto size =
      negative ? -static_cast<std::uint64_t>(moment) : static_cast<std::uint64_t>(moment);
  const auto in_unit = static_cast<std::uint64_t>(unit);
  std::string text = (negative ? "-" : "") + std::to_string(size / in_unit);
  std::string rest = std::to_string(size % in_unit);
  const std::size_t places = std::to_string(unit).size() - 1;
  rest.insert(0, places - std::min(places, rest.size()), '0');
  if (places == 0) rest.clear();
  rest.resize(std::max(decimals, rest.find_last_not_of('0') + 1), '0');
  return rest.empty() ? text : text + '.' + rest;
}

// +02:00, -0530 or +02, in nanoseconds; 0 if there is none.
std::int64_t zone_of(std::string_view text) {
  TextRest rest(text);
  char sign = 0;
  int hours = 0;
  int minutes = 0;
  if (!rest.take_one_of("+-", sign) || !rest.take_digits(2, hours)) return 0;
  rest.take(':');
  if (rest.digits() == 2) rest.take_digits(2, minutes);
  const std::int64_t ahead = (hours * 60 + minutes) * 60 * nanos_per_second;
  return sign == '+' ? ahead : -ahead;
}

}  // namespace

std::optional<std::int64_t> tick_of(std::string_view number) {
  constexpr double largest = 9e9;
  const auto value = number_in<double>(number);
  if (!value || !(std::abs(*value) <= largest)) return {};
  return std::llround(*value * static_cast<double>(nanos_per_second));
}

TimeText::TimeText(std::string_view example, std::int64_t moment, TimeForm form) : form_(form) {
  example = trim(example);
  if (form >= TimeForm::seconds) {
    decimals_ = decimals_of(example);
    return;
  }
  for (const bool year_last : {false, true}) {
    parts_.clear();
    zone_ = 0;
    if (!split(example, form, year_last)) continue;
    // 2024/1/31 is followed by 2024/2/1: one number without a zero before it speaks for both.
    const auto is_date = [](const Part& p) { return p.what == What::month || p.what == What::day; };
    const auto is_short = [&](const Part& p) { return is_date(p) && p.text.size() == 1; };
    if (std::ranges::any_of(parts_, is_short))
      for (Part& part : parts_)
        if (is_date(part)) part.text.resize(1);
    if (write(moment) == example) return;
  }
  parts_.clear();
}

bool TimeText::has(What what) const {
  return std::ranges::any_of(parts_, [&](const Part& part) { return part.what == what; });
}

// Into digits, words and what is between; the clock comes after the date, or (as C writes it)
// between day and year.
bool TimeText::split(std::string_view text, TimeForm form, bool year_last) {
  std::vector<What> expected{What::year, What::month, What::day};
  if (form == TimeForm::day_first) expected = {What::day, What::month, What::year};
  if (form == TimeForm::month_first) expected = {What::month, What::day, What::year};
  constexpr std::array clock{What::hour, What::minute, What::second, What::fraction};
  expected.insert(year_last ? expected.end() - 1 : expected.end(), clock.begin(), clock.end());
  while (!text.empty()) {
    const auto run = [&](auto holds) {
      std::size_t n = 0;
      while (n < text.size() && holds(text[n])) ++n;
      const std::string_view taken = text.substr(0, n);
      text.remove_prefix(n);
      return taken;
    };
    const bool after_clock = has(What::hour);
    if (after_clock && (text.front() == '+' || text.front() == '-')) {
      zone_ = zone_of(text);
      parts_.push_back({What::literal, std::string(text)});
      return true;
    }
    if (is_digit(text.front())) {
      if (!take_digits(run(is_digit), expected)) return false;
    } else if (is_letter(text.front())) {
      const std::string_view word = run(is_letter);
      if (is_one_of(word, month_names)) std::erase(expected, What::month);
      if (!take_word(word)) return false;
    } else {
      // After seconds a point or comma begins a fraction; else the year may follow.
      if (!expected.empty() && expected.front() == What::fraction && text.front() != '.' &&
          text.front() != ',')
        expected.erase(expected.begin());
      parts_.push_back({What::literal, std::string(text.substr(0, 1))});
      text.remove_prefix(1);
    }
  }
  return true;
}

bool TimeText::take_word(std::string_view word) {
  const std::string small = lower_case(word);
  What what = What::literal;
  if (is_one_of(word, weekday_names))
    what = What::weekday_name;
  else if (is_one_of(word, month_names))
    what = What::month_name;
  else if (small == "am" || small == "pm")
    what = What::half;
  else if (small != "t" && small != "z" && small != "utc" && small != "gmt")
    return false;
  if (what == What::half)
    for (Part& part : parts_)
      if (part.what == What::hour) part.what = What::hour_of_half;
  parts_.push_back({what, std::string(word)});
  return true;
}

// One field, or several where nothing is between them: 20240131, 123000.
bool TimeText::take_digits(std::string_view digits, std::vector<What>& expected) {
  while (!digits.empty()) {
    if (expected.empty()) return false;
    const What what = expected.front();
    expected.erase(expected.begin());
    const std::size_t usual = what == What::year ? 4 : 2;
    const std::size_t size =
        what == What::fraction || digits.size() < usual ? digits.size() : usual;
    parts_.push_back({what, std::string(digits.substr(0, size))});
    digits.remove_prefix(size);
  }
  return true;
}

std::string TimeText::write(std::int64_t moment) const {
  if (form_ >= TimeForm::seconds)
    return number_text(moment, form_ == TimeForm::number ? nanos_per_second : unit_of(form_),
                       decimals_);
  if (parts_.empty()) return iso_text(moment);
  const auto [days, time] = day_time_of(moment + zone_);
  const Date date = date_of(days);
  const std::int64_t seconds = time / nanos_per_second;
  const std::int64_t hour = seconds / 3600;
  constexpr std::int64_t first_monday = 4;  // 1970-01-05
  const auto weekday = static_cast<std::size_t>(((days - first_monday) % 7 + 7) % 7);
  const auto month = static_cast<std::size_t>(date.month - 1);
  // In the order of What, from the year to the second.
  const std::array<std::int64_t, 7> numbers{
      date.year, date.month, date.day, hour, (hour + 11) % 12 + 1, seconds / 60 % 60, seconds % 60};
  std::string text;
  for (const auto& [what, example] : parts_) {
    if (what <= What::second)
      text += padded(numbers[static_cast<std::size_t>(what)], example.size());
    else if (what == What::fraction)
      text += padded(time % nanos_per_second, 9).substr(0, example.size());
    else if (what == What::half)
      text += like(example == "AM" || example == "PM" ? "XX" : "xx", hour < 12 ? "am" : "pm");
    else if (what == What::month_name)
      text += like(example, month_names[month]);
    else if (what == What::weekday_name)
      text += like(example, weekday_names[weekday]);
    else
      text += example;
  }
  return text;
}

}  // namespace kalstream

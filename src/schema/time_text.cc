#include "schema/time_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "schema/calendar.h"
#include "schema/text_rest.h"
#include "schema/value.h"

namespace kalstream {
namespace {

constexpr std::int64_t a_second = 1'000'000'000;
constexpr std::int64_t a_day = 86'400 * a_second;

constexpr std::array<std::string_view, 12> month_names{
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> weekday_names{
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

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

std::string padded(std::int64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  if (text.size() < digits) text.insert(0, digits - text.size(), '0');
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
  const std::int64_t ahead = (hours * 60 + minutes) * 60 * a_second;
  return sign == '+' ? ahead : -ahead;
}

}  // namespace

std::optional<std::int64_t> tick_of(std::string_view number) {
  double value = 0;
  const char* const end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, value);
  constexpr double largest = 9e9;
  if (error != std::errc() || rest != end || !(std::abs(value) <= largest)) return {};
  return std::llround(value * static_cast<double>(a_second));
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
    return number_text(moment, form_ == TimeForm::number ? a_second : unit_of(form_), decimals_);
  if (parts_.empty()) return iso_text(moment);
  const std::int64_t local = moment + zone_;
  std::int64_t days = local / a_day;
  if (local % a_day < 0) --days;
  const std::int64_t time = local - days * a_day;
  const Date date = date_of(days);
  const std::int64_t hour = time / a_second / 3600;
  constexpr std::int64_t first_monday = 4;  // 1970-01-05
  const auto weekday = static_cast<std::size_t>(((days - first_monday) % 7 + 7) % 7);
  std::string text;
  for (const Part& part : parts_) {
    const std::size_t size = part.text.size();
    switch (part.what) {
      case What::literal:
        text += part.text;
        break;
      case What::year:
        text += padded(date.year, size);
        break;
      case What::month:
        text += padded(date.month, size);
        break;
      case What::day:
        text += padded(date.day, size);
        break;
      case What::hour:
        text += padded(hour, size);
        break;
      case What::hour_of_half:
        text += padded((hour + 11) % 12 + 1, size);
        break;
      case What::minute:
        text += padded(time / a_second / 60 % 60, size);
        break;
      case What::second:
        text += padded(time / a_second % 60, size);
        break;
      case What::fraction:
        text += padded(time % a_second, 9).substr(0, size);
        break;
      case What::half:
        text += like(part.text == "AM" || part.text == "PM" ? "XX" : "xx", hour < 12 ? "am" : "pm");
        break;
      case What::month_name:
        text += like(part.text, month_names[static_cast<std::size_t>(date.month - 1)]);
        break;
      case What::weekday_name:
        text += like(part.text, weekday_names[weekday]);
        break;
    }
  }
  return text;
}

}  // namespace kalstream

// Numbers for people.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "view/table.h"

namespace kalstream::view {
namespace {

/// %g writes "1.000e-05" and "1234."; people do not.
std::string tidy(std::string number) {
  std::string exponent;
  if (const auto e = number.find('e'); e != std::string::npos) {
    exponent = "e" + std::to_string(std::stoi(number.substr(e + 1)));
    number.resize(e);
  }
  if (number.ends_with('.')) number.pop_back();
  return number + exponent;
}

/// `digits` significant digits of 0 ≤ value < 1000, without zeros after the point for whole values.
std::string short_decimal(double value, int digits) {
  if (value == std::floor(value)) return fmt::format("{:.0f}", value);
  const int before_point = value >= 100 ? 3 : value >= 10 ? 2 : 1;
  return fmt::format("{:.{}f}", value, std::max(digits - before_point, 0));
}

std::string two_units(std::int64_t count, std::int64_t per_unit, const char* large,
                      const char* small) {
  return fmt::format("{} {} {} {}", count / per_unit, large, count % per_unit, small);
}

}  // namespace

std::string format_number(double value, int digits) {
  if (std::isnan(value)) return "n/a";
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  // Below a million whole digits are all written, "1300" and not "1.30e3", and no others where
  // these are enough: from 999.95 on four digits have none after the point.
  const double whole = std::pow(10.0, std::max(digits, 1) - 1) - 0.05;
  if (std::abs(value) >= whole && std::abs(value) < 999999.5) return fmt::format("{:.0f}", value);
  return tidy(fmt::format("{:#.{}g}", value, std::max(digits, 1)));
}

std::string format_seconds(double seconds) {
  constexpr double longest = 1e12;
  if (!(seconds >= 0 && seconds <= longest)) return "n/a";
  if (seconds == 0) return "0 s";
  if (seconds < 0.9995e-3) return short_decimal(std::round(seconds * 1e7) / 10, 3) + " µs";
  if (seconds < 0.9995) return short_decimal(std::round(seconds * 1e4) / 10, 3) + " ms";
  if (seconds < 9.95) return short_decimal(std::round(seconds * 10) / 10, 2) + " s";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return two_units(whole, 60, "m", "s");
  if (whole < 86400) return two_units(whole / 60, 60, "h", "m");
  return two_units(whole / 3600, 24, "d", "h");
}

std::string format_count(double count) {
  if (!std::isfinite(count)) return format_number(count);
  if (std::abs(count) < 999.5) return fmt::format("{:.0f}", count);
  constexpr std::array units = {"k", "M", "G", "T"};
  std::size_t unit = 0;
  double scaled = count / 1000;
  // 999.5 and not 1000: what rounds to 1000 belongs to the next unit.
  for (; std::abs(scaled) >= 999.5 && unit + 1 < units.size(); ++unit) scaled /= 1000;
  const double size = std::abs(scaled);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", scaled, decimals, units[unit]);
}

}  // namespace kalstream::view

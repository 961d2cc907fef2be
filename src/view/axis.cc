#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "view/svg.h"
#include "view/table.h"

namespace kalstream::view {

// ---- Numbers ------------------------------------------------------------------------------------

namespace {

std::string superscript(int exponent) {
  constexpr std::array digits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char c : std::to_string(std::abs(exponent)))
    text += digits[static_cast<std::size_t>(c - '0')];
  return text;
}

int exponent_of(double value) {
  return static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
}

/// "12 345.60", with a real minus.
std::string plain_number(double value, int decimals) {
  if (value == 0) return "0";
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t whole = std::min(text.find('.'), text.size());
  if (whole > 4)
    for (std::size_t at = whole; at > 3;) text.insert(at -= 3, "\u2009");
  return (value < 0 ? "−" : "") + text;
}

std::string scientific(double value, int decimals) {
  if (value == 0) return "0";
  const int exponent = exponent_of(value);
  const double mantissa = value / std::pow(10.0, exponent);
  return plain_number(mantissa, decimals) + "×10" + superscript(exponent);
}

}  // namespace

std::string internal::value_label(double value) {
  constexpr int digits = 3;
  return value < 0 ? "−" + format_number(-value, digits) : format_number(value, digits);
}

// ---- Ticks --------------------------------------------------------------------------------------

namespace {

/// 1, 2 or 5 times a power of ten, and not below `least`.
double round_step(double least) {
  const double power = std::pow(10.0, exponent_of(least));
  for (const double m : {1.0, 2.0, 5.0})
    if (m * power >= least * (1 - 1e-9)) return m * power;
  return 10 * power;
}

std::vector<Tick> linear_ticks(double low, double high, int wanted) {
  const double step = round_step((high - low) / std::max(wanted, 1));
  const double first = std::ceil(low / step - 1e-6);
  const double last = std::floor(high / step + 1e-6);
  const double largest = std::max(std::abs(first), std::abs(last)) * step;
  const int digits_apart = exponent_of(largest > 0 ? largest : step) - exponent_of(step);
  const bool plain = largest < 1e6 ? largest >= 1e-3 : digits_apart > 3;

  std::vector<Tick> ticks;
  for (int i = 0; first + i <= last && i <= 2 * wanted; ++i) {
    const double value = first + i == 0 ? 0 : (first + i) * step;  // never −0
    const int decimals = plain        ? std::max(-exponent_of(step), 0)
                         : value == 0 ? 0
                                      : std::max(exponent_of(value) - exponent_of(step), 0);
    ticks.push_back({value, plain ? plain_number(value, decimals) : scientific(value, decimals)});
  }
  return ticks;
}

/// mantissa·10ⁿ in [low, high], for every `stride`-th n.
template <std::size_t size>
std::vector<Tick> decade_ticks(double low, double high, const std::array<int, size>& mantissas,
                               int stride) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const bool plain = low >= 0.9e-4 && high <= 1.1e5;
  std::vector<Tick> ticks;
  for (int n = first; n <= last; ++n) {
    if (n % stride != 0) continue;
    for (const int m : mantissas) {
      const double value = m * std::pow(10.0, n);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      const std::string power = "10" + superscript(n);
      const std::string label = plain    ? plain_number(value, std::max(-n, 0))
                                : m == 1 ? power
                                         : fmt::format("{}×{}", m, power);
      ticks.push_back({value, label});
    }
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high, int wanted) {
  constexpr std::array one = {1};
  constexpr std::array one_two_five = {1, 2, 5};
  const double decades = std::log10(high) - std::log10(low);
  std::vector<Tick> ticks;
  if (decades > 3 || 3 * decades > 1.5 * wanted) {
    int stride = static_cast<int>(std::ceil(decades / wanted));
    do {
      ticks = decade_ticks(low, high, one, stride);
    } while (ticks.size() < 2 && --stride > 0);
  }
  if (ticks.size() < 2) ticks = decade_ticks(low, high, one_two_five, 1);
  if (ticks.size() < 3 && decades < 1) ticks = linear_ticks(low, high, wanted);
  return ticks;
}

}  // namespace

std::vector<Tick> make_ticks(double low, double high, Scale scale, int wanted) {
  return scale == Scale::log ? log_ticks(low, high, wanted) : linear_ticks(low, high, wanted);
}

// ---- Axes ---------------------------------------------------------------------------------------

namespace internal {

double on_scale(Scale scale, double value) {
  constexpr double limit = 1e300;
  if (!(std::abs(value) < limit)) return kNone;
  if (scale == Scale::linear) return value;
  return value > 1 / limit ? std::log10(value) : kNone;
}

void Range::include(double value) {
  const double u = on_scale(scale, value);
  if (std::isnan(u)) return;
  low = std::min(low, u);
  high = std::max(high, u);
}

Range Range::settled(double padding) const {
  constexpr double largest_exponent = 305;
  if (empty()) return {scale, 0, 1};
  const double size = std::max(std::abs(low), std::abs(high));
  if (high - low <= 1e-9 * size || high == low) {
    const double half = scale == Scale::log ? 0.5 : size > 0 ? 0.1 * size : 1;
    return {scale, low - half, high + half};
  }
  const double more = padding * (high - low);
  if (scale == Scale::log)
    return {scale, std::max(low - more, -largest_exponent),
            std::min(high + more, largest_exponent)};
  const bool stays_positive = low >= 0 && low < more;
  return {scale, stays_positive ? 0 : low - more, high + more};
}

double Range::value_at(double u) const { return scale == Scale::log ? std::pow(10.0, u) : u; }

std::vector<Tick> Range::ticks(int wanted) const {
  return make_ticks(value_at(low), value_at(high), scale, wanted);
}

double Axis::at(double value) const {
  constexpr double far = 1e5;
  const double u = on_scale(range.scale, value);
  const double t = (u - range.low) / (range.high - range.low);
  return std::isnan(u) ? kNone : std::clamp(from + t * (to - from), -far, far);
}

std::vector<Tick> Axis::ticks_across() const {
  constexpr double spacing = 10;
  for (int wanted = std::max(static_cast<int>((to - from) / 48), 2);; --wanted) {
    auto ticks = range.ticks(wanted);
    double free_from = -std::numeric_limits<double>::infinity();
    bool fits = true;
    for (const Tick& tick : ticks) {
      const double half = text_width(tick.label) / 2;
      fits &= at(tick.value) - half >= free_from;
      free_from = at(tick.value) + half + spacing;
    }
    if (fits || wanted <= 2) return ticks;
  }
}

int ticks_upwards(double height) { return std::max(static_cast<int>(height / 32), 2); }

}  // namespace internal
}  // namespace kalstream::view

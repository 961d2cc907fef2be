#include <algorithm>
#include <cmath>

#include "view/svg.h"
#include "view/table.h"

namespace kalstream::view {
namespace {

using internal::Range;

// What stands in a place of the chart, if not a line by its number.
constexpr int empty = -2;
constexpr int band = -1;

/// The place of a value among 0, 1, … places − 1.
std::size_t place_of(double v, const Range& range, std::size_t places) {
  const double part = range.high > range.low ? (v - range.low) / (range.high - range.low) : 0.5;
  return static_cast<std::size_t>(
      std::lround(std::clamp(part, 0.0, 1.0) * static_cast<double>(places - 1)));
}

}  // namespace

std::string text_chart(const Panel& panel, const TextChartStyle& style) {
  Range x;
  Range y;
  for (const Series& s : panel.series)
    for (std::size_t k = 0; k < s.y.size(); ++k) {
      if (std::isfinite(s.y[k])) x.include(internal::x_of(s, k));
      y.include(s.y[k]);
      if (k < s.low.size()) y.include(s.low[k]);
      if (k < s.high.size()) y.include(s.high[k]);
    }
  if (panel.y_low) y.low = *panel.y_low;
  if (panel.y_high) y.high = *panel.y_high;
  if (x.empty() || y.empty()) return "no data\n";

  const std::string top = format_number(y.high, 4);
  const std::string bottom = format_number(y.low, 4);
  const std::size_t margin = std::max(display_width(top), display_width(bottom)) + 1;
  const std::size_t width = std::max<std::size_t>(style.width, margin + 12) - margin - 1;
  const std::size_t height = std::max<std::size_t>(style.height, 3);
  std::vector<int> grid(width * height, empty);
  const auto at = [&](std::size_t column, std::size_t row) -> int& {
    return grid[row * width + column];
  };
  // Between neighbours lie as many columns as it takes; bands first, for lines lie upon them.
  const auto each_column = [&](const Series& s, const auto& draw) {
    for (std::size_t k = 0; k < s.y.size(); ++k) {
      const std::size_t to = place_of(internal::x_of(s, k), x, width);
      const std::size_t from =
          k == 0 ? to : std::min(to, place_of(internal::x_of(s, k - 1), x, width) + 1);
      for (std::size_t column = from; column <= to; ++column) {
        const double part = static_cast<double>(to - column) /
                            static_cast<double>(std::max<std::size_t>(1, to - from + 1));
        draw(column, k, part);
      }
    }
  };
  const auto between = [](const std::vector<double>& v, std::size_t k, double part) {
    return k == 0 || part == 0 ? v[k] : part * v[k - 1] + (1 - part) * v[k];
  };
  for (const Series& s : panel.series)
    each_column(s, [&](std::size_t column, std::size_t k, double part) {
      if (k >= s.low.size() || k >= s.high.size()) return;
      const double low = between(s.low, k, part);
      const double high = between(s.high, k, part);
      if (!std::isfinite(low) || !std::isfinite(high)) return;
      for (std::size_t v = place_of(low, y, height); v <= place_of(high, y, height); ++v)
        at(column, v) = band;
    });
  for (std::size_t n = 0; n < panel.series.size(); ++n)
    each_column(panel.series[n], [&](std::size_t column, std::size_t k, double part) {
      const double value = between(panel.series[n].y, k, part);
      if (value >= y.low && value <= y.high)
        at(column, place_of(value, y, height)) = static_cast<int>(n);
    });

  const auto coloured = [&](const char* code, const char* text) {
    return style.colours ? std::string("\x1b[") + code + 'm' + text + "\x1b[0m" : text;
  };
  std::string text;
  for (std::size_t row = height; row-- > 0;) {
    const std::string& label = row + 1 == height ? top : row == 0 ? bottom : std::string();
    text += std::string(margin - 1 - display_width(label), ' ') + label + " ┤";
    std::string line;
    for (std::size_t column = 0; column < width; ++column) {
      const int what = at(column, row);
      line += what == empty  ? " "
              : what == band ? coloured("2;36", "░")
              : what == 0    ? coloured("2", "·")
                             : coloured("1;36", "•");
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  text += std::string(margin, ' ') + "└";
  for (std::size_t column = 0; column < width; ++column) text += "─";
  text += '\n';
  if (style.left.empty() && style.right.empty()) return text;
  const std::size_t taken = display_width(style.left) + display_width(style.right);
  text += std::string(margin + 1, ' ') + style.left +
          std::string(width > taken ? width - taken : 1, ' ') + style.right + '\n';
  return text;
}

}  // namespace kalstream::view

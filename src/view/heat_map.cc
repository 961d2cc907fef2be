#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "view/chart.h"
#include "view/svg.h"

namespace kalstream::view {
namespace {

using namespace internal;

struct Rgb {
  double r, g, b;
};

/// Viridis at t in [0, 1]: brighter from 0 to 1, also in grey and to colour-blind eyes.
Rgb viridis(double t) {
  constexpr std::array<Rgb, 9> anchors = {{{68, 1, 84},
                                           {71, 45, 123},
                                           {59, 82, 139},
                                           {44, 114, 142},
                                           {33, 145, 140},
                                           {40, 174, 128},
                                           {94, 201, 98},
                                           {173, 220, 48},
                                           {253, 231, 37}}};
  const double at = std::clamp(t, 0.0, 1.0) * (anchors.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(at), anchors.size() - 2);
  const double f = at - static_cast<double>(i);
  const Rgb &a = anchors[i], &b = anchors[i + 1];
  return {a.r + f * (b.r - a.r), a.g + f * (b.g - a.g), a.b + f * (b.b - a.b)};
}

std::string hex(const Rgb& c) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(c.r), std::lround(c.g), std::lround(c.b));
}

const char* ink_on(const Rgb& c) {
  const double luminance = 0.299 * c.r + 0.587 * c.g + 0.114 * c.b;
  return luminance < 125 ? "on-dark" : "on-light";
}

/// Index of the lowest value; map.values.size() when there is none.
std::size_t best_cell(const HeatMap& map) {
  std::size_t best = map.values.size();
  for (std::size_t i = 0; i < map.values.size(); ++i)
    if (!std::isnan(on_scale(Scale::linear, map.values[i])) &&
        (best == map.values.size() || map.values[i] < map.values[best]))
      best = i;
  return best;
}

struct CellGrid {
  Point corner;
  double width = 0;  // of one cell
  double height = 0;
  std::size_t columns = 0;
  std::size_t rows = 0;

  Point at(std::size_t row, std::size_t column) const {
    return {corner.x + static_cast<double>(column) * width,
            corner.y + static_cast<double>(row) * height};
  }
  Point end() const { return at(rows, columns); }
};

void draw_cell(Canvas& canvas, const HeatMap& map, const Range& range, const CellGrid& grid,
               std::size_t index, bool is_best) {
  constexpr double seam = 1;  // the paper between cells
  const Point at = grid.at(index / grid.columns, index % grid.columns);
  const Point middle = {at.x + grid.width / 2, at.y + grid.height / 2 + 4};
  const double value = index < map.values.size() ? map.values[index] : kNone;
  const double width = grid.width - seam;
  const double height = grid.height - seam;
  if (std::isnan(on_scale(Scale::linear, value))) {
    canvas.rectangle(at, width, height, "void");
    if (width >= 12) canvas.text(middle, "×", "muted", Anchor::middle);
    return;
  }
  const Rgb colour = viridis(1 - (value - range.low) / (range.high - range.low));
  canvas.filled_rectangle(at, width, height, hex(colour));
  const std::string label = value_label(value);
  if (text_width(label) + 4 <= width)
    canvas.text(middle, label, std::string(ink_on(colour)) + (is_best ? " strong" : ""),
                Anchor::middle);
  // Inside its bright cell the frame is seen on light and on dark paper.
  if (is_best) canvas.rectangle({at.x + 2, at.y + 2}, width - 4, height - 4, "frame");
}

constexpr double kColourBarGap = 18;  // to the cells
constexpr double kColourBarWidth = 13;

void draw_colour_bar(Canvas& canvas, const HeatMap& map, const Range& range, Point corner,
                     double height) {
  constexpr double width = kColourBarWidth;
  constexpr int strips = 64;
  // From the top, each strip down to the bottom: where they overlap there are no seams.
  for (int i = 0; i < strips; ++i) {
    const double t = 1 - (i + 0.5) / strips;
    const double top = height * i / strips;
    canvas.filled_rectangle({corner.x, corner.y + top}, width, height - top, hex(viridis(1 - t)));
  }
  const Axis y{range, corner.y + height, corner.y};
  const auto ticks = range.ticks(ticks_upwards(height));
  for (const Tick& tick : ticks) {
    canvas.line({corner.x + width, y.at(tick.value)}, {corner.x + width + 4, y.at(tick.value)},
                "axis");
    canvas.text({corner.x + width + 7, y.at(tick.value) + 4}, tick.label, "muted");
  }
  canvas.text({corner.x + width + widest(ticks, &Tick::label) + 20, corner.y + height / 2},
              fitted(map.value_label, height), "", Anchor::middle, -90);
}

/// Labels below the columns, slanted where they would touch; returns the height they take.
double draw_column_labels(Canvas& canvas, const HeatMap& map, const CellGrid& grid) {
  constexpr double slant = 40;  // degrees
  constexpr double longest = 110;
  const bool slanted = widest(map.x_ticks) > grid.width - 6;
  double height = slanted ? 0 : 20;
  for (std::size_t c = 0; c < grid.columns; ++c) {
    const double x = grid.at(0, c).x + grid.width / 2;
    if (!slanted) {
      canvas.text({x, grid.end().y + 16}, map.x_ticks[c], "muted", Anchor::middle);
      continue;
    }
    const std::string label = fitted(map.x_ticks[c], longest);
    canvas.text({x + 4, grid.end().y + 13}, label, "muted", Anchor::end, -slant);
    height = std::max(height, 18 + text_width(label) * std::sin(slant * M_PI / 180));
  }
  return height;
}

}  // namespace

std::string heat_map(const HeatMap& map, const ChartStyle& style) {
  const double width = chart_width(style);
  Canvas canvas;
  const double top = draw_titles(canvas, style, width);
  if (map.x_ticks.empty() || map.y_ticks.empty()) {
    canvas.text({width / 2, top + 24}, "no data", "muted", Anchor::middle);
    return canvas.document(style, width, top + 48);
  }

  Range range;
  for (const double value : map.values) range.include(value);
  range = range.settled(0);
  const double row_labels = std::min(widest(map.y_ticks), 0.25 * width);
  const double left = kMargin + row_labels + 8 + (map.y_label.empty() ? 0 : 20);
  const double bar_room = kColourBarGap + kColourBarWidth + widest(range.ticks(6), &Tick::label) +
                          10 + (map.value_label.empty() ? 0 : 18);

  CellGrid grid{{left, top}, 0, 0, map.x_ticks.size(), map.y_ticks.size()};
  grid.width =
      std::max((width - kMargin - bar_room - left) / static_cast<double>(grid.columns), 4.0);
  // Few rows get taller cells, so that the colour bar has room for its ticks.
  const double lowest = std::max(18.0, 160 / static_cast<double>(grid.rows));
  grid.height = std::clamp(0.62 * grid.width, lowest, std::max(lowest, 44.0));

  const std::size_t best = best_cell(map);
  for (std::size_t i = 0; i < grid.columns * grid.rows; ++i)
    draw_cell(canvas, map, range, grid, i, i == best);
  for (std::size_t r = 0; r < grid.rows; ++r)
    canvas.text({left - 7, grid.at(r, 0).y + grid.height / 2 + 4},
                fitted(map.y_ticks[r], row_labels + 1), "muted", Anchor::end);
  const double bottom = grid.end().y + draw_column_labels(canvas, map, grid);
  const Point middle = {(left + grid.end().x) / 2, (top + grid.end().y) / 2};
  canvas.text({middle.x, bottom + 17}, fitted(map.x_label, width - 2 * kMargin), "",
              Anchor::middle);
  canvas.text({kMargin + 11, middle.y}, fitted(map.y_label, grid.end().y - top), "", Anchor::middle,
              -90);
  if (best < map.values.size())
    draw_colour_bar(canvas, map, range, {grid.end().x + kColourBarGap, top},
                    grid.end().y - top - 1);
  return canvas.document(style, width, bottom + (map.x_label.empty() ? 14 : 32));
}

}  // namespace kalstream::view

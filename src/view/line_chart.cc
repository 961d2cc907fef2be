#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "view/chart.h"
#include "view/svg.h"

namespace kalstream::view {
namespace {

using namespace internal;

/// So few points are worth seeing one by one.
constexpr std::size_t kFewPoints = 25;

/// More dots than these would touch, and are smaller.
constexpr std::size_t kManyDots = 400;

/// From the end of a line to its name, and the most room for that.
constexpr double kLeader = 14;
constexpr double kNameWidth = 160;

bool has_band(const Series& series, std::size_t i) {
  return i < series.low.size() && i < series.high.size();
}

Range x_range(const Panel& panel) {
  Range range{panel.x_scale};
  std::size_t longest = 0;
  for (const Series& series : panel.series) {
    longest = std::max(longest, series.y.size());
    for (std::size_t i = 0; i < series.y.size(); ++i) range.include(x_of(series, i));
  }
  // Dots need some room at the edges; lines start at the axis, and a first step of 1 is at zero.
  if (longest <= kFewPoints) return range.settled(0.03);
  if (range.scale == Scale::linear && range.low > 0 && range.low < 0.02 * range.high) range.low = 0;
  return range.settled(0);
}

Range y_range(const Panel& panel) {
  Range data{panel.y_scale};
  for (const Series& series : panel.series)
    for (std::size_t i = 0; i < series.y.size(); ++i) {
      data.include(series.y[i]);
      if (!has_band(series, i)) continue;
      data.include(series.low[i]);
      data.include(series.high[i]);
    }
  constexpr double padding = 0.05;
  Range range = data.settled(padding);
  const double low = on_scale(panel.y_scale, panel.y_low.value_or(kNone));
  const double high = on_scale(panel.y_scale, panel.y_high.value_or(kNone));
  if (!std::isnan(low)) range.low = low;
  if (!std::isnan(high)) range.high = high;
  // Limits that leave the data on one side, or contradict each other.
  if (range.low > range.high) std::swap(range.low, range.high);
  return range.settled(0);
}

/// Calls `draw(first, last)` for every longest stretch [first, last) of usable points.
template <typename Usable, typename Draw>
void for_each_run(std::size_t size, const Usable& usable, const Draw& draw) {
  for (std::size_t i = 0; i < size;) {
    const std::size_t first = i;
    while (i < size && usable(i)) ++i;
    if (i > first) draw(first, i);
    if (i == first) ++i;
  }
}

/// The series of one panel, in coordinates of its plot.
class Plot {
 public:
  Plot(Canvas& canvas, const Axis& x, const Axis& y, const Legend& legend)
      : canvas_(canvas), x_(x), y_(y), legend_(legend) {}

  void band(const Series& series) {
    const auto usable = [&](std::size_t i) {
      return has_band(series, i) && !std::isnan(x_.at(x_of(series, i))) &&
             !std::isnan(lower(series, i)) && !std::isnan(y_.at(series.high[i]));
    };
    for_each_run(series.y.size(), usable, [&](std::size_t first, std::size_t last) {
      std::vector<Point> low;
      std::vector<Point> high;
      for (std::size_t i = first; i < last; ++i) {
        const double x = x_.at(x_of(series, i));
        low.push_back({x, lower(series, i)});
        high.push_back({x, y_.at(series.high[i])});
      }
      if (low.size() == 1) return canvas_.line(low[0], high[0], legend_.stroke(series.name, false));
      constexpr double coarse = 2;  // a band's edge is fainter than a line
      std::vector<Point> outline = thin_out(low, coarse);
      const std::vector<Point> back = thin_out(high, coarse);
      outline.insert(outline.end(), back.rbegin(), back.rend());
      canvas_.path(outline, legend_.colour(series.name) + " band", true);
    });
  }

  void line(const Series& series) {
    const auto at = [&](std::size_t i) {
      return Point{x_.at(x_of(series, i)), y_.at(series.y[i])};
    };
    const auto usable = [&](std::size_t i) { return !std::isnan(at(i).x) && !std::isnan(at(i).y); };
    for_each_run(series.y.size(), usable, [&](std::size_t first, std::size_t last) {
      std::vector<Point> points;
      for (std::size_t i = first; i < last; ++i) points.push_back(at(i));
      if (points.size() > 1 && !series.dots)
        canvas_.path(thin_out(points), legend_.stroke(series.name, series.dashed));
      const bool few = series.y.size() <= kFewPoints && !series.dashed;
      if (!series.dots && !few && points.size() > 1) return;
      const double radius = !series.dots ? 2.6 : series.y.size() <= kManyDots ? 1.7 : 1.1;
      for (const Point& p : points) canvas_.dot(p, radius, legend_.colour(series.name) + " solid");
    });
  }

 private:
  /// Zero has no place on a log scale, but a band that reaches it reaches the bottom.
  double lower(const Series& series, std::size_t i) const {
    const bool below = y_.range.scale == Scale::log && series.low[i] <= 0;
    return below ? y_.from : y_.at(series.low[i]);
  }

  Canvas& canvas_;
  const Axis& x_;
  const Axis& y_;
  const Legend& legend_;
};

/// Sizes that all panels of a chart share, so that their axes line up.
struct Grid {
  std::size_t columns = 1;
  double width = 0;   // of the whole chart
  double left = 0;    // room for the labels of the y axis
  double right = 16;  // room for the names of lines, and at least that of half a tick's label
  double plot_width = 0;
  double plot_height = 0;

  static constexpr double gap = 14;
  double cell_width() const { return left + plot_width + right; }
};

Grid make_grid(const std::vector<Panel>& panels, const ChartStyle& style) {
  Grid grid;
  const std::size_t fitting = panels.size() == 4 ? 2 : 3;
  grid.columns = std::min(style.columns > 0 ? style.columns : fitting, panels.size());
  const double columns = static_cast<double>(grid.columns);
  grid.width = chart_width(style, 420 + 240 * columns);
  const double cell = (grid.width - 2 * kMargin - Grid::gap * (columns - 1)) / columns;
  grid.plot_height = style.plot_height > 0 ? std::max(style.plot_height, 40.0)
                                           : std::clamp(0.52 * cell, 150.0, 340.0);
  for (const Panel& panel : panels) {
    const auto ticks = y_range(panel).ticks(ticks_upwards(grid.plot_height));
    grid.left =
        std::max(grid.left, widest(ticks, &Tick::label) + 8 + (panel.y_label.empty() ? 0 : 20));
    if (panel.direct_labels)
      grid.right = std::max(
          grid.right, kLeader + 4 + std::min(widest(panel.series, &Series::name), kNameWidth));
  }
  grid.plot_width = std::max(cell - grid.left - grid.right, 40.0);
  return grid;
}

struct Heading {
  std::vector<std::string> title;
  std::vector<std::string> subtitle;

  Heading(const Panel& panel, double width)
      : title(wrapped(panel.title, 0.94 * width, kHeadingSize)),
        subtitle(wrapped(panel.subtitle, width, kTextSize)) {}

  double height() const {
    Canvas nowhere;
    return draw(nowhere, {}) + 8;
  }
  double draw(Canvas& canvas, Point top) const {
    const double y = write_lines(canvas, top, title, kHeadingSize, "heading");
    return write_lines(canvas, {top.x, y}, subtitle, kTextSize, "muted");
  }
};

/// The unlabelled steps 2, 3, …, 9 between two decades, where there is room for them.
void draw_minor_ticks(Canvas& canvas, const Axis& y, double left) {
  const Range& range = y.range;
  constexpr double most_decades = 6;
  if (range.scale != Scale::log || range.high - range.low > most_decades) return;
  for (double n = std::floor(range.low); n < range.high; ++n)
    for (int m = 2; m <= 9; ++m) {
      const double u = n + std::log10(m);
      if (u < range.low || u > range.high) continue;
      const double at = y.at(range.value_at(u));
      canvas.line({left, at}, {left + 3, at}, "axis");
    }
}

/// Grid lines, ticks and labels of a plot whose upper left corner is `corner`.
void draw_axes(Canvas& canvas, const Panel& panel, const Grid& grid, Point corner, const Axis& x,
               const Axis& y) {
  const double bottom = corner.y + grid.plot_height;
  const double right = corner.x + grid.plot_width;
  for (const Tick& tick : y.range.ticks(ticks_upwards(grid.plot_height))) {
    const double at = corner.y + y.at(tick.value);
    canvas.line({corner.x, at}, {right, at}, "grid");
    canvas.text({corner.x - 7, at + 4}, tick.label, "muted", Anchor::end);
  }
  for (const Tick& tick : panel.x_ticks.empty() ? x.ticks_across() : panel.x_ticks) {
    const double at = corner.x + x.at(tick.value);
    canvas.line({at, corner.y}, {at, bottom}, "grid");
    canvas.line({at, bottom}, {at, bottom + 4}, "axis");
    canvas.text({at, bottom + 17}, tick.label, "muted", Anchor::middle);
  }
  draw_minor_ticks(canvas, {y.range, bottom, corner.y}, corner.x);
  canvas.line({corner.x, bottom}, {right, bottom}, "axis");
  canvas.line({corner.x, corner.y}, {corner.x, bottom}, "axis");
  canvas.text({corner.x + grid.plot_width / 2, bottom + 36}, fitted(panel.x_label, grid.plot_width),
              "", Anchor::middle);
  canvas.text({corner.x - grid.left + 12, corner.y + grid.plot_height / 2},
              fitted(panel.y_label, grid.plot_height), "", Anchor::middle, -90);
}

bool has_data(const Panel& panel) {
  for (const Series& series : panel.series)
    for (std::size_t i = 0; i < series.y.size(); ++i)
      if (!std::isnan(on_scale(panel.y_scale, series.y[i])) &&
          !std::isnan(on_scale(panel.x_scale, x_of(series, i))))
        return true;
  return false;
}

void add_names(Legend& legend, const Panel& panel) {
  for (const Series& series : panel.series)
    legend.add(series.name, series.dashed, series.grey, series.dots);
}

/// The names of the lines, at the height of their ends or, where they would overlap, moved apart.
void draw_names(Canvas& canvas, const Panel& panel, const Grid& grid, const Legend& legend,
                Point corner, const Axis& y) {
  struct Name {
    const Series* series;
    double end;
    double at;
  };
  constexpr double height = 15;
  std::vector<Name> names;
  for (const Series& series : panel.series) {
    const auto last = std::find_if(series.y.rbegin(), series.y.rend(),
                                   [&](double v) { return !std::isnan(y.at(v)); });
    if (last == series.y.rend()) continue;
    const double end = std::clamp(y.at(*last), 0.0, grid.plot_height);
    names.push_back({&series, end, end});
  }
  std::ranges::stable_sort(names, {}, &Name::end);
  double free = 0;
  for (Name& name : names) {
    name.at = std::max(name.at, free);
    free = name.at + height;
  }
  free = grid.plot_height;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    name->at = std::min(name->at, free);
    free = name->at - height;
  }
  const double x = corner.x + grid.plot_width;
  for (const Name& name : names) {
    canvas.line({x + 1, corner.y + name.end}, {x + kLeader, corner.y + name.at},
                legend.stroke(name.series->name, false));
    canvas.text({x + kLeader + 4, corner.y + name.at + 4}, fitted(name.series->name, kNameWidth),
                "");
  }
}

void draw_panel(Canvas& canvas, const Panel& panel, const Grid& grid, const Legend& shared,
                Point corner) {
  if (!has_data(panel)) {
    canvas.rectangle(corner, grid.plot_width, grid.plot_height, "void");
    canvas.text({corner.x + grid.plot_width / 2, corner.y + grid.plot_height / 2 + 4}, "no data",
                "muted", Anchor::middle);
    return;
  }
  Legend legend = panel.direct_labels ? Legend() : shared;
  if (panel.direct_labels) add_names(legend, panel);
  const Axis x{x_range(panel), 0, grid.plot_width};
  const Axis y{y_range(panel), grid.plot_height, 0};
  draw_axes(canvas, panel, grid, corner, x, y);
  canvas.open_clip(corner, grid.plot_width, grid.plot_height);
  Plot plot(canvas, x, y, legend);
  for (const Series& series : panel.series) plot.band(series);  // bands never hide a line
  for (const Series& series : panel.series) plot.line(series);
  canvas.close();
  if (panel.direct_labels) draw_names(canvas, panel, grid, legend, corner, y);
}

}  // namespace

std::vector<Point> thin_out(const std::vector<Point>& line, double width) {
  constexpr std::size_t long_line = 1500;
  if (line.size() <= long_line || !std::ranges::is_sorted(line, {}, &Point::x)) return line;
  std::vector<Point> kept;
  for (auto first = line.begin(); first != line.end();) {
    const double column = std::floor(first->x / width);
    const auto last = std::find_if(
        first, line.end(), [&](const Point& p) { return std::floor(p.x / width) != column; });
    const auto [lowest, highest] =
        std::minmax_element(first, last, [](const Point& a, const Point& b) { return a.y < b.y; });
    std::array order = {first, std::min(lowest, highest), std::max(lowest, highest), last - 1};
    const auto end = std::unique(order.begin(), order.end());
    for (auto it = order.begin(); it != end; ++it) kept.push_back(**it);
    first = last;
  }
  return kept;
}

std::string line_chart(const std::vector<Panel>& panels, const ChartStyle& style) {
  if (panels.empty()) return line_chart({Panel{}}, style);
  const Grid grid = make_grid(panels, style);
  Legend legend;
  for (const Panel& panel : panels)
    if (!panel.direct_labels) add_names(legend, panel);

  Canvas canvas;
  double y = draw_titles(canvas, style, grid.width);
  y = legend.draw(canvas, {kMargin, y}, grid.width - 2 * kMargin, true);
  for (std::size_t row = 0; row < panels.size(); row += grid.columns) {
    const std::size_t end = std::min(row + grid.columns, panels.size());
    double heading = 0;
    for (std::size_t p = row; p < end; ++p)
      heading = std::max(heading, Heading(panels[p], grid.cell_width()).height());
    bool labelled = false;
    for (std::size_t p = row; p < end; ++p) {
      const double x = kMargin + static_cast<double>(p - row) * (grid.cell_width() + Grid::gap);
      Heading(panels[p], grid.cell_width()).draw(canvas, {x, y});
      draw_panel(canvas, panels[p], grid, legend, {x + grid.left, y + heading});
      labelled |= !panels[p].x_label.empty();
    }
    y += heading + grid.plot_height + (labelled ? 52 : 34);
  }
  return canvas.document(style, grid.width, y);
}

}  // namespace kalstream::view

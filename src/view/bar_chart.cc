#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "view/axis.h"
#include "view/chart.h"
#include "view/svg.h"

namespace kalstream::view {
namespace {

using namespace internal;

constexpr double kThickness = 15;
constexpr double kBarGap = 3;

/// A group without bars takes the room of one.
double height_of(const BarGroup& group) {
  const double bars = static_cast<double>(std::max<std::size_t>(group.bars.size(), 1));
  return bars * (kThickness + kBarGap) - kBarGap;
}

Range bar_range(const BarPanel& panel) {
  Range range{panel.x_scale};
  if (panel.x_scale == Scale::linear) range.include(0);
  for (const BarGroup& group : panel.groups)
    for (const Bar& bar : group.bars) {
      range.include(bar.value);
      if (bar.low) range.include(*bar.low);
      if (bar.high) range.include(*bar.high);
    }
  if (panel.x_scale == Scale::log && !range.empty()) {
    // The shortest bar has to be seen, too.
    range.low -= std::max(0.08 * (range.high - range.low), 0.1);
  }
  return range.settled(0);
}

double value_label_width(const BarPanel& panel) {
  const auto label = [&](const Bar& bar) { return value_label(bar.value, panel.digits); };
  double width = 0;
  for (const BarGroup& group : panel.groups) width = std::max(width, widest(group.bars, label));
  return width;
}

/// One bar, its whisker and its value.
void draw_bar(Canvas& canvas, const Bar& bar, const Axis& x, double base, double top,
              const Legend& legend, int digits) {
  const double middle = top + kThickness / 2;
  const double end = x.at(bar.value);
  double label_at = base;
  if (!std::isnan(end)) {
    canvas.rectangle({std::min(base, end), top}, std::max(std::abs(end - base), 0.5), kThickness,
                     legend.colour(bar.name) + " bar");
    // A bar to the left of zero leaves the right free for its value.
    label_at = std::max(base, end);
  }
  const double low = x.at(bar.low.value_or(kNone));
  const double high = x.at(bar.high.value_or(kNone));
  if (!std::isnan(low) && !std::isnan(high)) {
    canvas.line({low, middle}, {high, middle}, "whisker");
    for (const double at : {low, high}) canvas.line({at, middle - 3}, {at, middle + 3}, "whisker");
    label_at = std::max(label_at, high);
  }
  const bool off_scale = std::isnan(end);
  canvas.text({label_at + 6, middle + 4}, value_label(bar.value, digits), off_scale ? "muted" : "");
}

}  // namespace

std::string bar_chart(const BarPanel& panel, const ChartStyle& style) {
  constexpr double group_gap = 13;

  Legend legend;
  for (const BarGroup& group : panel.groups)
    for (const Bar& bar : group.bars) legend.add(bar.name, false);

  const double width = chart_width(style);
  const double left = kMargin + std::min(widest(panel.groups, &BarGroup::label), 0.35 * width) + 10;
  const double right = width - kMargin - std::max(value_label_width(panel) + 8, 12.0);
  const Axis x{bar_range(panel), left, std::max(right, left + 40)};
  const double base = panel.x_scale == Scale::log ? x.from : x.at(0);

  Canvas canvas;
  const double titles_end = draw_titles(canvas, style, width);
  const double top = legend.draw(canvas, {kMargin, titles_end}, width - 2 * kMargin, false);

  double bottom = top + group_gap / 2;
  for (const BarGroup& group : panel.groups) bottom += height_of(group) + group_gap;
  bottom = std::max(bottom - group_gap / 2, top + 40);

  for (const Tick& tick : x.ticks_across()) {
    const double at = x.at(tick.value);
    canvas.line({at, top}, {at, bottom}, "grid");
    canvas.text({at, bottom + 17}, tick.label, "muted", Anchor::middle);
  }
  double y = top + group_gap / 2;
  for (const BarGroup& group : panel.groups) {
    double bar_top = y;
    for (const Bar& bar : group.bars) {
      draw_bar(canvas, bar, x, base, bar_top, legend, panel.digits);
      bar_top += kThickness + kBarGap;
    }
    canvas.text({left - 9, y + height_of(group) / 2 + 4}, fitted(group.label, left - kMargin - 9),
                "", Anchor::end);
    y += height_of(group) + group_gap;
  }
  canvas.line({base, top}, {base, bottom}, "axis");
  canvas.text({(x.from + x.to) / 2, bottom + 36}, fitted(panel.x_label, width - 2 * kMargin), "",
              Anchor::middle);
  return canvas.document(style, width, bottom + (panel.x_label.empty() ? 32 : 50));
}

}  // namespace kalstream::view

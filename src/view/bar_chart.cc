#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

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

std::string label_of(const Bar& bar) { return value_label(bar.value); }

}  // namespace

std::string bar_chart(const BarPanel& panel, const ChartStyle& style) {
  constexpr double group_gap = 13;

  Legend legend;
  Range range{Scale::log};
  double value_width = 0;
  for (const BarGroup& group : panel.groups) {
    for (const Bar& bar : group.bars) {
      legend.add(bar.name, false);
      range.include(bar.value);
    }
    value_width = std::max(value_width, widest(group.bars, label_of));
  }
  // The shortest bar has to be seen, too.
  if (!range.empty()) range.low -= std::max(0.08 * (range.high - range.low), 0.1);

  const double width = chart_width(style);
  const double left = kMargin + std::min(widest(panel.groups, &BarGroup::label), 0.35 * width) + 10;
  const double right = width - kMargin - std::max(value_width + 8, 12.0);
  const Axis x{range.settled(0), left, std::max(right, left + 40)};

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
      const double end = x.at(bar.value);
      const bool off_scale = std::isnan(end);
      if (!off_scale)
        canvas.rectangle({left, bar_top}, std::max(end - left, 0.5), kThickness,
                         legend.colour(bar.name) + " bar");
      canvas.text({(off_scale ? left : end) + 6, bar_top + kThickness / 2 + 4}, label_of(bar),
                  off_scale ? "muted" : "");
      bar_top += kThickness + kBarGap;
    }
    canvas.text({left - 9, y + height_of(group) / 2 + 4}, fitted(group.label, left - kMargin - 9),
                "", Anchor::end);
    y += height_of(group) + group_gap;
  }
  canvas.line({left, top}, {left, bottom}, "axis");
  canvas.text({(x.from + x.to) / 2, bottom + 36}, fitted(panel.x_label, width - 2 * kMargin), "",
              Anchor::middle);
  return canvas.document(style, width, bottom + (panel.x_label.empty() ? 32 : 50));
}

}  // namespace kalstream::view

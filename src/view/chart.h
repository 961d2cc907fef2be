// Charts as self-contained SVG documents: they scale, follow the reader's light or dark colour
// scheme, need no script and no font, and use colours that colour-blind readers can tell apart.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kalstream::view {

enum class Scale { linear, log };

// Every member has an initialiser: designated initialisers may then leave any of them out.

/// What all charts have in common.
struct ChartStyle {
  std::string title = {};
  std::string subtitle = {};
  std::string description = {};  ///< for those who cannot see the chart
  double width = 0;              ///< in units of text 12 high; 0: chosen to fit
  std::size_t columns = 0;       ///< of panels; 0: chosen to fit
  double plot_height = 0;        ///< of one panel; 0: chosen to fit
};

// Lines.

/// A line through (x, y). Values that are not finite, and values ≤ 0 on a log scale, leave a gap.
struct Series {
  std::string name = {};
  std::vector<double> x = {};  ///< empty: 1, 2, 3, …
  std::vector<double> y = {};
  std::vector<double> low = {};  ///< of a band around the line; empty: no band
  std::vector<double> high = {};
  bool dashed = false;
  bool grey = false;  ///< for what is of no interest itself
  bool dots = false;  ///< and no line, in the colour of text: for what was observed
};

/// A place on an axis, and what is written there.
struct Tick {
  double value = 0;
  std::string label = {};
};

struct Panel {
  std::string title = {};
  std::string subtitle = {};
  std::string x_label = {};
  std::string y_label = {};
  Scale x_scale = Scale::linear;
  Scale y_scale = Scale::linear;
  std::vector<Series> series = {};
  std::vector<Tick> x_ticks = {};    ///< empty: round numbers
  std::optional<double> y_low = {};  ///< limits of the axis; unset: those of the data
  std::optional<double> y_high = {};
  /// The names stand at the ends of the lines and not in the legend; their colours are this panel's
  /// own.
  bool direct_labels = false;
};

/// A grid of panels under one legend. A name has the same colour in all panels.
std::string line_chart(const std::vector<Panel>& panels, const ChartStyle& style = {});

// Bars.

struct Bar {
  std::string name = {};  ///< in the legend; the same name has the same colour
  double value = 0;
};

struct BarGroup {
  std::string label = {};
  std::vector<Bar> bars = {};
};

struct BarPanel {
  std::string x_label = {};
  std::vector<BarGroup> groups = {};
};

/// Horizontal bars on a log scale, each with its value.
std::string bar_chart(const BarPanel& panel, const ChartStyle& style = {});

// Heat maps.

struct HeatMap {
  std::string x_label = {};
  std::string y_label = {};
  std::string value_label = {};
  std::vector<std::string> x_ticks = {};  ///< one per column
  std::vector<std::string> y_ticks = {};  ///< one per row, from the top
  std::vector<double> values = {};        ///< row after row; NaN: failed or not tried
};

/// Bright is low, which is better; the lowest cell has a frame.
std::string heat_map(const HeatMap& map, const ChartStyle& style = {});

// For terminals.

struct TextChartStyle {
  std::size_t width = 76;   ///< columns, with the numbers of the y axis
  std::size_t height = 12;  ///< rows of the plot
  bool colours = false;
  std::string left = {};  ///< below the ends of the x axis
  std::string right = {};
};

/// Lines as dots, the first grey, with their bands shaded behind them. Where several points of a
/// line share a column, all of them are seen. The y axis has the limits of the panel.
std::string text_chart(const Panel& panel, const TextChartStyle& style);

// The parts that can be wrong without looking wrong.

/// At most about `wanted` round numbers in [low, high], low < high; on a log scale 0 < low.
std::vector<Tick> make_ticks(double low, double high, Scale scale, int wanted);

struct Point {
  double x = 0;
  double y = 0;
  bool operator==(const Point&) const = default;
};

/// A long line as it looks on columns `width` wide: of each column the first, lowest, highest and
/// last point stay, so that no peak is lost and no mean is invented. Lines that are short or run
/// backwards come back as they are.
std::vector<Point> thin_out(const std::vector<Point>& line, double width = 1);

/// `text` for the inside of an XML element or attribute; bytes XML does not allow are replaced.
std::string escape_xml(const std::string& text);

}  // namespace kalstream::view

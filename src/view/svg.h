// Internal to the charts: the page they are drawn on, with its text, shapes, titles and legend
// (svg.cc), and the way from values to coordinates and to the numbers written at them (axis.cc).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "view/chart.h"

namespace kalstream::view::internal {

// Text.

constexpr double kTitleSize = 17;
constexpr double kHeadingSize = 14;
constexpr double kTextSize = 12;

/// An estimate, and rather too wide: the font is the reader's, and a gap is better than an overlap.
double text_width(std::string_view text, double size = kTextSize);

/// Width of the widest text; `text_of` takes it out of an item.
template <typename Items, typename TextOf = std::identity>
double widest(const Items& items, const TextOf& text_of = {}) {
  double width = 0;
  for (const auto& item : items) width = std::max(width, text_width(std::invoke(text_of, item)));
  return width;
}

/// `text`, or as much of its beginning as fits.
std::string fitted(std::string_view text, double width, double size = kTextSize);

/// Lines of whole words; a word wider than a line is cut.
std::vector<std::string> wrapped(std::string_view text, double width, double size);

// The page.

constexpr double kMargin = 16;

/// The width a style asks for, `otherwise` if it leaves the choice, and never too narrow to read.
double chart_width(const ChartStyle& style, double otherwise = 660);

enum class Anchor { start, middle, end };

/// Collects the elements of a document. What `css` names are classes of the style sheet.
class Canvas {
 public:
  void text(Point at, std::string_view content, std::string_view css, Anchor anchor = Anchor::start,
            double degrees = 0);
  void line(Point a, Point b, std::string_view css);
  void rectangle(Point corner, double width, double height, std::string_view css);
  void filled_rectangle(Point corner, double width, double height, std::string_view colour);
  void dot(Point at, double radius, std::string_view css);
  void path(const std::vector<Point>& points, std::string_view css, bool closed = false);

  /// What is drawn until close() has its origin at `corner` and is clipped.
  void open_clip(Point corner, double width, double height);
  void close();

  std::string document(const ChartStyle& style, double width, double height) const;

 private:
  void add(std::string_view element);

  std::string body_;
};

/// Writes lines of text below `top`; returns where the next thing may begin.
double write_lines(Canvas& canvas, Point top, const std::vector<std::string>& lines, double size,
                   std::string_view css);

/// Title and subtitle of the chart; returns where the next thing may begin.
double draw_titles(Canvas& canvas, const ChartStyle& style, double width);

// Legend.

/// The names of a chart, each with its colour, in the order of their first appearance.
class Legend {
 public:
  void add(const std::string& name, bool dashed, bool grey = false, bool dots = false);

  /// CSS class of a name's colour.
  std::string colour(const std::string& name) const;

  /// CSS classes of a name's line; once the colours are used up, the dots make the difference.
  std::string stroke(const std::string& name, bool dashed) const;

  /// Draws the legend in as many rows as it takes; returns where the next thing may begin.
  double draw(Canvas& canvas, Point top, double width, bool as_lines) const;

 private:
  struct Entry {
    std::string name;
    bool dashed = false;
    bool grey = false;
    bool dots = false;
    std::size_t place = 0;  // among those that have a colour

    bool has_colour() const { return !grey && !dots; }
  };

  std::size_t find(const std::string& name) const;

  std::vector<Entry> entries_;
};

// Values and axes.

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// A value written next to its mark.
std::string value_label(double value);

/// Where a value lies on a scale; NaN where it has no place there. The limits keep differences
/// and padded ranges finite.
double on_scale(Scale scale, double value);

/// Where point i of a line lies.
inline double x_of(const Series& series, std::size_t i) {
  if (series.x.empty()) return static_cast<double>(i + 1);
  return i < series.x.size() ? series.x[i] : kNone;
}

/// An interval of a scale that grows with the values it has to hold.
struct Range {
  Scale scale = Scale::linear;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }
  void include(double value);

  /// The same, but never empty and never without extent; what has extent gains `padding`, a
  /// fraction of it, at both ends.
  Range settled(double padding) const;

  double value_at(double u) const;
  std::vector<Tick> ticks(int wanted) const;
};

/// A range laid out from one coordinate to another.
struct Axis {
  Range range;
  double from = 0;
  double to = 1;

  /// NaN where the value has no place. Far outside is as good as outside, and prints shorter.
  double at(double value) const;

  /// As many ticks as fit side by side with their labels.
  std::vector<Tick> ticks_across() const;
};

/// How many ticks fit on top of each other.
int ticks_upwards(double height);

}  // namespace kalstream::view::internal

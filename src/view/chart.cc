#include "view/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "view/table.h"

namespace kalstream::view {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// ---- Text ---------------------------------------------------------------------------------------

constexpr double kTitleSize = 17;
constexpr double kHeadingSize = 14;
constexpr double kTextSize = 12;

/// Width of a character in units of the font size. An estimate on the wide side (DejaVu Sans),
/// since the font is the reader's: better a gap than an overlap.
double character_width(char c) {
  constexpr std::string_view narrow = "ijlI.,:;|!' ";
  constexpr std::string_view slim = "frt()[]/-";
  constexpr std::string_view wide = "mwMW%@";
  if (narrow.find(c) != std::string_view::npos) return 0.34;
  if (slim.find(c) != std::string_view::npos) return 0.42;
  if (wide.find(c) != std::string_view::npos) return 0.96;
  return c >= 'A' && c <= 'Z' ? 0.72 : 0.63;
}

double text_width(std::string_view text, double size = kTextSize) {
  double width = 0;
  std::size_t ascii = 0;
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x80) {
      width += character_width(c);
      ++ascii;
    }
  return size * (width + 0.66 * static_cast<double>(display_width(text) - ascii));
}

std::string fitted(std::string_view text, double width, double size = kTextSize) {
  std::string cut(text);
  for (std::size_t n = display_width(text); n > 1 && text_width(cut, size) > width;)
    cut = shorten(text, --n);
  return cut;
}

/// Lines of whole words; a word wider than a line is cut.
std::vector<std::string> wrapped(std::string_view text, double width, double size) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    const std::string word = fitted(text.substr(0, length), width, size);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (word.empty()) continue;
    if (!lines.empty() && text_width(lines.back() + ' ' + word, size) <= width)
      lines.back() += ' ' + word;
    else
      lines.push_back(word);
  }
  return lines;
}

// ---- Numbers on axes ----------------------------------------------------------------------------

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

/// A value written next to its mark.
std::string value_label(double value, int digits) {
  return value < 0 ? "−" + format_number(-value, digits) : format_number(value, digits);
}

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

// ---- Axes ---------------------------------------------------------------------------------------

/// Where a value lies on a scale; NaN where it has no place there. The limits keep differences
/// and padded ranges finite.
double on_scale(Scale scale, double value) {
  constexpr double limit = 1e300;
  if (!(std::abs(value) < limit)) return kNone;
  if (scale == Scale::linear) return value;
  return value > 1 / limit ? std::log10(value) : kNone;
}

/// An interval of a scale that grows with the values it has to hold.
struct Range {
  Scale scale = Scale::linear;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }

  void include(double value) {
    const double u = on_scale(scale, value);
    if (std::isnan(u)) return;
    low = std::min(low, u);
    high = std::max(high, u);
  }

  /// The same, but never empty and never without extent; what has extent gains `padding`, a
  /// fraction of it, at both ends.
  Range settled(double padding) const {
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

  double value_at(double u) const { return scale == Scale::log ? std::pow(10.0, u) : u; }
  std::vector<Tick> ticks(int wanted) const {
    return make_ticks(value_at(low), value_at(high), scale, wanted);
  }
};

/// A range laid out from one coordinate to another.
struct Axis {
  Range range;
  double from = 0;
  double to = 1;

  /// NaN where the value has no place. Far outside is as good as outside, and prints shorter.
  double at(double value) const {
    constexpr double far = 1e5;
    const double u = on_scale(range.scale, value);
    const double t = (u - range.low) / (range.high - range.low);
    return std::isnan(u) ? kNone : std::clamp(from + t * (to - from), -far, far);
  }

  /// As many ticks as fit side by side with their labels.
  std::vector<Tick> ticks_across() const {
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
};

int ticks_upwards(double height) { return std::max(static_cast<int>(height / 32), 2); }

double widest(const std::vector<Tick>& ticks) {
  double width = 0;
  for (const Tick& tick : ticks) width = std::max(width, text_width(tick.label));
  return width;
}

// ---- The page -----------------------------------------------------------------------------------

struct Colour {
  const char* on_light;
  const char* on_dark;
};

/// Okabe & Ito (2008), in an order that keeps neighbours far apart. Their yellow is darker here:
/// thin lines of the original vanish on white.
constexpr std::array<Colour, 8> kColours = {{
    {"#0072b2", "#4c9fe6"},
    {"#e69f00", "#f0ad1f"},
    {"#009e73", "#22c495"},
    {"#cc79a7", "#e79cc4"},
    {"#d55e00", "#f4773a"},
    {"#56b4e9", "#a5ddfa"},
    {"#4d4d4d", "#c4ccd4"},
    {"#8f7f00", "#ddd04c"},
}};

constexpr std::string_view kStyle = R"(
.kalstream{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-size:12px}
.kalstream text{fill:#1f2328}
.kalstream .title{font-size:17px;font-weight:600}
.kalstream .heading{font-size:14px;font-weight:600}
.kalstream .strong{font-weight:600}
.kalstream .muted{fill:#59636e}
.kalstream .on-dark{fill:#ffffff}
.kalstream .on-light{fill:#10151a}
.kalstream .paper{fill:#ffffff}
.kalstream .void{fill:#e9ecef}
.kalstream .grid{stroke:#e6e9ec;stroke-width:1}
.kalstream .axis{stroke:#8c959f;stroke-width:1}
.kalstream .line{fill:none;stroke-width:1.7;stroke-linejoin:round;stroke-linecap:round}
.kalstream .dashed{stroke-dasharray:6 4}
.kalstream .dotted{stroke-dasharray:1.5 3.5}
.kalstream .band{stroke:none;fill-opacity:.16}
.kalstream .solid,.kalstream .bar{stroke:none}
.kalstream .whisker{stroke:#1f2328;stroke-width:1.2;fill:none}
.kalstream .frame{stroke:#10151a;stroke-width:2.5;fill:none}
)";

constexpr std::string_view kDarkStyle = R"(
.kalstream text{fill:#e6edf3}
.kalstream .muted{fill:#9ba5b0}
.kalstream .on-dark{fill:#ffffff}
.kalstream .on-light{fill:#10151a}
.kalstream .paper{fill:#14181d}
.kalstream .void{fill:#2a3037}
.kalstream .grid{stroke:#2a3037}
.kalstream .axis{stroke:#6b7580}
.kalstream .band{fill-opacity:.22}
.kalstream .bar{fill-opacity:.72}
.kalstream .whisker{stroke:#e6edf3}
)";

std::string style_sheet() {
  std::string light;
  std::string dark;
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    const auto rule = [i](const char* colour) {
      return fmt::format(".kalstream .c{0}{{fill:{1};stroke:{1}}}\n", i, colour);
    };
    light += rule(kColours[i].on_light);
    dark += rule(kColours[i].on_dark);
  }
  // Colours come before the classes that take their fill or stroke away again.
  const std::string undo =
      ".kalstream .line{fill:none}\n.kalstream .band,.kalstream .solid,.kalstream "
      ".bar{stroke:none}\n";
  return fmt::format("\n{}{}@media (prefers-color-scheme:dark){{\n{}{}{}}}\n", light,
                     kStyle.substr(1), dark, kDarkStyle.substr(1), undo);
}

/// A coordinate, to a tenth of a unit.
std::string num(double value) {
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

/// The shortest way to write n/10 in a path; a second coordinate needs a blank unless it has a
/// sign.
std::string tenths(std::int64_t n, bool second) {
  std::string text = n < 0 ? "-" : second ? " " : "";
  const std::int64_t size = std::abs(n);
  if (size >= 10 || size == 0) text += std::to_string(size / 10);
  if (size % 10 != 0) text += fmt::format(".{}", size % 10);
  return text;
}

enum class Anchor { start, middle, end };

/// Collects the elements of a document.
class Canvas {
 public:
  void text(Point at, std::string_view content, std::string_view css, Anchor anchor = Anchor::start,
            double degrees = 0) {
    constexpr std::array anchors = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    const std::string turn = degrees == 0 ? ""
                                          : fmt::format(" transform=\"rotate({} {} {})\"",
                                                        num(degrees), num(at.x), num(at.y));
    add(R"(<text x="{}" y="{}" class="{}"{}{}>{}</text>)", num(at.x), num(at.y), css,
        anchors[static_cast<std::size_t>(anchor)], turn, escape_xml(std::string(content)));
  }

  void line(Point a, Point b, std::string_view css) {
    add(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>)", num(a.x), num(a.y), num(b.x),
        num(b.y), css);
  }

  void rectangle(Point corner, double width, double height, std::string_view css) {
    add(R"(<rect x="{}" y="{}" width="{}" height="{}" class="{}"/>)", num(corner.x), num(corner.y),
        num(width), num(height), css);
  }

  void filled_rectangle(Point corner, double width, double height, std::string_view colour) {
    add(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}"/>)", num(corner.x), num(corner.y),
        num(width), num(height), colour);
  }

  void dot(Point at, double radius, std::string_view css) {
    add(R"(<circle cx="{}" cy="{}" r="{}" class="{}"/>)", num(at.x), num(at.y), num(radius), css);
  }

  /// Steps relative to the point before, in whole tenths: a third of the size, and no drift.
  void path(const std::vector<Point>& points, std::string_view css, bool closed = false) {
    std::string d;
    std::int64_t x = 0;
    std::int64_t y = 0;
    for (const Point& p : points) {
      const std::int64_t next_x = std::llround(10 * p.x);
      const std::int64_t next_y = std::llround(10 * p.y);
      d += d.empty() ? "m" : "l";
      d += tenths(next_x - x, false) + tenths(next_y - y, true);
      x = next_x;
      y = next_y;
    }
    add(R"(<path d="{}{}" class="{}"/>)", d, closed ? "z" : "", css);
  }

  /// What is drawn until close() has its origin at `corner` and is clipped. A nested svg element
  /// and not a clipPath: that would need an id, which is not unique where charts share a page.
  void open_clip(Point corner, double width, double height) {
    add(R"(<svg x="{}" y="{}" width="{}" height="{}" overflow="hidden">)", num(corner.x),
        num(corner.y), num(width), num(height));
  }
  void close() { add("</svg>"); }

  std::string document(const ChartStyle& style, double width, double height) const {
    const std::string title = style.title.empty() ? "Chart" : style.title;
    const std::string about = style.description.empty() ? style.subtitle : style.description;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"kalstream\" role=\"img\" "
        "viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
        "<title>{2}</title>\n<desc>{3}</desc>\n<style>{4}</style>\n"
        "<rect width=\"{0}\" height=\"{1}\" class=\"paper\"/>\n{5}</svg>\n",
        num(width), num(std::ceil(height)), escape_xml(title), escape_xml(about), style_sheet(),
        body_);
  }

 private:
  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(body_), format, std::forward<Args>(args)...);
    body_ += '\n';
  }

  std::string body_;
};

constexpr double kMargin = 16;

/// Writes lines of text below `top`; returns where the next thing may begin.
double write_lines(Canvas& canvas, Point top, const std::vector<std::string>& lines, double size,
                   std::string_view css) {
  for (const std::string& line : lines) {
    canvas.text({top.x, top.y + size}, line, css);
    top.y += std::round(1.35 * size);
  }
  return top.y;
}

// ---- Legend -------------------------------------------------------------------------------------

struct Entry {
  std::string name;
  bool dashed = false;
};

/// The names of a chart, each with its colour, in the order of their first appearance.
class Legend {
 public:
  void add(const std::string& name, bool dashed) {
    if (find(name) == entries_.size()) entries_.push_back({name, dashed});
  }

  /// CSS class of a name's colour.
  std::string colour(const std::string& name) const {
    return fmt::format("c{}", find(name) % kColours.size());
  }

  /// CSS classes of a name's line; once the colours are used up, the dots make the difference.
  std::string stroke(const std::string& name, bool dashed) const {
    const bool repeated = find(name) >= kColours.size();
    return colour(name) + " line" + (dashed ? " dashed" : repeated ? " dotted" : "");
  }

  /// Draws the legend in as many rows as it takes; returns where the next thing may begin.
  double draw(Canvas& canvas, Point top, double width, bool as_lines) const {
    const double sample = as_lines ? 22 : 12;
    constexpr double gap = 18;
    constexpr double row = 20;
    const bool nameless =
        std::ranges::all_of(entries_, [](const Entry& e) { return e.name.empty(); });
    if (nameless) return top.y;
    Point at = top;
    for (const Entry& entry : entries_) {
      const std::string name = fitted(entry.name, width - sample - 6);
      const double taken = sample + 6 + text_width(name);
      if (at.x > top.x && at.x + taken > top.x + width) at = {top.x, at.y + row};
      if (as_lines)
        canvas.line({at.x, at.y + 8}, {at.x + sample, at.y + 8}, stroke(entry.name, entry.dashed));
      else
        canvas.rectangle({at.x, at.y + 2}, 12, 12, colour(entry.name) + " bar");
      canvas.text({at.x + sample + 6, at.y + 12}, name, "");
      at.x += taken + gap;
    }
    return at.y + row + 8;
  }

 private:
  std::size_t find(const std::string& name) const {
    const auto found = std::ranges::find(entries_, name, &Entry::name);
    return static_cast<std::size_t>(found - entries_.begin());
  }

  std::vector<Entry> entries_;
};

/// Title and subtitle of the chart; returns where the next thing may begin.
double draw_titles(Canvas& canvas, const ChartStyle& style, double width) {
  const double room = width - 2 * kMargin;
  double y = kMargin - 4;
  // Bold text is wider than the estimate knows.
  y = write_lines(canvas, {kMargin, y}, wrapped(style.title, 0.94 * room, kTitleSize), kTitleSize,
                  "title");
  y = write_lines(canvas, {kMargin, y}, wrapped(style.subtitle, room, kTextSize), kTextSize,
                  "muted");
  return y + (style.title.empty() && style.subtitle.empty() ? 4 : 10);
}

// ---- Line charts --------------------------------------------------------------------------------

/// So few points are worth seeing one by one.
constexpr std::size_t kFewPoints = 25;

double x_of(const Series& series, std::size_t i) {
  if (series.x.empty()) return static_cast<double>(i + 1);
  return i < series.x.size() ? series.x[i] : kNone;
}

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
      if (points.size() > 1)
        canvas_.path(thin_out(points), legend_.stroke(series.name, series.dashed));
      if (points.size() == 1 || (series.y.size() <= kFewPoints && !series.dashed))
        for (const Point& p : points) canvas_.dot(p, 2.6, legend_.colour(series.name) + " solid");
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
  double width = 0;  // of the whole chart
  double left = 0;   // room for the labels of the y axis
  double plot_width = 0;
  double plot_height = 0;

  static constexpr double right = 16;
  static constexpr double gap = 14;
  double cell_width() const { return left + plot_width + right; }
};

std::size_t default_columns(std::size_t panels) {
  if (panels <= 1) return 1;
  return panels == 2 || panels == 4 ? 2 : 3;
}

Grid make_grid(const std::vector<Panel>& panels, const ChartStyle& style) {
  Grid grid;
  grid.columns =
      style.columns > 0 ? std::min(style.columns, panels.size()) : default_columns(panels.size());
  const double columns = static_cast<double>(grid.columns);
  constexpr double narrowest = 240;
  grid.width = std::max(style.width > 0 ? style.width : 420 + 240 * columns, narrowest);
  const double cell = (grid.width - 2 * kMargin - Grid::gap * (columns - 1)) / columns;
  grid.plot_height = style.plot_height > 0 ? std::max(style.plot_height, 40.0)
                                           : std::clamp(0.52 * cell, 150.0, 340.0);
  for (const Panel& panel : panels) {
    const auto ticks = y_range(panel).ticks(ticks_upwards(grid.plot_height));
    grid.left = std::max(grid.left, widest(ticks) + 8 + (panel.y_label.empty() ? 0 : 20));
  }
  grid.plot_width = std::max(cell - grid.left - Grid::right, 40.0);
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
  for (const Tick& tick : x.ticks_across()) {
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

void draw_empty_panel(Canvas& canvas, const Grid& grid, Point corner) {
  canvas.rectangle(corner, grid.plot_width, grid.plot_height, "void");
  canvas.text({corner.x + grid.plot_width / 2, corner.y + grid.plot_height / 2 + 4}, "no data",
              "muted", Anchor::middle);
}

void draw_panel(Canvas& canvas, const Panel& panel, const Grid& grid, const Legend& legend,
                Point corner) {
  if (!has_data(panel)) return draw_empty_panel(canvas, grid, corner);
  const Axis x{x_range(panel), 0, grid.plot_width};
  const Axis y{y_range(panel), grid.plot_height, 0};
  draw_axes(canvas, panel, grid, corner, x, y);
  canvas.open_clip(corner, grid.plot_width, grid.plot_height);
  Plot plot(canvas, x, y, legend);
  for (const Series& series : panel.series) plot.band(series);  // bands never hide a line
  for (const Series& series : panel.series) plot.line(series);
  canvas.close();
}

}  // namespace

std::string escape_xml(const std::string& text) {
  std::string escaped;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t length = code_point_length(rest);
    const auto code_point = rest.substr(0, std::max<std::size_t>(length, 1));
    rest.remove_prefix(code_point.size());
    const char c = code_point[0];
    if (length == 0 || code_point == "\xef\xbf\xbe" || code_point == "\xef\xbf\xbf")
      escaped += "\ufffd";
    else if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '"')
      escaped += "&quot;";
    else if (c == '\'')
      escaped += "&#39;";
    else if (length == 1 && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f))
      escaped += ' ';
    else
      escaped += code_point;
  }
  return escaped;
}

std::vector<Tick> make_ticks(double low, double high, Scale scale, int wanted) {
  return scale == Scale::log ? log_ticks(low, high, wanted) : linear_ticks(low, high, wanted);
}

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
    for (const Series& series : panel.series) legend.add(series.name, series.dashed);

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

// ---- Bars ---------------------------------------------------------------------------------------

namespace {

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
  double width = 0;
  for (const BarGroup& group : panel.groups)
    for (const Bar& bar : group.bars)
      width = std::max(width, text_width(value_label(bar.value, panel.digits)));
  return width;
}

double group_label_width(const BarPanel& panel, double most) {
  double width = 0;
  for (const BarGroup& group : panel.groups) width = std::max(width, text_width(group.label));
  return std::min(width, most);
}

/// One bar, its whisker and its value, in a strip of the given height.
void draw_bar(Canvas& canvas, const Bar& bar, const Axis& x, double base, double top, double height,
              const Legend& legend, int digits) {
  const double end = x.at(bar.value);
  double label_at = base;
  if (!std::isnan(end)) {
    canvas.rectangle({std::min(base, end), top}, std::max(std::abs(end - base), 0.5), height,
                     legend.colour(bar.name) + " bar");
    // A bar to the left of zero leaves the right free for its value.
    label_at = std::max(base, end);
  }
  const double low = x.at(bar.low.value_or(kNone));
  const double high = x.at(bar.high.value_or(kNone));
  if (!std::isnan(low) && !std::isnan(high)) {
    const double middle = top + height / 2;
    canvas.line({low, middle}, {high, middle}, "whisker");
    for (const double at : {low, high}) canvas.line({at, middle - 3}, {at, middle + 3}, "whisker");
    label_at = std::max(label_at, high);
  }
  const bool off_scale = std::isnan(end);
  canvas.text({label_at + 6, top + height / 2 + 4}, value_label(bar.value, digits),
              off_scale ? "muted" : "");
}

}  // namespace

std::string bar_chart(const BarPanel& panel, const ChartStyle& style) {
  constexpr double thickness = 15;
  constexpr double bar_gap = 3;
  constexpr double group_gap = 13;

  Legend legend;
  for (const BarGroup& group : panel.groups)
    for (const Bar& bar : group.bars) legend.add(bar.name, false);

  const double width = std::max(style.width > 0 ? style.width : 660, 240.0);
  const double left = kMargin + group_label_width(panel, 0.35 * width) + 10;
  const double right = width - kMargin - std::max(value_label_width(panel) + 8, 12.0);
  const Axis x{bar_range(panel), left, std::max(right, left + 40)};
  const double base = panel.x_scale == Scale::log ? x.from : x.at(0);

  Canvas canvas;
  const double titles_end = draw_titles(canvas, style, width);
  const double top = legend.draw(canvas, {kMargin, titles_end}, width - 2 * kMargin, false);

  double bottom = top + group_gap / 2;
  for (const BarGroup& group : panel.groups)
    bottom +=
        static_cast<double>(std::max<std::size_t>(group.bars.size(), 1)) * (thickness + bar_gap) -
        bar_gap + group_gap;
  bottom = std::max(bottom - group_gap / 2, top + 40);

  for (const Tick& tick : x.ticks_across()) {
    const double at = x.at(tick.value);
    canvas.line({at, top}, {at, bottom}, "grid");
    canvas.text({at, bottom + 17}, tick.label, "muted", Anchor::middle);
  }
  double y = top + group_gap / 2;
  for (const BarGroup& group : panel.groups) {
    const double begin = y;
    for (const Bar& bar : group.bars) {
      draw_bar(canvas, bar, x, base, y, thickness, legend, panel.digits);
      y += thickness + bar_gap;
    }
    if (group.bars.empty()) y += thickness + bar_gap;
    y -= bar_gap;
    canvas.text({left - 9, (begin + y) / 2 + 4}, fitted(group.label, left - kMargin - 9), "",
                Anchor::end);
    y += group_gap;
  }
  canvas.line({base, top}, {base, bottom}, "axis");
  canvas.text({(x.from + x.to) / 2, bottom + 36}, fitted(panel.x_label, width - 2 * kMargin), "",
              Anchor::middle);
  return canvas.document(style, width, bottom + (panel.x_label.empty() ? 32 : 50));
}

// ---- Heat maps ----------------------------------------------------------------------------------

namespace {

struct Rgb {
  double r, g, b;
};

/// Viridis at t in [0, 1]: bright means large, also in grey and to colour-blind eyes.
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

double brightness(const HeatMap& map, const Range& range, double value) {
  const double t = (on_scale(map.value_scale, value) - range.low) / (range.high - range.low);
  return map.smaller_is_better ? 1 - t : t;
}

Range value_range(const HeatMap& map) {
  Range range{map.value_scale};
  for (const double value : map.values) range.include(value);
  return range.settled(0);
}

/// Index of the best value; map.values.size() when there is none.
std::size_t best_cell(const HeatMap& map) {
  std::size_t best = map.values.size();
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    if (std::isnan(on_scale(map.value_scale, map.values[i]))) continue;
    if (best == map.values.size() || (map.smaller_is_better ? map.values[i] < map.values[best]
                                                            : map.values[i] > map.values[best]))
      best = i;
  }
  return best;
}

double widest_text(const std::vector<std::string>& texts) {
  double width = 0;
  for (const std::string& text : texts) width = std::max(width, text_width(text));
  return width;
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
  if (std::isnan(on_scale(map.value_scale, value))) {
    canvas.rectangle(at, width, height, "void");
    if (width >= 12) canvas.text(middle, "×", "muted", Anchor::middle);
    return;
  }
  const Rgb colour = viridis(brightness(map, range, value));
  canvas.filled_rectangle(at, width, height, hex(colour));
  const std::string label = value_label(value, map.digits);
  if (text_width(label) + 4 <= width)
    canvas.text(middle, label, std::string(ink_on(colour)) + (is_best ? " strong" : ""),
                Anchor::middle);
  // Inside its bright cell the frame is seen on light and on dark paper.
  if (is_best) canvas.rectangle({at.x + 2, at.y + 2}, width - 4, height - 4, "frame");
}

void draw_colour_bar(Canvas& canvas, const HeatMap& map, const Range& range, Point corner,
                     double height) {
  constexpr double width = 13;
  constexpr int strips = 64;
  // From the top, each strip down to the bottom: where they overlap there are no seams.
  for (int i = 0; i < strips; ++i) {
    const double t = 1 - (i + 0.5) / strips;
    const double top = height * i / strips;
    canvas.filled_rectangle({corner.x, corner.y + top}, width, height - top,
                            hex(viridis(map.smaller_is_better ? 1 - t : t)));
  }
  const Axis y{range, corner.y + height, corner.y};
  const auto ticks = range.ticks(ticks_upwards(height));
  for (const Tick& tick : ticks) {
    canvas.line({corner.x + width, y.at(tick.value)}, {corner.x + width + 4, y.at(tick.value)},
                "axis");
    canvas.text({corner.x + width + 7, y.at(tick.value) + 4}, tick.label, "muted");
  }
  canvas.text({corner.x + width + widest(ticks) + 20, corner.y + height / 2},
              fitted(map.value_label, height), "", Anchor::middle, -90);
}

/// Labels below the columns, slanted where they would touch; returns the height they take.
double draw_column_labels(Canvas& canvas, const HeatMap& map, const CellGrid& grid) {
  constexpr double slant = 40;  // degrees
  constexpr double longest = 110;
  const bool slanted = widest_text(map.x_ticks) > grid.width - 6;
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
  const double width = std::max(style.width > 0 ? style.width : 660, 240.0);
  Canvas canvas;
  const double top = draw_titles(canvas, style, width);
  if (map.x_ticks.empty() || map.y_ticks.empty()) {
    canvas.text({width / 2, top + 24}, "no data", "muted", Anchor::middle);
    return canvas.document(style, width, top + 48);
  }

  const Range range = value_range(map);
  const double row_labels = std::min(widest_text(map.y_ticks), 0.25 * width);
  const double left = kMargin + row_labels + 8 + (map.y_label.empty() ? 0 : 20);
  const double bar_room =
      18 + 13 + widest(range.ticks(6)) + 10 + (map.value_label.empty() ? 0 : 18);

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
    draw_colour_bar(canvas, map, range, {grid.end().x + 18, top}, grid.end().y - top - 1);
  return canvas.document(style, width, bottom + (map.x_label.empty() ? 14 : 32));
}

}  // namespace kalstream::view

#include "view/svg.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "view/table.h"

namespace kalstream::view {

// ---- Text ---------------------------------------------------------------------------------------

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

namespace internal {
namespace {

/// In units of the font size, as in DejaVu Sans, a wide font.
double character_width(char c) {
  constexpr std::string_view narrow = "ijlI.,:;|!' ";
  constexpr std::string_view slim = "frt()[]/-";
  constexpr std::string_view wide = "mwMW%@";
  if (narrow.find(c) != std::string_view::npos) return 0.34;
  if (slim.find(c) != std::string_view::npos) return 0.42;
  if (wide.find(c) != std::string_view::npos) return 0.96;
  return c >= 'A' && c <= 'Z' ? 0.72 : 0.63;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  std::size_t ascii = 0;
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x80) {
      width += character_width(c);
      ++ascii;
    }
  return size * (width + 0.66 * static_cast<double>(display_width(text) - ascii));
}

std::string fitted(std::string_view text, double width, double size) {
  std::string cut(text);
  for (std::size_t n = display_width(text); n > 1 && text_width(cut, size) > width;)
    cut = shorten(text, --n);
  return cut;
}

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

// ---- Colours ------------------------------------------------------------------------------------

namespace {

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
constexpr Colour kGrey = {"#aab2ba", "#5f6973"};

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
  const auto rule = [](const std::string& name, const char* colour) {
    return fmt::format(".kalstream .{0}{{fill:{1};stroke:{1}}}\n", name, colour);
  };
  for (std::size_t i = 0; i < kColours.size(); ++i) {
    light += rule(fmt::format("c{}", i), kColours[i].on_light);
    dark += rule(fmt::format("c{}", i), kColours[i].on_dark);
  }
  light += rule("grey", kGrey.on_light);
  dark += rule("grey", kGrey.on_dark);
  // Colours come before the classes that take their fill or stroke away again.
  const std::string undo =
      ".kalstream .line{fill:none}\n.kalstream .band,.kalstream .solid,.kalstream "
      ".bar{stroke:none}\n";
  return fmt::format("\n{}{}@media (prefers-color-scheme:dark){{\n{}{}{}}}\n", light,
                     kStyle.substr(1), dark, kDarkStyle.substr(1), undo);
}

}  // namespace

// ---- The page -----------------------------------------------------------------------------------

double chart_width(const ChartStyle& style, double otherwise) {
  constexpr double narrowest = 240;
  return std::max(style.width > 0 ? style.width : otherwise, narrowest);
}

namespace {

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

}  // namespace

void Canvas::text(Point at, std::string_view content, std::string_view css, Anchor anchor,
                  double degrees) {
  constexpr std::array anchors = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  const std::string turn = degrees == 0 ? ""
                                        : fmt::format(" transform=\"rotate({} {} {})\"",
                                                      num(degrees), num(at.x), num(at.y));
  add(fmt::format(R"(<text x="{}" y="{}" class="{}"{}{}>{}</text>)", num(at.x), num(at.y), css,
                  anchors[static_cast<std::size_t>(anchor)], turn,
                  escape_xml(std::string(content))));
}

void Canvas::line(Point a, Point b, std::string_view css) {
  add(fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" class="{}"/>)", num(a.x), num(a.y),
                  num(b.x), num(b.y), css));
}

void Canvas::rectangle(Point corner, double width, double height, std::string_view css) {
  add(fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" class="{}"/>)", num(corner.x),
                  num(corner.y), num(width), num(height), css));
}

void Canvas::filled_rectangle(Point corner, double width, double height, std::string_view colour) {
  add(fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="{}"/>)", num(corner.x),
                  num(corner.y), num(width), num(height), colour));
}

void Canvas::dot(Point at, double radius, std::string_view css) {
  add(fmt::format(R"(<circle cx="{}" cy="{}" r="{}" class="{}"/>)", num(at.x), num(at.y),
                  num(radius), css));
}

// Steps relative to the point before, in whole tenths: a third of the size, and no drift.
void Canvas::path(const std::vector<Point>& points, std::string_view css, bool closed) {
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
  add(fmt::format(R"(<path d="{}{}" class="{}"/>)", d, closed ? "z" : "", css));
}

// A nested svg element and not a clipPath: that would need an id, which is not unique where charts
// share a page.
void Canvas::open_clip(Point corner, double width, double height) {
  add(fmt::format(R"(<svg x="{}" y="{}" width="{}" height="{}" overflow="hidden">)", num(corner.x),
                  num(corner.y), num(width), num(height)));
}

void Canvas::close() { add("</svg>"); }

std::string Canvas::document(const ChartStyle& style, double width, double height) const {
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

void Canvas::add(std::string_view element) {
  body_ += element;
  body_ += '\n';
}

double write_lines(Canvas& canvas, Point top, const std::vector<std::string>& lines, double size,
                   std::string_view css) {
  for (const std::string& line : lines) {
    canvas.text({top.x, top.y + size}, line, css);
    top.y += std::round(1.35 * size);
  }
  return top.y;
}

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

// ---- Legend -------------------------------------------------------------------------------------

void Legend::add(const std::string& name, bool dashed, bool grey, bool dots) {
  if (find(name) < entries_.size()) return;
  const auto colours = std::ranges::count_if(entries_, &Entry::has_colour);
  entries_.push_back({name, dashed, grey, dots, static_cast<std::size_t>(colours)});
}

std::string Legend::colour(const std::string& name) const {
  const Entry& entry = entries_[find(name)];
  if (entry.dots) return "muted";
  return entry.grey ? "grey" : fmt::format("c{}", entry.place % kColours.size());
}

std::string Legend::stroke(const std::string& name, bool dashed) const {
  const Entry& entry = entries_[find(name)];
  const bool repeated = entry.has_colour() && entry.place >= kColours.size();
  return colour(name) + " line" + (dashed ? " dashed" : repeated ? " dotted" : "");
}

double Legend::draw(Canvas& canvas, Point top, double width, bool as_lines) const {
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
    if (entry.dots)
      canvas.dot({at.x + sample / 2, at.y + 8}, 2.2, colour(entry.name) + " solid");
    else if (as_lines)
      canvas.line({at.x, at.y + 8}, {at.x + sample, at.y + 8}, stroke(entry.name, entry.dashed));
    else
      canvas.rectangle({at.x, at.y + 2}, 12, 12, colour(entry.name) + " bar");
    canvas.text({at.x + sample + 6, at.y + 12}, name, "");
    at.x += taken + gap;
  }
  return at.y + row + 8;
}

std::size_t Legend::find(const std::string& name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return static_cast<std::size_t>(found - entries_.begin());
}

}  // namespace internal
}  // namespace kalstream::view

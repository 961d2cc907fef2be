#include "view/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "view/chart.h"

namespace kalstream::view {
namespace {

constexpr auto npos = std::string_view::npos;

std::string trimmed_line(const std::string& text) {
  const std::string line = one_line(text);
  const std::size_t first = line.find_first_not_of(' ');
  return first == npos ? "" : line.substr(first, line.find_last_not_of(' ') + 1 - first);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// ---- Inline markup ------------------------------------------------------------------------------

/// A link may lead to the web or beside this page, and must not run a script.
bool is_allowed_url(std::string_view url) {
  if (url.empty()) return false;
  for (const char c : url)
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f ||
        std::string_view("<>\"'`\\").find(c) != npos)
      return false;
  if (url.starts_with("http://") || url.starts_with("https://")) return true;
  // What has a scheme has a colon before anything else; "//" would be another host.
  const std::size_t end = url.find_first_of(":/?#");
  return !url.starts_with("//") && (end == npos || url[end] != ':');
}

struct Span {
  enum class Kind { code, bold, link } kind = Kind::code;
  std::size_t length = 0;  // with its marks
  std::string_view inner = {};
  std::string_view url = {};
};

std::optional<Span> code_at(std::string_view text) {
  const std::size_t end = text.find('`', 1);
  if (end == npos || end == 1) return {};
  return Span{Span::Kind::code, end + 1, text.substr(1, end - 1)};
}

std::optional<Span> bold_at(std::string_view text) {
  for (std::size_t end = 2; end + 1 < text.size(); ++end) {
    if (text[end] == '`') {
      // Asterisks inside of code are code.
      if (const auto code = code_at(text.substr(end))) end += code->length - 1;
    } else if (text.substr(end, 2) == "**") {
      const auto inner = text.substr(2, end - 2);
      if (inner.empty() || inner.starts_with(' ') || inner.ends_with(' ')) return {};
      return Span{Span::Kind::bold, end + 2, inner};
    }
  }
  return {};
}

std::optional<Span> link_at(std::string_view text) {
  const std::size_t middle = text.find_first_of("[]", 1);
  if (middle == npos || middle == 1 || text.substr(middle, 2) != "](") return {};
  const std::size_t begin = middle + 2;
  std::size_t end = begin;
  // Addresses may hold pairs of parentheses.
  for (int depth = 0; end < text.size() && !(text[end] == ')' && depth == 0); ++end)
    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
  const auto url = text.substr(begin, end - begin);
  if (end == text.size() || !is_allowed_url(url)) return {};
  return Span{Span::Kind::link, end + 1, text.substr(1, middle - 1), url};
}

/// What begins where `text` begins; malformed markup is no markup.
std::optional<Span> span_at(std::string_view text) {
  if (text.starts_with('`')) return code_at(text);
  if (text.starts_with("**")) return bold_at(text);
  if (text.starts_with('[')) return link_at(text);
  return {};
}

enum class Format { html, markdown };

std::string escaped(std::string_view text, Format format) {
  return format == Format::html ? escape_xml(std::string(text)) : escape_markdown(text);
}

std::string rendered(std::string_view text, Format format) {
  const bool html = format == Format::html;
  std::string out;
  std::size_t literal = 0;  // where the text not yet written begins
  for (std::size_t at = 0; at < text.size();) {
    const auto span = span_at(text.substr(at));
    if (!span) {
      ++at;
      continue;
    }
    out += escaped(text.substr(literal, at - literal), format);
    at += span->length;
    literal = at;
    switch (span->kind) {
      case Span::Kind::code:
        out += html ? "<code>" + escaped(span->inner, format) + "</code>"
                    : fmt::format("`{}`", span->inner);
        break;
      case Span::Kind::bold: {
        const std::string inner = rendered(span->inner, format);
        out += html ? "<strong>" + inner + "</strong>" : "**" + inner + "**";
        break;
      }
      case Span::Kind::link: {
        const std::string inner = rendered(span->inner, format);
        if (!html && out.ends_with('!')) out.insert(out.size() - 1, "\\");  // not an image
        out += html ? fmt::format(R"(<a href="{}">{}</a>)", escaped(span->url, format), inner)
                    : fmt::format("[{}]({})", inner, span->url);
        break;
      }
    }
  }
  return out + escaped(text.substr(literal), format);
}

std::string html(std::string_view text) { return rendered(text, Format::html); }

/// At the beginning of a line more characters mean something: "- ", "1. ", "> ", "===".
std::string markdown(std::string_view text) {
  std::string line = rendered(text, Format::markdown);
  const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
  const bool number = digits > 0 && digits < line.size() &&
                      (line[digits] == '.' || line[digits] == ')') &&
                      (digits + 1 == line.size() || line[digits + 1] == ' ');
  if (number) line.insert(digits, "\\");
  if (line.find_first_of("-+=>") == 0) line.insert(0, "\\");
  return line;
}

// ---- Anchors ------------------------------------------------------------------------------------

/// The names GitHub gives to headings, so that one link works in both forms; of other alphabets
/// than ours the letters are left out.
class Anchors {
 public:
  std::string add(std::string_view heading) {
    std::string name;
    for (const char c : heading) {
      if (c >= 'A' && c <= 'Z') name += static_cast<char>(c - 'A' + 'a');
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') name += c;
      if (c == ' ') name += '-';
    }
    if (name.empty()) name = "section";
    std::string unique = name;
    for (int n = 1; !taken_.insert(unique).second; ++n) unique = fmt::format("{}-{}", name, n);
    return unique;
  }

 private:
  std::set<std::string> taken_;
};

// ---- Figures ------------------------------------------------------------------------------------

/// Without what may stand around it in a file of its own. Empty if there is no SVG document.
std::string svg_element(const std::string& svg) {
  constexpr std::string_view close = "</svg>";
  const std::size_t first = svg.find("<svg");
  const std::size_t last = svg.rfind(close);
  if (first == npos || last == npos || last < first) return "";
  return svg.substr(first, last + close.size() - first);
}

/// Ids count for the whole page: each figure gets its own. Those of chart.h have none to begin
/// with.
std::string with_own_ids(std::string svg, const std::string& prefix) {
  constexpr std::string_view mark = " id=\"";
  std::set<std::string> ids;
  for (auto at = svg.find(mark); at != npos; at = svg.find(mark, at)) {
    at += mark.size();
    ids.insert(svg.substr(at, svg.find('"', at) - at));
  }
  using Around = std::pair<const char*, const char*>;
  constexpr std::array<Around, 4> uses = {
      {{" id=\"", "\""}, {"\"#", "\""}, {"url(#", ")"}, {"aria-labelledby=\"", "\""}}};
  for (const std::string& id : ids)
    for (const auto& [before, after] : uses)
      replace_all(svg, fmt::format("{}{}{}", before, id, after),
                  fmt::format("{}{}{}{}", before, prefix, id, after));
  return svg;
}

/// So do style sheets. Those of chart.h only touch charts and are all the same: one is enough.
std::string with_new_style(std::string svg, std::set<std::string>& known_styles) {
  constexpr std::string_view close = "</style>";
  const std::size_t first = svg.find("<style");
  const std::size_t last = svg.find(close);
  if (first == npos || last == npos || last < first) return svg;
  const std::size_t length = last + close.size() - first;
  if (!known_styles.insert(svg.substr(first, length)).second) svg.erase(first, length);
  return svg;
}

// ---- The style of the page ----------------------------------------------------------------------

// The colours are those of the charts. Text keeps to a width that is comfortable to read; tables
// and figures may take the whole page, and what is wider scrolls in its own frame.
constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--paper:#ffffff;--ink:#1f2328;--muted:#59636e;--line:#e6e9ec;--rule:#8c959f;--tint:#f4f6f8;--accent:#0072b2;--shade:rgba(31,35,40,.13)}
@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e6edf3;--muted:#9ba5b0;--line:#2a3037;--rule:#6b7580;--tint:#1c2229;--accent:#4c9fe6;--shade:rgba(155,165,176,.22)}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:break-word}
main{max-width:72rem;margin:0 auto;padding:clamp(1.5rem,5vw,4rem) clamp(1rem,4vw,2.5rem) 5rem}
h1,h2,h3{line-height:1.25;font-weight:650;letter-spacing:-.012em;text-wrap:balance}
h1{margin:0 0 1.5rem;max-width:44rem;font-size:clamp(1.65rem,1.3rem + 1.6vw,2.25rem)}
h2{margin:3.25rem 0 .9rem;padding-top:1.1rem;border-top:1px solid var(--line);font-size:1.4rem}
h3{margin:2.25rem 0 .6rem;font-size:1.1rem}
p,ul,.note,figcaption{max-width:44rem}
p,ul{margin:0 0 1rem}
ul{padding-left:1.3rem}
li{margin:.3rem 0}
li::marker{color:var(--rule)}
a{color:var(--accent);text-decoration-thickness:1px;text-underline-offset:.18em}
a:hover{text-decoration-thickness:2px}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
strong{font-weight:650}
code{padding:.12em .34em;border-radius:4px;background:var(--tint);font:.875em/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
.contents{margin:0 0 2.5rem;padding:.9rem 0;border-top:1px solid var(--line);font-size:.9375rem}
.contents p{margin:0 0 .3rem;color:var(--muted);font-size:.8125rem;font-weight:600}
.contents ul{max-width:none;margin:0;padding:0;list-style:none;columns:18rem;column-gap:2.5rem}
.contents li{margin:0;padding:.14rem 0;break-inside:avoid}
.contents ul ul{padding-left:1.1rem;columns:auto}
.contents a{color:inherit;text-decoration:none}
.contents ul ul a{color:var(--muted)}
.contents a:hover{color:var(--accent);text-decoration:underline}
.note{margin:1.4rem 0;padding:.75rem 1.1rem;border-left:3px solid var(--accent);border-radius:0 6px 6px 0;background:var(--tint)}
figure{margin:1.9rem 0 2.2rem}
figcaption{color:var(--muted);font-size:.875rem;line-height:1.5}
figcaption strong{color:var(--ink)}
.table figcaption{margin-bottom:.6rem}
.chart figcaption{margin-top:.6rem}
.chart .scroll{width:fit-content;max-width:100%;border:1px solid var(--line);border-radius:6px;background:none}
.scroll{overflow-x:auto;background:linear-gradient(to left,var(--paper) 40%,transparent) right/2.5rem 100% no-repeat local,linear-gradient(to left,var(--shade),transparent) right/.8rem 100% no-repeat scroll}
.chart svg:not(svg svg){display:block;max-width:max(100%,30rem);height:auto}
table{width:max-content;border-collapse:separate;border-spacing:0;border-bottom:2px solid var(--rule);border-top:2px solid var(--rule);font-size:.875rem;line-height:1.4;font-variant-numeric:tabular-nums lining-nums}
th,td{max-width:26rem;padding:.42rem .8rem;text-align:left;vertical-align:baseline;font-weight:400}
thead th,thead td{vertical-align:bottom;font-weight:600}
tbody th,tbody td{border-top:1px solid var(--line)}
tbody tr:first-child th,tbody tr:first-child td{border-top:1px solid var(--rule)}
tbody+tbody tr:first-child th,tbody+tbody tr:first-child td{border-top:2px solid var(--rule)}
tbody tr:hover th,tbody tr:hover td{background:var(--tint)}
.right{text-align:right;white-space:nowrap}
.centre{text-align:center}
.start{padding-left:1.7rem}
th[scope=colgroup]{position:relative;padding-bottom:.3rem;text-align:center;white-space:nowrap}
th[scope=colgroup]::after{content:"";position:absolute;left:.8rem;right:.8rem;bottom:0;border-bottom:1px solid var(--rule)}
th.start[scope=colgroup]::after{left:1.7rem}
.key{position:sticky;left:0;z-index:1;max-width:min(20rem,40vw);padding-left:0;background:var(--paper)}
@media print{
@page{margin:16mm}
body{font-size:10pt}
main{max-width:none;padding:0}
h2,h3,.table figcaption{break-after:avoid}
.chart,.note,tr{break-inside:avoid}
.scroll{overflow:visible;background:none}
.chart svg:not(svg svg){max-width:100%}
table{width:auto;font-size:7.5pt}
th,td{padding:.2rem .4rem}
.start{padding-left:.8rem}
th.start[scope=colgroup]::after{left:.8rem;right:.4rem}
.right{white-space:normal}
.key{position:static;padding-left:0}
a{color:inherit}
}
)";

}  // namespace

// ---- What is in it ------------------------------------------------------------------------------

Document::Document(const std::string& title) : title_(trimmed_line(title)) {}

void Document::heading(const std::string& text) {
  blocks_.emplace_back(Heading{2, trimmed_line(text)});
}

void Document::subheading(const std::string& text) {
  blocks_.emplace_back(Heading{3, trimmed_line(text)});
}

void Document::paragraph(const std::string& text) {
  if (std::string line = trimmed_line(text); !line.empty())
    blocks_.emplace_back(Paragraph{std::move(line)});
}

void Document::list(std::vector<std::string> items) {
  for (std::string& item : items) item = trimmed_line(item);
  if (!items.empty()) blocks_.emplace_back(List{std::move(items)});
}

void Document::note(const std::string& text) {
  if (std::string line = trimmed_line(text); !line.empty())
    blocks_.emplace_back(Note{std::move(line)});
}

void Document::table(Table table, const std::string& caption) {
  blocks_.emplace_back(CaptionedTable{std::move(table), trimmed_line(caption)});
}

void Document::figure(std::string name, std::string svg, const std::string& caption) {
  const auto in_file_names = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  if (name.empty() || !std::ranges::all_of(name, in_file_names))
    throw std::invalid_argument(fmt::format(
        "a figure is named with letters, digits, \"-\" and \"_\", and not \"{}\"", name));
  if (std::ranges::find(figures_, name, &Figure::name) != figures_.end())
    throw std::invalid_argument(fmt::format("there are two figures named \"{}\"", name));
  if (svg_element(svg).empty())
    throw std::invalid_argument(fmt::format("the figure \"{}\" is not an SVG document", name));
  figures_.push_back({std::move(name), std::move(svg), trimmed_line(caption)});
  blocks_.emplace_back(FigureNumber{figures_.size()});
}

// ---- HTML ---------------------------------------------------------------------------------------

struct Document::HtmlWriter {
  const Document& document;
  Anchors anchors = {};
  std::set<std::string> styles = {};
  std::vector<Heading> sections = {};  // with links for texts
  std::string body = {};

  void operator()(const Heading& heading) {
    const std::string anchor = anchors.add(heading.text);
    const std::string text = escape_xml(heading.text);
    sections.push_back({heading.level, fmt::format("<a href=\"#{}\">{}</a>", anchor, text)});
    body += fmt::format("<h{0} id=\"{1}\">{2}</h{0}>\n", heading.level, anchor, text);
  }
  void operator()(const Paragraph& paragraph) { body += "<p>" + html(paragraph.text) + "</p>\n"; }
  void operator()(const List& list) {
    body += "<ul>\n";
    for (const std::string& item : list.items) body += "<li>" + html(item) + "</li>\n";
    body += "</ul>\n";
  }
  void operator()(const Note& note) {
    body += "<aside class=\"note\">" + html(note.text) + "</aside>\n";
  }
  void operator()(const CaptionedTable& table) {
    framed("table", "Table", table.caption, table.table.to_html());
  }
  void operator()(const FigureNumber& figure) {
    const auto& [name, svg, caption] = document.figures_[figure.number - 1];
    // Anchors have no dot: these ids cannot be taken.
    const std::string own = with_own_ids(svg_element(svg), fmt::format("{}.", name));
    framed("chart", "Figure", caption, with_new_style(own, styles) + "\n");
  }

  /// A list of the headings, with the subheadings of each as a list of its own.
  std::string contents() const {
    if (sections.empty()) return "";
    std::string items;
    for (std::size_t i = 0; i < sections.size();) {
      const Heading& section = sections[i++];
      std::string under;
      for (; section.level == 2 && i < sections.size() && sections[i].level == 3; ++i)
        under += "<li>" + sections[i].text + "</li>\n";
      if (!under.empty()) under = fmt::format("\n<ul>\n{}</ul>\n", under);
      items += fmt::format("<li>{}{}</li>\n", section.text, under);
    }
    return fmt::format(
        "<nav class=\"contents\" aria-label=\"Contents\">\n<p>Contents</p>\n"
        "<ul>\n{}</ul>\n</nav>\n",
        items);
  }

  /// In a frame that scrolls, with the keyboard as well, and so needs a name. As is usual, tables
  /// have their caption above and figures below.
  void framed(std::string_view css, std::string_view kind, const std::string& caption,
              const std::string& content) {
    const std::string frame = fmt::format(
        "<div class=\"scroll\" role=\"region\" aria-label=\"{}\" tabindex=\"0\">\n{}</div>\n", kind,
        content);
    const std::string text =
        caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>\n", html(caption));
    body += fmt::format("<figure class=\"{}\">\n{}</figure>\n", css,
                        kind == "Table" ? text + frame : frame + text);
  }
};

std::string Document::to_html() const {
  HtmlWriter writer{.document = *this};
  for (const Block& block : blocks_) std::visit(writer, block);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n{2}{3}"
      "</main>\n</body>\n</html>\n",
      escape_xml(title_), kStyle, writer.contents(), writer.body);
}

// ---- Markdown -----------------------------------------------------------------------------------

struct Document::MarkdownWriter {
  const Document& document;
  std::string figure_directory;  // empty, or with a slash at the end
  std::string text = {};

  void operator()(const Heading& heading) {
    text +=
        fmt::format("\n{} {}\n", heading.level == 3 ? "###" : "##", escape_markdown(heading.text));
  }
  void operator()(const Paragraph& paragraph) { text += "\n" + markdown(paragraph.text) + "\n"; }
  void operator()(const List& list) {
    text += '\n';
    for (const std::string& item : list.items) text += fmt::format("- {}\n", markdown(item));
  }
  void operator()(const Note& note) { text += "\n> " + markdown(note.text) + "\n"; }
  void operator()(const CaptionedTable& table) {
    if (!table.caption.empty()) text += "\n" + markdown(table.caption) + "\n";
    text += "\n" + table.table.to_markdown();
  }
  void operator()(const FigureNumber& figure) {
    const auto& [name, svg, caption] = document.figures_[figure.number - 1];
    const std::string label = rendered(caption, Format::markdown);
    const std::string file = figure_directory + name + ".svg";
    text += fmt::format("\n![{}]({})\n", label.empty() ? escape_markdown(name) : label,
                        file.find_first_of(" ()") == npos ? file : "<" + file + ">");
    // What stands for an image that can be seen is not shown.
    if (!label.empty()) text += "\n" + markdown(caption) + "\n";
  }
};

std::string Document::to_markdown(const std::string& figure_directory) const {
  MarkdownWriter writer{.document = *this, .figure_directory = figure_directory};
  if (!figure_directory.empty() && !figure_directory.ends_with('/')) writer.figure_directory += '/';
  writer.text = "# " + escape_markdown(title_) + "\n";
  for (const Block& block : blocks_) std::visit(writer, block);
  return writer.text;
}

}  // namespace kalstream::view

#include "view/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "view/chart.h"

namespace kalstream::view {
namespace {

constexpr auto npos = std::string_view::npos;

// ---- Inline markup ------------------------------------------------------------------------------

struct Span {
  std::size_t length = 0;  // with its marks
  std::string_view inner = {};
  bool is_code = false;
};

/// The `code` or **bold** that begins where `text` begins; malformed markup is no markup.
std::optional<Span> span_at(std::string_view text) {
  const bool is_code = text.starts_with('`');
  if (!is_code && !text.starts_with("**")) return {};
  const std::size_t mark = is_code ? 1 : 2;
  std::size_t end = mark;
  for (; end < text.size() && !text.substr(end).starts_with(text.substr(0, mark)); ++end) {
    // Asterisks inside of code are code.
    if (text[end] == '`')
      if (const auto code = span_at(text.substr(end))) end += code->length - 1;
  }
  const std::string_view inner = text.substr(mark, std::min(end, text.size()) - mark);
  if (end >= text.size() || inner.empty()) return {};
  if (!is_code && (inner.starts_with(' ') || inner.ends_with(' '))) return {};
  return Span{end + mark, inner, is_code};
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
    if (span->is_code)
      out += html ? "<code>" + escaped(span->inner, format) + "</code>"
                  : fmt::format("`{}`", span->inner);
    else
      out += fmt::format(fmt::runtime(html ? "<strong>{}</strong>" : "**{}**"),
                         rendered(span->inner, format));
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

std::string html_caption(const std::string& caption) {
  return fmt::format("<figcaption>{}</figcaption>\n", html(caption));
}

/// It scrolls, with the keyboard as well, and so needs a name.
std::string in_scrolling_frame(std::string_view name, const std::string& content) {
  return fmt::format(
      "<div class=\"scroll\" role=\"region\" aria-label=\"{}\" tabindex=\"0\">\n{}</div>\n", name,
      content);
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

Document::Document(const std::string& title)
    : title_(escape_xml(title)), markdown_("# " + escape_markdown(title) + "\n") {}

void Document::heading(const std::string& text) { add_heading(2, text); }
void Document::subheading(const std::string& text) { add_heading(3, text); }

void Document::add_heading(int level, const std::string& text) {
  const std::string anchor = anchor_of(text);
  const std::string shown = escape_xml(text);
  sections_.push_back({level, fmt::format("<a href=\"#{}\">{}</a>", anchor, shown)});
  html_ += fmt::format("<h{0} id=\"{1}\">{2}</h{0}>\n", level, anchor, shown);
  markdown_ += fmt::format("\n{} {}\n", level == 3 ? "###" : "##", escape_markdown(text));
}

void Document::paragraph(const std::string& text) {
  html_ += "<p>" + html(text) + "</p>\n";
  markdown_ += "\n" + markdown(text) + "\n";
}

void Document::list(const std::vector<std::string>& items) {
  html_ += "<ul>\n";
  markdown_ += '\n';
  for (const std::string& item : items) {
    html_ += "<li>" + html(item) + "</li>\n";
    markdown_ += "- " + markdown(item) + "\n";
  }
  html_ += "</ul>\n";
}

void Document::note(const std::string& text) {
  html_ += "<aside class=\"note\">" + html(text) + "</aside>\n";
  markdown_ += "\n> " + markdown(text) + "\n";
}

// As is usual, tables have their caption above and figures below.
void Document::table(const Table& table, const std::string& caption) {
  const std::string above = caption.empty() ? "" : html_caption(caption);
  html_ += fmt::format("<figure class=\"table\">\n{}{}</figure>\n", above,
                       in_scrolling_frame("Table", table.to_html()));
  if (!caption.empty()) markdown_ += "\n" + markdown(caption) + "\n";
  markdown_ += "\n" + table.to_markdown();
}

void Document::figure(const std::string& name, const std::string& svg, const std::string& caption) {
  std::string shown = svg;
  // The style sheet of the first chart counts for the whole page.
  const std::size_t style = figures_.empty() ? npos : shown.find("<style>");
  if (style != npos) shown.erase(style, shown.find("</style>") + 8 - style);
  figures_.push_back({name, svg});
  html_ += fmt::format("<figure class=\"chart\">\n{}{}</figure>\n",
                       in_scrolling_frame("Figure", shown), html_caption(caption));
  // What stands for an image that can be seen is not shown.
  markdown_ += fmt::format("\n![{}](figures/{}.svg)\n\n{}\n", rendered(caption, Format::markdown),
                           name, markdown(caption));
}

// Headings have the names that GitHub gives them, so that one link works in both forms; of other
// alphabets than ours the letters are left out.
std::string Document::anchor_of(std::string_view heading) {
  std::string name;
  for (const char c : heading) {
    if (c >= 'A' && c <= 'Z') name += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') name += c;
    if (c == ' ') name += '-';
  }
  if (name.empty()) name = "section";
  std::string unique = name;
  for (int n = 1; !anchors_.insert(unique).second; ++n) unique = fmt::format("{}-{}", name, n);
  return unique;
}

// The headings, with the subheadings of each as a list of its own.
std::string Document::html_contents() const {
  if (sections_.empty()) return "";
  std::string items;
  for (std::size_t i = 0; i < sections_.size();) {
    const Section& section = sections_[i++];
    std::string under;
    for (; section.level == 2 && i < sections_.size() && sections_[i].level == 3; ++i)
      under += "<li>" + sections_[i].link + "</li>\n";
    if (!under.empty()) under = fmt::format("\n<ul>\n{}</ul>\n", under);
    items += fmt::format("<li>{}{}</li>\n", section.link, under);
  }
  return fmt::format(
      "<nav class=\"contents\" aria-label=\"Contents\">\n<p>Contents</p>\n"
      "<ul>\n{}</ul>\n</nav>\n",
      items);
}

std::string Document::to_html() const {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n{2}{3}"
      "</main>\n</body>\n</html>\n",
      title_, kStyle, html_contents(), html_);
}

}  // namespace kalstream::view

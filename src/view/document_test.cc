#include "view/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "view/chart.h"
#include "view/table.h"
#include "view/test_support.h"

namespace kalstream::view {
namespace {

/// Without the part that is not XML.
std::string html_error(const std::string& html) {
  const std::string doctype = "<!doctype html>\n";
  return html.starts_with(doctype) ? xml_error(html.substr(doctype.size())) : "no doctype";
}

std::string html_of(const std::string& paragraph) {
  Document document("t");
  document.paragraph(paragraph);
  const std::string html = document.to_html();
  EXPECT_EQ(html_error(html), "");
  const auto first = html.find("<p>") + 3;
  return html.substr(first, html.find("</p>") - first);
}

std::string markdown_of(const std::string& paragraph) {
  Document document("t");
  document.paragraph(paragraph);
  const std::string begin = "# t\n\n";
  const std::string text = document.to_markdown();
  EXPECT_TRUE(text.starts_with(begin) && text.ends_with('\n'));
  return text.substr(begin.size(), text.size() - begin.size() - 1);
}

std::string chart(const std::string& title) {
  Panel panel;
  panel.series.push_back({.name = "line", .x = {}, .y = {1, 2, 3}});
  return line_chart({panel}, {.title = title});
}

Table grouped() {
  Table table({{"learner", Align::left}, {"NSE"}, {"time"}, {"NSE"}, {"note"}});
  table.set_groups({{"", 1}, {"kin8nm", 2}, {"elevators", 1}});
  table.add_row({"EKF", "0.12", "3 s", best("0.5"), "a"});
  table.add_rule();
  table.add_row({"Adam", "0.1", "1 s", "0.25"});
  return table;
}

/// With one of everything.
Document example() {
  Document document("Results & <more>");
  document.paragraph("See **all** of `it`.");
  document.heading("Costs");
  document.subheading("Time, in µs");
  document.list({"one", "**two**"});
  document.note("Mind *this*.");
  document.table(grouped(), "All `learners`");
  document.table(grouped());
  document.figure("time", chart("Time"), "Time of a step");
  document.heading("Costs");
  document.figure("room", chart("Room"), "Memory & more");
  return document;
}

// ---- Inline markup ------------------------------------------------------------------------------

TEST(InlineMarkup, BoldAndCode) {
  EXPECT_EQ(html_of("a **b** `c` [d](e.md)"), "a <strong>b</strong> <code>c</code> [d](e.md)");
  EXPECT_EQ(html_of("**a `b`**"), "<strong>a <code>b</code></strong>");
  EXPECT_EQ(html_of("`**a** [b](c)`"), "<code>**a** [b](c)</code>");
  EXPECT_EQ(html_of("**a `**` b**"), "<strong>a <code>**</code> b</strong>");
}

TEST(InlineMarkup, MalformedStaysAsItIs) {
  for (const std::string text :
       {"**",    "****",    "** a **",  "**a", "a**", "*a*",  "_a_",   "`",
        "``",    "`a",      "[",        "[]",  "[a]", "[a](", "[a](b", "[](b)",
        "[a]()", "[a] (b)", "[a](b c)", "# a", "- a", "**[`", "]("})
    EXPECT_EQ(html_of(text), text);
}

TEST(InlineMarkup, TextIsEscaped) {
  EXPECT_EQ(html_of("<script>alert('x & \"y\"')</script>"),
            "&lt;script&gt;alert(&#39;x &amp; &quot;y&quot;&#39;)&lt;/script&gt;");
  EXPECT_EQ(html_of("**<b>** `<i>`"), "<strong>&lt;b&gt;</strong> <code>&lt;i&gt;</code>");
  EXPECT_EQ(html_of("a\nb\xff"), "a b\ufffd");
}

TEST(InlineMarkup, MarkdownKeepsMarkupAndNothingElse) {
  EXPECT_EQ(markdown_of("a **b** `c*`."), "a **b** `c*`.");
  EXPECT_EQ(markdown_of("a*b*c _d_ e_f `g ~h $i"), "a\\*b\\*c \\_d\\_ e_f \\`g \\~h \\$i");
  EXPECT_EQ(markdown_of("a < b, <c>, R&D, x & y, #1"), "a < b, \\<c>, R\\&D, x & y, \\#1");
  EXPECT_EQ(markdown_of("Look![a](b)"), "Look!\\[a](b)");
  EXPECT_EQ(markdown_of("a\n\n# b"), "a  \\# b");
}

TEST(InlineMarkup, ParagraphsStartNoOtherBlock) {
  EXPECT_EQ(markdown_of("# a"), "\\# a");
  EXPECT_EQ(markdown_of("- a"), "\\- a");
  EXPECT_EQ(markdown_of("> a"), "\\> a");
  EXPECT_EQ(markdown_of("---"), "\\---");
  EXPECT_EQ(markdown_of("12. a"), "12\\. a");
  EXPECT_EQ(markdown_of("0.5 of 3) b"), "0.5 of 3) b");
  EXPECT_EQ(markdown_of("**a** b"), "**a** b");
}

// ---- Tables -------------------------------------------------------------------------------------

TEST(HtmlTable, AlignsMarksTheBestAndDividesAtRules) {
  Table table({{"learner", Align::left}, {"NSE"}, {"kind"}, {"", Align::left}});
  table.add_rule();
  table.add_row({"EKF", best("0.1"), "x"});
  table.add_rule();
  table.add_rule();
  table.add_row({"<i>", "0.2 & more"});
  table.add_rule();
  EXPECT_EQ(
      table.to_html(),
      "<table>\n<thead>\n"
      "<tr><th scope=\"col\" class=\"key\">learner</th><th scope=\"col\" class=\"right\">NSE</th>"
      "<th scope=\"col\" class=\"right\">kind</th><td></td></tr>\n"
      "</thead>\n<tbody>\n"
      "<tr><th scope=\"row\" class=\"key\">EKF</th><td class=\"right\"><strong>0.1</strong></td>"
      "<td class=\"right\">x</td><td></td></tr>\n"
      "</tbody>\n<tbody>\n"
      "<tr><th scope=\"row\" class=\"key\">&lt;i&gt;</th><td class=\"right\">0.2 &amp; more</td>"
      "<td class=\"right\"></td><td></td></tr>\n"
      "</tbody>\n</table>\n");
}

TEST(HtmlTable, GroupsSpanTheirColumns) {
  const std::string html = grouped().to_html();
  EXPECT_EQ(xml_error(html), "");
  EXPECT_TRUE(contains(html,
                       "<tr><th scope=\"col\" rowspan=\"2\" class=\"key\">learner</th>"
                       "<th scope=\"colgroup\" colspan=\"2\" class=\"start\">kin8nm</th>"
                       "<th scope=\"colgroup\" colspan=\"1\" class=\"start\">elevators</th>"
                       "<th scope=\"col\" rowspan=\"2\" class=\"right start\">note</th></tr>\n"
                       "<tr><th scope=\"col\" class=\"right start\">NSE</th>"
                       "<th scope=\"col\" class=\"right\">time</th>"
                       "<th scope=\"col\" class=\"right start\">NSE</th></tr>\n"));
  EXPECT_EQ(count(html, "<colgroup "), 4u);
  EXPECT_EQ(xml_error(Table({}).to_html()), "");
}

TEST(GroupedTable, MarkdownNamesTheGroupInEachHeader) {
  EXPECT_TRUE(grouped().to_markdown().starts_with(
      "| learner | kin8nm NSE | kin8nm time | elevators NSE | note |\n"));
}

TEST(MarkdownTable, CellsAreShownAsTheyAre) {
  Table table({{"a_b", Align::left}});
  table.add_row({"<script> *x* a|b"});
  EXPECT_EQ(table.to_markdown(), "| a_b |\n|:---|\n| \\<script> \\*x\\* a\\|b |\n");
}

// ---- Documents ----------------------------------------------------------------------------------

TEST(DocumentHtml, IsSoundAndNeedsNothingElse) {
  const std::string html = example().to_html();
  EXPECT_EQ(html_error(html), "");
  EXPECT_TRUE(contains(html, "<html lang=\"en\">"));
  EXPECT_TRUE(contains(html, "<title>Results &amp; &lt;more&gt;</title>"));
  EXPECT_TRUE(contains(html, "<h1>Results &amp; &lt;more&gt;</h1>"));
  EXPECT_TRUE(contains(html, "name=\"viewport\""));
  EXPECT_TRUE(contains(html, "<aside class=\"note\">Mind *this*.</aside>"));
  EXPECT_TRUE(contains(html, "<figcaption>All <code>learners</code></figcaption>"));
  EXPECT_TRUE(contains(html, "<figcaption>Memory &amp; more</figcaption>"));
  EXPECT_EQ(count(html, "<figcaption>"), 3u);
  for (const char* outside : {"<script", "<link", "<img", "@import", "url(", " src="})
    EXPECT_FALSE(contains(html, outside)) << outside;
  EXPECT_EQ(html_error(Document("").to_html()), "");
  EXPECT_FALSE(contains(Document("").to_html(), "<nav"));
}

TEST(DocumentHtml, ContentsLeadToHeadings) {
  const std::string html = example().to_html();
  EXPECT_TRUE(contains(html,
                       "<ul>\n<li><a href=\"#costs\">Costs</a>\n<ul>\n"
                       "<li><a href=\"#time-in-s\">Time, in µs</a></li>\n</ul>\n</li>\n"
                       "<li><a href=\"#costs-1\">Costs</a></li>\n</ul>\n"));
  EXPECT_TRUE(contains(html, "<h2 id=\"costs\">Costs</h2>"));
  EXPECT_TRUE(contains(html, "<h3 id=\"time-in-s\">Time, in µs</h3>"));
  EXPECT_TRUE(contains(html, "<h2 id=\"costs-1\">Costs</h2>"));
}

TEST(DocumentHtml, ASubheadingNeedsNoHeading) {
  Document document("t");
  document.subheading("θ");
  document.subheading("<script>");
  const std::string html = document.to_html();
  EXPECT_EQ(html_error(html), "");
  EXPECT_TRUE(contains(html, "<li><a href=\"#section\">θ</a></li>\n"));
  EXPECT_TRUE(contains(html, "<h3 id=\"script\">&lt;script&gt;</h3>"));
}

TEST(DocumentHtml, AllTextsAreEscaped) {
  const std::string evil = "<script>\"&'</script>";
  Table table({{evil}, {evil}});
  table.set_groups({{evil, 2}});
  table.add_row({evil, best(evil)});
  Document document(evil);
  document.heading(evil);
  document.subheading(evil);
  document.paragraph(evil);
  document.list({evil});
  document.note(evil);
  document.table(table, evil);
  document.figure("f", chart(evil), evil);
  const std::string html = document.to_html();
  EXPECT_EQ(html_error(html), "");
  EXPECT_FALSE(contains(html, "<script"));
  EXPECT_FALSE(contains(document.to_markdown(), " <script"));
}

std::vector<std::string> ids(const std::string& html) {
  const std::string mark = " id=\"";
  std::vector<std::string> all;
  for (auto at = html.find(mark); at != std::string::npos; at = html.find(mark, at)) {
    at += mark.size();
    all.push_back(html.substr(at, html.find('"', at) - at));
  }
  return all;
}

// In HTML a style sheet inside of a figure counts for the whole page.
TEST(DocumentHtml, ChartsShareOneStyleThatTouchesChartsOnly) {
  const std::string html = example().to_html();
  EXPECT_EQ(count(html, "<svg xmlns"), 2u);
  EXPECT_EQ(count(html, "<style>"), 2u);  // the page's and the charts'
  EXPECT_FALSE(contains(html.substr(0, html.find("</style>")), "kalstream"));

  const auto heat = heat_map({});
  const auto bars = bar_chart({});
  for (const std::string& svg : {chart("Time"), heat, bars}) {
    EXPECT_TRUE(ids(svg).empty());
    const auto first = svg.find("<style>") + 7;
    std::string style = svg.substr(first, svg.find("</style>") - first);
    // Each rule is on a line of its own, and each of its selectors is below the class of charts.
    for (std::size_t at = 0, end = 0; at < style.size(); at = end + 1) {
      end = std::min(style.find('\n', at), style.size());
      const std::string line = style.substr(at, end - at);
      if (line.empty() || line.starts_with("@media") || line == "}") continue;
      const std::string selectors = "," + line.substr(0, line.find('{'));
      EXPECT_EQ(count(selectors, ","), count(selectors, ",.kalstream")) << line;
    }
  }
}

TEST(DocumentMarkdown, HasTheSameParts) {
  EXPECT_EQ(example().to_markdown(),
            "# Results & \\<more>\n"
            "\n"
            "See **all** of `it`.\n"
            "\n"
            "## Costs\n"
            "\n"
            "### Time, in µs\n"
            "\n"
            "- one\n"
            "- **two**\n"
            "\n"
            "> Mind \\*this\\*.\n"
            "\n"
            "All `learners`\n"
            "\n" +
                grouped().to_markdown() + "\n" + grouped().to_markdown() +
                "\n"
                "![Time of a step](figures/time.svg)\n"
                "\n"
                "Time of a step\n"
                "\n"
                "## Costs\n"
                "\n"
                "![Memory & more](figures/room.svg)\n"
                "\n"
                "Memory & more\n");
}

}  // namespace
}  // namespace kalstream::view

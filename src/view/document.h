// Reports that are written once and read as a web page and as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "view/table.h"

namespace kalstream::view {

struct Figure {
  std::string name = {};  ///< of its file, without ".svg"
  std::string svg = {};
  std::string caption = {};
};

/// Paragraphs, list items, notes and captions know **bold**, `code` and [text](url), where url is
/// http, https or relative. All else, and all of titles, headings and cells, is shown as it stands.
/// A link to "#noise-floor" leads to the heading "Noise floor" in both forms.
class Document {
 public:
  explicit Document(const std::string& title);

  void heading(const std::string& text);
  void subheading(const std::string& text);
  void paragraph(const std::string& text);
  void list(std::vector<std::string> items);
  void note(const std::string& text);  ///< a remark that stands out

  void table(Table table, const std::string& caption = "");

  /// `svg` is one of chart.h, or another one that can be trusted: it is not searched for scripts,
  /// and its style sheet counts for the whole page. Throws std::invalid_argument if it is no SVG
  /// document, or if `name` is taken or has more than letters, digits, "-" and "_".
  void figure(std::string name, std::string svg, const std::string& caption);

  /// One file that needs no other: no script, font, style sheet or image from elsewhere.
  std::string to_html() const;

  /// The figures are links to figure_directory/name.svg; the caller writes these files.
  std::string to_markdown(const std::string& figure_directory) const;

  const std::vector<Figure>& figures() const { return figures_; }

 private:
  struct Heading {
    int level = 2;
    std::string text = {};
  };
  struct Paragraph {
    std::string text = {};
  };
  struct List {
    std::vector<std::string> items = {};
  };
  struct Note {
    std::string text = {};
  };
  struct CaptionedTable {
    Table table;
    std::string caption = {};
  };
  struct FigureNumber {
    std::size_t number = 0;  // from 1
  };
  using Block = std::variant<Heading, Paragraph, List, Note, CaptionedTable, FigureNumber>;

  struct HtmlWriter;
  struct MarkdownWriter;

  std::string title_;
  std::vector<Block> blocks_;
  std::vector<Figure> figures_;
};

}  // namespace kalstream::view

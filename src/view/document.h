// Reports that are written once and read as a web page and as Markdown.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "view/table.h"

namespace kalstream::view {

/// Paragraphs, list items, notes and captions know **bold** and `code`. All else, and all of
/// titles, headings and cells, is shown as it stands.
class Document {
 public:
  struct Figure {
    std::string name;  ///< of its file, without ".svg"
    std::string svg;
  };

  explicit Document(const std::string& title);

  void heading(const std::string& text);
  void subheading(const std::string& text);
  void paragraph(const std::string& text);
  void list(const std::vector<std::string>& items);
  void note(const std::string& text);  ///< a remark that stands out
  void table(const Table& table, const std::string& caption = "");
  /// `svg` is one of chart.h; a name of letters, digits, "-" and "_" that no other figure has.
  void figure(const std::string& name, const std::string& svg, const std::string& caption);

  /// One file that needs no other: no script, font, style sheet or image from elsewhere.
  std::string to_html() const;
  /// The figures are links to figures/NAME.svg; the caller writes these files.
  const std::string& to_markdown() const { return markdown_; }
  const std::vector<Figure>& figures() const { return figures_; }

 private:
  struct Section {
    int level = 2;
    std::string link;  // in HTML
  };

  void add_heading(int level, const std::string& text);
  std::string anchor_of(std::string_view heading);
  std::string html_contents() const;

  std::string title_;  // in HTML
  std::string html_;
  std::string markdown_;
  std::vector<Section> sections_;
  std::set<std::string> anchors_;
  std::vector<Figure> figures_;
};

}  // namespace kalstream::view

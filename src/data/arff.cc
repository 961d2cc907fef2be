// Weka's attribute-relation files, as far as they are dense.
#include <algorithm>
#include <array>

#include "data/record_file.h"
#include "lines/delimited.h"
#include "schema/dataset.h"

namespace kalstream {
namespace {

/// Cuts the next word off `rest`: what is between quotes, or what precedes a blank or a bracket.
std::string_view take_word(std::string_view& rest) {
  rest = trim(rest);
  const bool quotes = !rest.empty() && (rest.front() == '\'' || rest.front() == '"');
  const std::size_t begin = quotes ? 1 : 0;
  const std::size_t end =
      std::min(quotes ? rest.find(rest.front(), 1) : rest.find_first_of(" \t{["), rest.size());
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(std::min(end + begin, rest.size()));
  return word;
}

class ArffRecords final : public RecordFile {
 public:
  ArffRecords(std::string path, std::string text)
      : path_(std::move(path)), text_(std::move(text)), rest_(text_) {
    read_attributes();
  }

  bool next(Record& record) override {
    if (!next_line()) return false;
    if (content_.front() == '{')
      fail("sparse rows are not supported; write all values of a row, separated by commas");
    if (delimiter_ == 0)
      delimiter_ =
          content_.find(',') == content_.npos && content_.find('\t') != content_.npos ? '\t' : ',';
    try {
      delimited::split(content_, delimiter_, cells_, "'\"");
    } catch (const DataError& error) {
      fail(error.what());
    }
    if (cells_.size() != attributes_.size())
      fail("the row has " + std::to_string(cells_.size()) + " fields, but there are " +
           std::to_string(attributes_.size()) +
           " columns; complete the row (? marks a missing value) or remove it");
    add_row(record);
    return true;
  }

  std::size_t line() const override { return line_; }
  bool has_columns() const override { return !attributes_.empty(); }
  std::vector<std::string> texts() const override {
    std::vector<std::string> names;
    for (const Attribute& attribute : attributes_)
      if (!attribute.numeric) names.push_back(attribute.name);
    return names;
  }

 private:
  struct Attribute {
    std::string name;
    bool numeric = true;
  };

  [[noreturn]] void fail(const std::string& message) const { fail_at(path_, line_, message); }

  /// The next line that is neither blank nor a comment.
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t length = std::min(rest_.find('\n'), rest_.size());
      content_ = trim(rest_.substr(0, length));
      rest_.remove_prefix(std::min(length + 1, rest_.size()));
      ++line_;
      if (!content_.empty() && content_.front() != '%') return true;
    }
    return false;
  }

  /// Up to the @data line, or the end of a file that has none.
  void read_attributes() {
    while (next_line()) {
      std::string_view rest = content_;
      const std::string keyword = lower_case(take_word(rest));
      if (keyword == "@data") return;
      if (keyword == "@relation") continue;
      if (keyword != "@attribute")
        fail(shown(content_, '\'') +
             " is not part of an ARFF header; write @relation, @attribute or @data");
      add_attribute(rest);
    }
  }

  void add_attribute(std::string_view rest) {
    constexpr std::array<std::string_view, 3> numeric = {"numeric", "real", "integer"};
    constexpr std::array<std::string_view, 2> textual = {"string", "date"};
    Attribute attribute{.name = std::string(take_word(rest))};
    const std::string_view type = trim(rest);
    if (attribute.name.empty() || type.empty())
      fail("the attribute has no name or no type; write @attribute NAME numeric");
    const std::string word = lower_case(take_word(rest));
    attribute.numeric = std::ranges::find(numeric, word) != numeric.end();
    if (!attribute.numeric && type.front() != '{' &&
        std::ranges::find(textual, word) == textual.end())
      fail("attribute " + shown(attribute.name) + " has the type " + shown(word, '\'') +
           ", which is not known; write numeric, string, date or {its, values}");
    attributes_.push_back(std::move(attribute));
  }

  void add_row(Record& record) {
    record.clear();
    record.is_row = true;
    record.named = true;
    for (std::size_t k = 0; k < cells_.size(); ++k) {
      Value& value = record.add(attributes_[k].name);
      delimited::unquote(cells_[k], value.text);
      interpret(cells_[k].text, '.', value);
      // A category stays one even if its values look like numbers.
      if (!attributes_[k].numeric && value.kind != Value::Kind::missing)
        value.kind = Value::Kind::text;
    }
  }

  const std::string path_;
  const std::string text_;
  std::string_view rest_;
  std::string_view content_;  // of the current line
  std::size_t line_ = 0;
  std::vector<Attribute> attributes_;
  char delimiter_ = 0;
  delimited::Cells cells_;
};

}  // namespace

std::unique_ptr<RecordFile> open_arff(std::string path, std::string text) {
  return std::make_unique<ArffRecords>(std::move(path), std::move(text));
}

}  // namespace kalstream

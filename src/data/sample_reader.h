// Samples of a live stream, one line each: JSON or delimited text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/reader.h"

namespace kalstream {

class Archive;

/// What one line says.
struct Sample {
  enum class Kind : std::uint8_t {
    nothing,  ///< a blank line, a comment, a header
    inputs,   ///< inputs, perhaps with the target
    label,    ///< the target of an earlier sample, by its id
  };

  Kind kind = Kind::nothing;
  std::string id;           ///< empty: none
  bool id_is_text = false;  ///< in JSON: was written with quotes
  std::string key;          ///< empty: none
  std::vector<double> x;    ///< finite and of usable size; NaN: missing, where that is allowed
  std::size_t missing = 0;  ///< of x
  std::vector<double> d;    ///< as x, but all of it; empty: the target is missing
};

/// Which fields play which part; the first sample settles what is left open.
struct SampleFields {
  enum class Format : std::uint8_t { unknown, json, delimited };

  Format format = Format::unknown;
  ColumnChoice columns;   ///< no target chosen: "target", else the last number
  std::string id = "id";  ///< a field of this name, if there is one, names the sample
  std::string key;        ///< this one names the model; empty: there is but one
  bool partial = false;   ///< a line may lack inputs
};

/// Reads line after line. One that cannot be used throws DataError with "SOURCE:LINE: what is
/// wrong; what to do" and changes nothing. The first sample settles the fields; from then on those
/// that were not there are ignored.
class SampleReader {
 public:
  /// `source` stands for the stream in messages.
  SampleReader(std::string source, SampleFields fields);

  /// `line` comes without its end; the sample lives until the next call.
  Sample& read(std::string_view line, std::uint64_t number);

  bool settled() const { return settled_; }
  bool has_key() const { return !fields_.key.empty(); }
  SampleFields::Format format() const { return fields_.format; }
  std::size_t inputs() const { return width(inputs_); }
  std::size_t outputs() const { return width(targets_); }
  std::vector<std::string> input_names() const { return names(inputs_); }
  std::vector<std::string> target_names() const { return names(targets_); }
  /// Targets that the first sample did not have.
  const std::vector<std::string>& expected_later() const { return expected_later_; }
  /// Fields of the first sample that are text, and so no inputs.
  const std::vector<std::string>& ignored() const { return ignored_; }

  /// Inputs of the last sample that have no number, by name.
  std::string missing_inputs() const;

  /// What was settled. Read only before the first line.
  void exchange(Archive& archive);

  /// Longer lines are refused.
  static constexpr std::size_t longest_line = std::size_t{1} << 20;

 private:
  enum class Type : std::uint8_t { number, list, missing, text };

  struct Field {
    std::string name;
    Type type = Type::missing;
    std::size_t first = 0;  // its numbers in numbers_ …
    std::size_t count = 0;  // … and how many
    std::string text;       // of a text without its quotes, of an id or a key as written
  };

  // A field that the samples are made of, one number or a list of them.
  struct Part {
    std::string name;
    std::size_t width = 1;
    std::size_t at = 0;  // where it was in the last line
  };

  class JsonFields;

  static std::size_t width(const std::vector<Part>& parts);
  static std::vector<std::string> names(const std::vector<Part>& parts);
  [[noreturn]] void fail(std::string_view message) const;

  Field& add_field(std::string_view name);
  bool is_name(std::string_view field) const { return field == fields_.id || field == fields_.key; }
  void parse_json(std::string_view line);
  bool parse_delimited(std::string_view line);
  bool is_header(const std::vector<std::string_view>& cells) const;
  void settle();
  Part part_named(const std::string& name, const char* role, bool may_be_absent) const;
  const Field* find(std::string_view name, std::size_t& at) const;
  std::size_t take(std::vector<Part>& parts, std::vector<double>& values);
  void take_names();

  std::string source_;
  SampleFields fields_;
  bool settled_ = false;
  char delimiter_ = ',';
  std::vector<std::string> columns_;  // of delimited text
  std::vector<Part> inputs_;
  std::vector<Part> targets_;
  std::vector<std::string> expected_later_;
  std::vector<std::string> ignored_;

  std::uint64_t line_ = 0;
  SampleFields::Format format_ = SampleFields::Format::unknown;  // of this line
  std::vector<Field> found_;  // in the line; the first n_found_ are
  std::size_t n_found_ = 0;
  std::vector<double> numbers_;
  std::vector<double> target_;
  Sample sample_;
};

}  // namespace kalstream

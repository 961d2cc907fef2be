// Answers of a stream as lines of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/sample_reader.h"
#include "stream/model.h"

namespace kalstream {

/// Writes answers as JSON, one object each, or as CSV with a header. Numbers have as many digits as
/// it takes to read the same ones back; what is not a number is null, or an empty field.
class AnswerWriter {
 public:
  struct Shape {
    bool json = true;
    bool keys = false;
    bool held = false;  ///< inputs may be
    bool intervals = false;
    std::size_t horizon = 0;
    std::vector<std::string> targets;
  };

  AnswerWriter() = default;
  explicit AnswerWriter(Shape shape) : shape_(std::move(shape)) {}

  /// The lines, with their ends, to a sample; the first time with the header.
  const std::string& answer(const Sample& sample, const Answer& answer);
  /// To a line that could not be used; nothing in CSV.
  const std::string& refusal(std::uint64_t line, std::string_view reason);

 private:
  void write_json(const Sample& sample, const Answer& answer);
  void write_csv(const Sample& sample, const Answer& answer);
  void write_header();

  Shape shape_;
  bool header_written_ = false;
  std::string text_;
};

}  // namespace kalstream

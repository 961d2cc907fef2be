// Answers as lines of text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/answer.h"

namespace kalstream {

/// Writes answers as JSON, one object each, or as CSV with a header. Numbers have as many digits as
/// it takes to read the same ones back; what is not a number is null, or an empty field.
class AnswerWriter {
 public:
  struct Shape {
    bool json = true;
    bool keys = false;
    bool times = false;
    bool held = false;  ///< inputs may be
    bool intervals = false;
    std::vector<double> inner = {};  ///< coverages of narrower ones within them
    bool surprise = false;
    bool anomalies = false;
    bool strangeness = false;
    bool alarms = false;  ///< their start and end
    std::size_t horizon = 0;
    std::vector<std::string> targets;
    bool classes = false;  ///< the target is one
    /// Of refusals: the name of the source, which stands before their reasons (empty: none does),
    /// and what their position in it is called.
    std::string source = {};
    const char* position = "line";
  };

  AnswerWriter() = default;
  explicit AnswerWriter(Shape shape) : shape_(std::move(shape)) {}

  /// Appends the answer's line.
  void write(const Answer& answer, std::string& to) const {
    shape_.json ? write_json(answer, to) : write_csv(answer, to);
    to += '\n';
  }
  /// Appends the line that names the columns; nothing in JSON.
  void write_header(std::string& to) const;

 private:
  std::string named(const std::string& what, std::size_t i) const;
  void write_json(const Answer& answer, std::string& to) const;
  void write_alarm_json(const Answer& answer, std::string& to) const;
  void write_csv(const Answer& answer, std::string& to) const;

  Shape shape_;
};

/// Appends what is said of an alarm as fields of an object in JSON: "kind":"level","start":201 and
/// so on. The target is named where there are several.
void append_alarm_fields(std::string& to, const AlarmEvent& alarm,
                         std::span<const std::string> targets);

class Engine;

/// For the answers of an engine whose fields are settled.
AnswerWriter::Shape shape_of(const Engine& engine, bool json);

}  // namespace kalstream

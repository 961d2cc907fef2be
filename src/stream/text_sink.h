// Answers, as lines, to a descriptor.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "ports/ports.h"
#include "stream/answers.h"
#include "stream/signals.h"
#include "system/system.h"

namespace kalstream {

class TextSink final : public Sink {
 public:
  /// `json`: unset: as the records are written. A header is left away where the stream goes on: it
  /// is there already.
  TextSink(int out, std::optional<bool> json, const Source& source, const Engine& engine,
           const Signals& signals, System& system = System::real());

  void write(const Answer& answer) override;
  void prepare(const Answer& answer, std::string& text) const override;
  void write_prepared(const Answer& answer, const std::string& text) override;
  bool flush(const std::function<void()>& meanwhile) override;

 private:
  bool is_json() const { return json_.value_or(source_.is_json()); }
  void begin();
  void end_line();
  bool wait_for_reader(const std::function<void()>& meanwhile);

  System& system_;
  int out_;
  bool is_file_ = false;  // which nobody has to read
  std::optional<bool> json_;
  const Source& source_;
  const Engine& engine_;
  const Signals& signals_;
  std::optional<AnswerWriter> writer_;  // from the first sample on
  std::string text_;                    // not yet written
};

}  // namespace kalstream

// Answers, as lines, to a descriptor.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "stream/signals.h"
#include "system/system.h"

namespace kalstream {

class LineOutput {
 public:
  LineOutput(int out, const Signals& signals, System& system = System::real());
  virtual ~LineOutput() = default;

  /// Takes whole lines, with their ends.
  virtual void write(std::string_view lines) { text_ += lines; }
  /// Lets all lines go out. False if it was told to stop waiting for a reader who does not read;
  /// while it waits, `meanwhile` is called again and again. Throws std::runtime_error if they
  /// cannot be written any more.
  virtual bool flush(const std::function<void()>& meanwhile);

 private:
  void end_line();
  bool wait_for_reader(const std::function<void()>& meanwhile);

  System& system_;
  int out_;
  bool is_file_ = false;  // which nobody has to read
  const Signals& signals_;
  std::string text_;  // not yet written
};

}  // namespace kalstream

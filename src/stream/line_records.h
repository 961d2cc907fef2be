// Lines of text as records: from standard input, or from a file that grows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/ports.h"
#include "lines/record_reader.h"
#include "schema/arrival.h"
#include "stream/line_source.h"

namespace kalstream {

struct LineOptions {
  std::string follow;  ///< a file that grows; empty: the descriptor `in`
  int in = 0;
  Format format = Format::unknown;   ///< unknown: the first line tells
  std::vector<std::string> columns;  ///< names, for text whose header is not seen
  /// When it goes on from a checkpoint, a pipe begins again with its first line: those that are
  /// known are passed over.
  bool replay = false;
};

class LineRecords final : public Source {
 public:
  /// Longer lines are refused.
  static constexpr std::size_t longest_line = RecordReader::longest_line;

  /// `wake` ends a wait when it becomes readable; −1: nothing does. Throws std::runtime_error if
  /// the file cannot be opened.
  LineRecords(LineOptions options, int wake, System& system = System::real());

  Event next(std::vector<Arrival>& arrivals, std::size_t most, std::chrono::milliseconds longest,
             Workers* workers) override;
  std::uint64_t line() const override { return line_; }
  const std::string& name() const override { return name_; }
  std::uint64_t memory() const override { return lines_.memory(); }
  bool is_json() const override { return reader_.dialect().format == Format::json; }
  void exchange(Archive& archive) override;
  std::string go_on() override;
  bool can_go_back() const override { return options_.replay || lines_.is_file(); }

 private:
  void read(std::span<Arrival> lines, Workers& workers);
  static void be_rest(Arrival& arrival, std::string_view rest);

  LineOptions options_;
  std::string name_;
  LineSource lines_;
  RecordReader reader_;
  std::vector<RecordReader> readers_;  // copies, for each thread its own
  std::uint64_t line_ = 0;
  std::uint64_t known_ = 0;   // lines of a replay to be passed over
  std::uint64_t cut_ = 0;     // so much of the last of them was there when it was taken; 0: all
  bool within_line_ = false;  // the next line is the rest of the last one, which had no end then
};

}  // namespace kalstream

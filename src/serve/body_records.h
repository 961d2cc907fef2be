// The samples of a request, one after the other.
#pragma once

#include <optional>
#include <string>

#include "data/record_reader.h"
#include "ports/ports.h"
#include "serve/input_log.h"

namespace kalstream::serve {

/// Whether a JSON body is an array of samples, and if so whether it ends where it should.
bool is_array(std::string_view body);
bool is_sound_array(std::string_view body);
/// Samples in a body, at most.
std::size_t most_samples(const Input& input);

/// A Source of one request after the other. Lines are counted over the stream's whole life.
class BodyRecords final : public Source {
 public:
  explicit BodyRecords(std::string name) : name_(std::move(name)) {}

  /// What follows are the samples of this one, which must live until the last.
  void open(const Input& input, std::chrono::steady_clock::time_point arrival);

  Event next(Record& record, std::chrono::milliseconds most = {}) override;
  const std::string& problem() const override { return problem_; }
  std::chrono::steady_clock::time_point arrival() const override { return arrival_; }
  std::uint64_t line() const override { return line_; }
  const std::string& name() const override { return name_; }
  bool is_json() const override { return kind_ != Input::Kind::csv; }

  /// The line, and the number of the log's next entry: `entry` is called to tell it, or with it.
  void exchange(Archive& archive) override;
  std::string go_on() override { return ""; }
  bool can_go_back() const override { return true; }

  std::uint64_t entry = 1;          ///< of the log, the next after what was taken
  std::uint64_t written_entry = 1;  ///< the same in the last state that was written

 private:
  std::optional<std::string_view> next_line();
  std::optional<std::string_view> next_element();

  std::string name_;
  Input::Kind kind_ = Input::Kind::object;
  std::string_view rest_;
  std::chrono::steady_clock::time_point arrival_;
  RecordReader reader_;
  std::uint64_t line_ = 0;
  std::string problem_;
};

}  // namespace kalstream::serve

// The samples of a request, one after the other.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/ports.h"
#include "lines/record_reader.h"
#include "serve/input_log.h"

namespace kalstream::serve {

/// Whether a JSON body is an array of samples.
bool is_array(std::string_view body);
/// The elements of an array, but not many more than can be answered; nothing if it does not end
/// where it should, or has nothing between commas.
std::optional<std::vector<std::string_view>> elements_of(std::string_view body);
/// Samples in a body, at most.
std::size_t most_samples(const Input& input);

/// A Source of one request after the other. Lines are counted over the stream's whole life.
class BodyRecords final : public Source {
 public:
  explicit BodyRecords(std::string name) : name_(std::move(name)) {}

  /// What follows are the samples of this one, which must live until the last. An array has its
  /// elements.
  void open(const Input& input, std::chrono::steady_clock::time_point arrival);

  Event next(std::vector<Arrival>& arrivals, std::size_t most, std::chrono::milliseconds longest,
             Workers* workers) override;
  std::uint64_t line() const override { return line_; }
  const std::string& name() const override { return name_; }
  bool is_json() const override { return kind_ != Input::Kind::csv; }

  /// The line, and the number of the log's next entry: `entry` is called to tell it, or with it.
  void exchange(Archive& archive) override;
  std::string go_on() override { return ""; }
  bool can_go_back() const override { return true; }

  /// What is seen of the stream, which a checkpoint holds as well: asked for when one is written,
  /// and as it was read.
  std::function<std::string()> board = [] { return std::string(); };
  std::string board_there;

  std::uint64_t entry = 1;          ///< of the log, the next after what was taken
  std::uint64_t written_entry = 1;  ///< the same in the last state that was written

 private:
  std::optional<std::string_view> next_text();

  std::string name_;
  Input::Kind kind_ = Input::Kind::object;
  std::string_view rest_;                       // of a body that is no array
  std::span<const std::string_view> elements_;  // left, of one that is
  std::chrono::steady_clock::time_point arrival_;
  RecordReader reader_;
  std::uint64_t line_ = 0;
};

}  // namespace kalstream::serve

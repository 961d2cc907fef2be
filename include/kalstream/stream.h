// A whole stream inside of a program: records in, answers out, checkpoints in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kalstream {

/// What `kalstream stream` is, without files and pipes: one model or one for every key, targets
/// that come late, time, missing values, classes, bounds, surprise, forecasts.
///
///     kalstream::Stream stream(R"({"target":"load","interval":0.9,"horizon":24})");
///     while (std::getline(in, line))
///       if (const auto answer = stream.take(line)) out << *answer << '\n';
///     save(stream.checkpoint());                  // later: stream.resume(saved)
///
/// Models stay in memory until they are forgotten. One thread at a time may use a stream.
class Stream {
 public:
  enum class Answers : std::uint8_t {
    as_records,  ///< in JSON if the records are, else in CSV
    json,
    csv,
  };

  /// `settings`: a JSON object of the options that `kalstream stream` has for what is learnt, such
  /// as {"target":"load","learner":"auto"}. Throws std::invalid_argument.
  explicit Stream(std::string_view settings = "{}", Answers answers = Answers::as_records);
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  /// Takes a record, a line of JSON or of delimited text with or without its end, and predicts. The
  /// answer, without its end, lives until the next call; there is none if the line says nothing
  /// (blank, a comment, a header). In CSV the first answer comes after a line with the names of its
  /// columns. A line that cannot be used is answered with status "refused" and the reason, which in
  /// CSV is among the remarks.
  /// Throws std::invalid_argument if no learner can be made for the stream that the first record
  /// shows, SchemaError if it is not the stream that was learnt from before.
  std::optional<std::string_view> take(std::string_view record);
  /// Learns what the last record has brought. Every other call does so first; apart from take(), so
  /// that the answer can go out before the time this takes.
  void learn();

  /// What people should know since the last call.
  std::vector<std::string> take_remarks();
  /// Which field is what, as JSON; without fields before the first record has told.
  std::string schema() const;
  /// What was counted and how good it was, as JSON.
  std::string status();

  /// The model of a key as bytes; of the only one, where there are no keys. Nothing if there is
  /// none. Throws std::invalid_argument for a key where there are none.
  std::optional<std::vector<std::byte>> state_of(std::string_view key = "");
  /// From now on the key's model is that of these bytes: of state_of(), or a snapshot of a learner.
  /// A record must have come before. Throws SnapshotError, and all stays as it was, if they are not
  /// for this stream.
  void put_state(std::span<const std::byte> state, std::string_view key = "");
  /// As if the key had never come; false if it has not.
  bool forget(std::string_view key);

  /// The whole stream, all models included, to go on from.
  std::vector<std::byte> checkpoint();
  /// Goes on from it, before the first record, with the settings of then; also from the file of
  /// `kalstream stream --checkpoint`. Throws SnapshotError; then the stream can only be destroyed.
  void resume(std::span<const std::byte> checkpoint);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace kalstream

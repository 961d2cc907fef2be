// A stream as C holds it: lines in, answers out, nothing but memory in between.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capi/guard.h"
#include "data/record_reader.h"
#include "engine/engine.h"
#include "stream/answers.h"

struct kalstream_stream : kalstream::capi::Handle {
  kalstream_stream(const char* settings, kalstream_answers answers);

  /// False if there is nothing to answer; else `answer`.
  bool take(std::string_view line);
  kalstream::Bytes checkpoint();
  void resume(std::span<const std::byte> bytes);

  std::string answer;
  std::vector<std::string> remarks;
  kalstream::Engine engine;

 private:
  bool is_json() const;
  void write(kalstream::Answer answer);
  void exchange_place(kalstream::Archive& archive);
  void resume_stream(std::span<const std::byte> bytes);

  kalstream_answers answers_;
  kalstream::RecordReader reader_;
  kalstream::Record record_;
  std::optional<kalstream::AnswerWriter> writer_;  // once the fields are settled
  std::uint64_t line_ = 0;
};

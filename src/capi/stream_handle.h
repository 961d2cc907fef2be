// A stream as C holds it: lines in, answers out, nothing but memory in between.
#pragma once

#include <string>
#include <vector>

#include "capi/guard.h"
#include "engine/engine.h"
#include "lines/record_reader.h"
#include "session/session.h"

struct kalstream_stream : kalstream::capi::Handle, private kalstream::StreamListener {
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
  void answered(const kalstream::Answer& said, std::string_view text) override;
  void remarked(const std::string& text) override { remarks.push_back(text); }
  void exchange_place(kalstream::Archive& archive);
  void resume_stream(std::span<const std::byte> bytes);

  kalstream_answers answers_;
  kalstream::RecordReader reader_;
  kalstream::Arrival arrival_;
  kalstream::RecordPosition position_;
  kalstream::Session session_;
  std::uint64_t line_ = 0;
};

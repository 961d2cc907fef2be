// Streams: what C calls them by.
#include "kalstream/stream.h"

#include "capi/guard.h"

using namespace kalstream::capi;

struct kalstream_stream : Handle {
  kalstream_stream(const char* settings, kalstream::Stream::Answers answers)
      : stream(settings == nullptr ? "{}" : settings, answers) {}

  kalstream::Stream stream;
  std::string answer;  // which ends with a zero byte
};

namespace {

using Answers = kalstream::Stream::Answers;

Answers answers_of(int answers) {
  switch (answers) {
    case KALSTREAM_AS_RECORDS:
      return Answers::as_records;
    case KALSTREAM_JSON:
      return Answers::json;
    case KALSTREAM_CSV:
      return Answers::csv;
    default:
      throw std::invalid_argument("answers: " + std::to_string(answers) +
                                  " is none of enum kalstream_answers");
  }
}

[[noreturn]] void not_found(std::string_view key) {
  throw Failure(KALSTREAM_NOT_FOUND,
                key.empty() ? "there is no model yet"
                            : "there is no model of the key '" + std::string(key) + "'");
}

}  // namespace

int kalstream_stream_new(const char* settings, int answers, kalstream_stream** stream) {
  return guarded([&] {
    require(stream, "stream");
    *stream = new kalstream_stream(settings, answers_of(answers));
  });
}

void kalstream_stream_free(kalstream_stream* stream) { delete stream; }

int kalstream_stream_take(kalstream_stream* handle, const char* line, size_t length,
                          const char** answer, size_t* answer_length) {
  return guarded_with(handle, [&] {
    require(answer, "answer");
    require(answer_length, "answer_length");
    const auto answered = handle->stream.take(text_in(line, length, "line"));
    handle->answer = answered.value_or("");
    *answer = answered ? handle->answer.c_str() : nullptr;
    *answer_length = handle->answer.size();
  });
}

int kalstream_stream_learn(kalstream_stream* handle) {
  return guarded_with(handle, [&] { handle->stream.learn(); });
}

int kalstream_stream_remarks(kalstream_stream* handle, char** text) {
  return guarded_with(handle, [&] {
    require(text, "text");
    std::string all;
    for (const std::string& remark : handle->stream.take_remarks()) all += remark + '\n';
    *text = copy_of(all);
  });
}

int kalstream_stream_schema(kalstream_stream* handle, char** json) {
  return guarded_with(handle, [&] {
    require(json, "json");
    *json = copy_of(handle->stream.schema());
  });
}

int kalstream_stream_status(kalstream_stream* handle, char** json) {
  return guarded_with(handle, [&] {
    require(json, "json");
    *json = copy_of(handle->stream.status());
  });
}

int kalstream_stream_state_of(kalstream_stream* handle, const char* key, size_t key_length,
                              unsigned char** bytes, size_t* size) {
  return guarded_with(handle, [&] {
    require(bytes, "bytes");
    require(size, "size");
    const std::string_view of = text_in(key, key_length, "key");
    const auto state = handle->stream.state_of(of);
    if (!state) not_found(of);
    *bytes = copy_of(*state);
    *size = state->size();
  });
}

int kalstream_stream_put_state(kalstream_stream* handle, const char* key, size_t key_length,
                               const unsigned char* bytes, size_t size) {
  return guarded_with(handle, [&] {
    handle->stream.put_state(bytes_in(bytes, size), text_in(key, key_length, "key"));
  });
}

int kalstream_stream_forget(kalstream_stream* handle, const char* key, size_t key_length) {
  return guarded_with(handle, [&] {
    const std::string_view of = text_in(key, key_length, "key");
    if (!handle->stream.forget(of)) not_found(of);
  });
}

int kalstream_stream_checkpoint(kalstream_stream* handle, unsigned char** bytes, size_t* size) {
  return guarded_with(handle, [&] {
    require(bytes, "bytes");
    require(size, "size");
    const auto all = handle->stream.checkpoint();
    *bytes = copy_of(all);
    *size = all.size();
  });
}

int kalstream_stream_resume(kalstream_stream* handle, const unsigned char* bytes, size_t size) {
  return guarded_with(handle, [&] { handle->stream.resume(bytes_in(bytes, size)); });
}

// Streams: what C calls them by.
#include <cmath>
#include <nlohmann/json.hpp>

#include "capi/stream_handle.h"
#include "settings/schema_json.h"

namespace kalstream::capi {
namespace {

using Json = nlohmann::ordered_json;

Json number(double v) { return std::isfinite(v) ? Json(v) : Json(); }

std::string status_json(const Engine& engine) {
  const Counts& c = engine.counts();
  const Models* models = engine.models();
  const Scores* scores = engine.scores();
  const double none = std::nan("");
  return Json{{"records", c.records},
              {"refused", c.refused},
              {"samples", c.samples},
              {"learnt", c.learnt},
              {"missing", c.missing},
              {"late", c.late + c.untimely},
              {"repeated", c.repeated},
              {"anomalies", c.anomalies},
              {"models", models != nullptr ? models->in_memory() : 0},
              {"nse", number(scores != nullptr ? scores->errors().all().nse : none)},
              {"nse_recent", number(scores != nullptr ? scores->errors().recent().nse : none)},
              {"coverage", number(scores != nullptr ? scores->coverage() : none)}}
      .dump();
}

std::string key_in(const Engine& engine, const char* key, std::size_t size) {
  if (size > 0 && !engine.has_keys())
    throw std::invalid_argument("key: the stream has but one model; leave the key empty");
  return std::string(text_in(key, size, "key"));
}

[[noreturn]] void not_found(const std::string& key) {
  throw Failure(KALSTREAM_NOT_FOUND, key.empty() ? "there is no model yet"
                                                 : "there is no model of the key '" + key + "'");
}

}  // namespace
}  // namespace kalstream::capi

using namespace kalstream::capi;

int kalstream_stream_new(const char* settings, int answers, kalstream_stream** stream) {
  return guarded([&] {
    require(stream, "stream");
    if (answers < KALSTREAM_AS_RECORDS || answers > KALSTREAM_CSV)
      throw std::invalid_argument("answers: " + std::to_string(answers) +
                                  " is none of enum kalstream_answers");
    *stream = new kalstream_stream(settings, static_cast<kalstream_answers>(answers));
  });
}

void kalstream_stream_free(kalstream_stream* stream) { delete stream; }

int kalstream_stream_take(kalstream_stream* stream, const char* line, size_t length,
                          const char** answer, size_t* answer_length) {
  return guarded_with(stream, [&] {
    require(answer, "answer");
    require(answer_length, "answer_length");
    const bool answered = stream->take(text_in(line, length, "line"));
    *answer = answered ? stream->answer.c_str() : nullptr;
    *answer_length = answered ? stream->answer.size() : 0;
  });
}

int kalstream_stream_learn(kalstream_stream* stream) {
  return guarded_with(stream, [&] { stream->engine.learn(); });
}

int kalstream_stream_remarks(kalstream_stream* stream, char** text) {
  return guarded_with(stream, [&] {
    require(text, "text");
    std::string all;
    for (const std::string& remark : stream->remarks) all += remark + '\n';
    *text = copy_of(all);
    stream->remarks.clear();
  });
}

int kalstream_stream_schema(kalstream_stream* stream, char** json) {
  return guarded_with(stream, [&] {
    require(json, "json");
    *json = copy_of(kalstream::schema_json(stream->engine.schema(), nullptr));
  });
}

int kalstream_stream_status(kalstream_stream* stream, char** json) {
  return guarded_with(stream, [&] {
    require(json, "json");
    stream->engine.learn();
    *json = copy_of(status_json(stream->engine));
  });
}

int kalstream_stream_state_of(kalstream_stream* stream, const char* key, size_t key_length,
                              unsigned char** bytes, size_t* size) {
  return guarded_with(stream, [&] {
    require(bytes, "bytes");
    require(size, "size");
    const std::string of = key_in(stream->engine, key, key_length);
    const auto state = stream->engine.state_of(of);
    if (!state) not_found(of);
    *bytes = copy_of(*state);
    *size = state->size();
  });
}

int kalstream_stream_put_state(kalstream_stream* stream, const char* key, size_t key_length,
                               const unsigned char* bytes, size_t size) {
  return guarded_with(stream, [&] {
    stream->engine.put_state(key_in(stream->engine, key, key_length), bytes_in(bytes, size));
  });
}

int kalstream_stream_forget(kalstream_stream* stream, const char* key, size_t key_length) {
  return guarded_with(stream, [&] {
    const std::string of = key_in(stream->engine, key, key_length);
    if (!stream->engine.forget(of)) not_found(of);
  });
}

int kalstream_stream_checkpoint(kalstream_stream* stream, unsigned char** bytes, size_t* size) {
  return guarded_with(stream, [&] {
    require(bytes, "bytes");
    require(size, "size");
    const auto all = stream->checkpoint();
    *bytes = copy_of(all);
    *size = all.size();
  });
}

int kalstream_stream_resume(kalstream_stream* stream, const unsigned char* bytes, size_t size) {
  return guarded_with(stream, [&] { stream->resume(bytes_in(bytes, size)); });
}

#include "capi/stream_handle.h"

#include <limits>

#include "capi/learner_handle.h"
#include "core/envelope.h"
#include "kalstream/snapshot.h"
#include "lines/line_place.h"
#include "settings/stream_settings.h"

namespace kalstream::capi {
namespace {

// Many models beside their stream; one without keys is a plain checkpoint.
constexpr Envelope stream_envelope{
    {0x89, 'K', 'A', 'L', 'M', '\r', '\n', 0x1a}, /*format=*/1, "checkpoint of a stream"};

EngineOptions options_in(const char* settings, std::vector<std::string>& remarks) {
  const StreamSettings read = settings == nullptr ? StreamSettings{} : settings_from_json(settings);
  EngineOptions options =
      engine_options(read, [&remarks](const std::string& text) { remarks.push_back(text); });
  options.recipe = [recipe = std::move(options.recipe)](std::size_t inputs, std::size_t outputs) {
    Recipe made = recipe(inputs, outputs);
    made.options.validate();
    require_memory(made.options);
    return made;
  };
  options.max_models = std::numeric_limits<std::size_t>::max();
  return options;
}

}  // namespace
}  // namespace kalstream::capi

using namespace kalstream;
using namespace kalstream::capi;

kalstream_stream::kalstream_stream(const char* settings, kalstream_answers answers)
    : engine(options_in(settings, remarks), nullptr, {this}),
      answers_(answers),
      session_(engine, position_, Session::Header::session) {}

bool kalstream_stream::is_json() const {
  if (answers_ == KALSTREAM_AS_RECORDS) return reader_.dialect().format == Format::json;
  return answers_ == KALSTREAM_JSON;
}

bool kalstream_stream::take(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  answer.clear();
  arrival_.line = ++line_;
  reader_.read(line, arrival_);
  session_.take({&arrival_, 1}, is_json() ? AnswerFormat::json : AnswerFormat::csv);
  return !answer.empty();
}

void kalstream_stream::answered(const Answer& said, std::string_view text) {
  answer = text;
  if (!answer.empty()) answer.pop_back();  // the line's end
  if (said.status == Answer::Status::refused && !is_json())
    remarks.push_back("line " + std::to_string(line_) + ": " + std::string(said.reason));
}

// ---- To bytes and back.

// There is no file here.
void kalstream_stream::exchange_place(Archive& archive) {
  LinePlace place{line_, {}, reader_.dialect()};
  place.exchange(archive);
  if (!archive.reading()) return;
  line_ = place.line;
  reader_ = RecordReader(std::move(place.dialect));
}

Bytes kalstream_stream::checkpoint() {
  engine.learn();
  Bytes state;
  Archive to(state);
  append_text(state, [&] { exchange_place(to); });
  engine.exchange(to);
  Bytes stream = engine.image(std::move(state)).finish();
  if (!engine.has_keys()) return stream;

  std::vector<Bytes> models;
  engine.begin_commit([&](CheckpointImage model) { models.push_back(std::move(model).finish()); });
  while (engine.give_next()) {
  }
  engine.committed(false);  // nobody keeps them here: the next one has all of them again

  Bytes bytes;
  const std::size_t begins = begin(stream_envelope, bytes);
  Archive all(bytes);
  std::string_view text = as_text(stream);
  all.text(text);
  all.length(models.size());
  for (const Bytes& model : models) {
    text = as_text(model);
    all.text(text);
  }
  close(bytes, begins);
  seal(std::span(bytes).subspan(begins));
  return bytes;
}

void kalstream_stream::resume_stream(std::span<const std::byte> bytes) {
  const Checkpoint checkpoint = checkpoint_of(bytes);
  if (checkpoint.stream.empty()) throw SnapshotError("there is no stream in this checkpoint");
  Archive from = stream_of(checkpoint);
  std::string_view place;
  from.text(place);
  Archive there(as_bytes(place));
  exchange_place(there);
  engine.exchange(from);
  from.require(from.left() == 0);
  if (!checkpoint.model.empty())
    engine.set_only_model(model_of(checkpoint, &engine.options().model));
}

void kalstream_stream::resume(std::span<const std::byte> bytes) {
  if (line_ > 0 || engine.settled())
    throw std::invalid_argument("a stream goes on from a checkpoint before its first record only");
  if (!engine.has_keys()) return resume_stream(bytes);
  Archive from = open(stream_envelope, bytes);
  std::string_view text;
  from.text(text);
  resume_stream(as_bytes(text));
  for (std::size_t left = from.length(0); left > 0; --left) {
    from.text(text);
    const Checkpoint model = checkpoint_of(as_bytes(text));
    engine.put_state(model.key, as_bytes(text));
  }
  from.require(from.left() == 0);
}

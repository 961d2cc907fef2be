#include "kalstream/stream.h"

#include <limits>
#include <stdexcept>
#include <utility>

#include "core/envelope.h"
#include "kalstream/snapshot.h"
#include "learner/footprint.h"
#include "lines/json_text.h"
#include "lines/line_place.h"
#include "lines/record_reader.h"
#include "session/session.h"
#include "settings/schema_json.h"
#include "settings/stream_settings.h"

namespace kalstream {
namespace {

// Many models beside their stream; one without keys is a plain checkpoint.
constexpr Envelope stream_envelope{
    {0x89, 'K', 'A', 'L', 'M', '\r', '\n', 0x1a}, /*format=*/1, "checkpoint of a stream"};

}  // namespace

struct Stream::Parts final : private StreamListener {
  Parts(std::string_view settings, Answers answers)
      : engine(options_in(settings), nullptr, {this}),
        answers_(answers),
        session_(engine, position_, Session::Header::session) {}

  std::optional<std::string_view> take(std::string_view line);
  std::string status();
  std::string key(std::string_view key) const;
  Bytes checkpoint();
  void resume(std::span<const std::byte> bytes);

  std::vector<std::string> remarks;
  Engine engine;

 private:
  EngineOptions options_in(std::string_view settings);
  bool is_json() const {
    const bool as_records = answers_ == Answers::as_records;
    return as_records ? reader_.dialect().format == Format::json : answers_ == Answers::json;
  }
  void answered(const Answer& said, std::string_view text) override;
  void remarked(const std::string& text) override { remarks.push_back(text); }
  void exchange_place(Archive& archive);
  void resume_without_models(std::span<const std::byte> bytes);

  Answers answers_;
  RecordReader reader_;
  Arrival arrival_;
  RecordPosition position_;
  Session session_;
  std::uint64_t line_ = 0;
  std::string answer_;
};

EngineOptions Stream::Parts::options_in(std::string_view settings) {
  EngineOptions options = engine_options(
      settings_from_json(settings), [this](const std::string& text) { remarks.push_back(text); });
  options.recipe = [recipe = std::move(options.recipe)](std::size_t inputs, std::size_t outputs) {
    Recipe made = recipe(inputs, outputs);
    made.options.validate();
    require_memory(made.options);
    return made;
  };
  options.max_models = std::numeric_limits<std::size_t>::max();
  return options;
}

std::optional<std::string_view> Stream::Parts::take(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  answer_.clear();
  arrival_.line = ++line_;
  reader_.read(line, arrival_);
  session_.take({&arrival_, 1}, is_json() ? AnswerFormat::json : AnswerFormat::csv);
  if (answer_.empty()) return {};
  return answer_;
}

void Stream::Parts::answered(const Answer& said, std::string_view text) {
  answer_ = text;
  if (!answer_.empty()) answer_.pop_back();  // the line's end
  if (said.status == Answer::Status::refused && !is_json())
    remarks.push_back("line " + std::to_string(line_) + ": " + std::string(said.reason));
}

std::string Stream::Parts::status() {
  engine.learn();
  const Counts& c = engine.counts();
  const Models* models = engine.models();
  const Scores* scores = engine.scores();
  const double none = std::numeric_limits<double>::quiet_NaN();
  return json_object(
      {{"records", json_of(c.records)},
       {"refused", json_of(c.refused)},
       {"samples", json_of(c.samples)},
       {"learnt", json_of(c.learnt)},
       {"missing", json_of(c.missing)},
       {"late", json_of(c.late + c.untimely)},
       {"repeated", json_of(c.repeated)},
       {"anomalies", json_of(c.anomalies)},
       {"alarms", json_of(c.alarms)},
       {"models", json_of(std::uint64_t{models != nullptr ? models->in_memory() : 0})},
       {"nse", json_of(scores != nullptr ? scores->errors().all().nse : none)},
       {"nse_recent", json_of(scores != nullptr ? scores->errors().recent().nse : none)},
       {"coverage", json_of(scores != nullptr ? scores->coverage() : none)}});
}

std::string Stream::Parts::key(std::string_view key) const {
  if (!key.empty() && !engine.has_keys())
    throw std::invalid_argument("key: the stream has but one model; leave the key empty");
  return std::string(key);
}

// There is no file here.
void Stream::Parts::exchange_place(Archive& archive) {
  LinePlace place{line_, 0, {}, reader_.dialect()};
  place.exchange(archive);
  if (!archive.reading()) return;
  line_ = place.line;
  reader_ = RecordReader(std::move(place.dialect));
}

Bytes Stream::Parts::checkpoint() {
  engine.learn();
  Bytes stream =
      engine.image(engine.stream_state([this](Archive& place) { exchange_place(place); })).finish();
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

void Stream::Parts::resume_without_models(std::span<const std::byte> bytes) {
  const Checkpoint checkpoint = checkpoint_of(bytes);
  if (checkpoint.stream.empty()) throw SnapshotError("there is no stream in this checkpoint");
  engine.restore(checkpoint, [this](Archive& place) { exchange_place(place); });
}

void Stream::Parts::resume(std::span<const std::byte> bytes) {
  if (line_ > 0 || engine.settled())
    throw std::invalid_argument("a stream goes on from a checkpoint before its first record only");
  if (!engine.has_keys()) return resume_without_models(bytes);
  Archive from = open(stream_envelope, bytes);
  std::string_view text;
  from.text(text);
  resume_without_models(as_bytes(text));
  for (std::size_t left = from.length(0); left > 0; --left) {
    from.text(text);
    const Checkpoint model = checkpoint_of(as_bytes(text));
    engine.put_state(model.key, as_bytes(text));
  }
  from.require(from.left() == 0);
}

// ---- What users see.

Stream::Stream(std::string_view settings, Answers answers)
    : parts_(std::make_unique<Parts>(settings, answers)) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

std::optional<std::string_view> Stream::take(std::string_view record) {
  return parts_->take(record);
}
void Stream::learn() { parts_->engine.learn(); }

std::vector<std::string> Stream::take_remarks() { return std::exchange(parts_->remarks, {}); }
std::string Stream::schema() const { return schema_json(parts_->engine.schema(), nullptr); }
std::string Stream::status() { return parts_->status(); }

std::optional<Bytes> Stream::state_of(std::string_view key) {
  return parts_->engine.state_of(parts_->key(key));
}
void Stream::put_state(std::span<const std::byte> state, std::string_view key) {
  parts_->engine.put_state(parts_->key(key), state);
}
bool Stream::forget(std::string_view key) { return parts_->engine.forget(parts_->key(key)); }

Bytes Stream::checkpoint() { return parts_->checkpoint(); }
void Stream::resume(std::span<const std::byte> checkpoint) { parts_->resume(checkpoint); }

}  // namespace kalstream

// A stream's checkpoints and whose they are; of a single model, what it expects, its state out and
// in.
#include <algorithm>
#include <stdexcept>

#include "core/archive.h"
#include "core/envelope.h"
#include "engine/checkpoint.h"
#include "engine/engine.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "schema/rules.h"
#include "schema/timestamp.h"

namespace kalstream {
namespace {

/// Describes a learner in words, to be compared with another one. The number of threads is left
/// out: it changes no answer.
std::string text_of(const Recipe& recipe) {
  std::string text = name_of(recipe.options.rule);
  if (recipe.scaled) text += " scaled";
  for (const Setting& s : settings_of(recipe.options))
    if (s.key != "threads") text += ' ' + s.key + '=' + s.value;
  return text;
}

std::string seed_of(const Recipe& recipe) {
  return " seed=" + std::to_string(recipe.options.network.seed);
}

}  // namespace

std::string Engine::recipe_text() const { return text_of(*recipe_) + seed_of(*recipe_); }

void Engine::require_same_learner(const std::string& there) const {
  const std::string here = recipe_text();
  if (there == here) return;
  throw SnapshotError(
      "its learner is another than the options say; use the same options as before, "
      "or another checkpoint\n  there: " +
      there + "\n  here:  " + here);
}

void Engine::exchange(Archive& archive) {
  counts_.exchange(archive);
  bool is_settled = settled();
  archive.flag(is_settled);
  if (!is_settled) return;
  Schema fields = schema();
  fields.exchange(archive);
  std::string learner = archive.reading() ? "" : recipe_text();
  archive.text(learner);
  if (archive.reading()) go_on(std::move(fields), learner);
  scores_->exchange(archive);
  archive.number(last_step_.covariance_trace, Archive::any);
  exchange_last_time(archive);
  // The last of all, and only there if there were any.
  if (archive.reading() ? archive.left() > 0 : counts_.alarms > 0) archive.count(counts_.alarms);
}

// Forecasts on request write their times as the last sample has its own.
void Engine::exchange_last_time(Archive& archive) {
  archive.text(last_time_.text);
  archive.flag(last_time_.is_text);
  bool has_tick = last_time_.tick.has_value();
  archive.flag(has_tick);
  if (!has_tick) return;
  auto tick = static_cast<std::uint64_t>(last_time_.tick.value_or(0));
  archive.word(tick);
  last_time_.tick = static_cast<std::int64_t>(tick);
}

void Engine::go_on(Schema schema, const std::string& learner) {
  require_choice(schema, options_.fields);
  to_be_checked_ = true;
  begin(std::move(schema));
  require_same_learner(learner);
}

void Engine::set_only_model(std::unique_ptr<StreamModel> model) {
  if (!models_) throw SnapshotError("there is a model of a stream that is not settled");
  require_width(*model);
  models_->put("", std::move(model));
}

CheckpointImage Engine::image(Bytes stream, std::shared_ptr<Learner> copy) const {
  const StreamModel* model = has_keys() || !models_ ? nullptr : models_->only();
  if (model != nullptr && copy) return {std::move(stream), "", *model, std::move(copy)};
  return {std::move(stream), "", model};
}

const Recipe* Engine::large_recipe() const {
  constexpr std::uint64_t large = std::uint64_t{4} << 20;
  if (has_keys() || !models_ || models_->only() == nullptr) return nullptr;
  const bool fits = models_->bytes() < options_.memory / 2;
  return fits && models_->bytes() - beside_ >= large ? models_->only()->learner().recipe()
                                                     : nullptr;
}

void Engine::begin_commit(Models::Give give) {
  if (has_keys() && models_) models_->begin_commit(std::move(give));
}

void Engine::set_memory_beside(std::uint64_t bytes) {
  beside_ = bytes;
  if (models_) models_->set_beside(bytes);
}

void Engine::committed(bool done) {
  if (models_) models_->committed(done);
}

Bytes Engine::stream_state(const ExchangePlace& place) {
  Bytes state;
  Archive to(state);
  append_text(state, [&] { place(to); });
  exchange(to);
  return state;
}

void Engine::restore(const Checkpoint& checkpoint, const ExchangePlace& exchange_place) {
  Archive from = stream_of(checkpoint);
  std::string_view place;
  from.text(place);
  Archive there(as_bytes(place));
  exchange_place(there);
  exchange(from);
  from.require(from.left() == 0);
  if (!checkpoint.model.empty()) set_only_model(model_of(checkpoint, &options_.model));
}

std::optional<Foresight> Engine::foresee(const std::string& key, std::size_t horizon,
                                         std::span<Record> inputs) {
  learn();
  StreamModel* model = models_ ? models_->find(key) : nullptr;
  if (model == nullptr) return {};
  require_width(*model);
  SampleReader reader = *reader_;  // categories that are new to it are forgotten again
  Sample sample;
  std::vector<double> x;
  std::size_t at = 0;
  for (std::size_t k = 0; k < std::min(inputs.size(), horizon); ++k) {
    Record& record = inputs[k];
    if (has_keys() && record.find(options_.fields.key, at) == nullptr) {
      Value& value = record.add(options_.fields.key);
      value.kind = Value::Kind::text;
      value.text = key;
    }
    if (!reader.read(record, sample) || !is_usable(sample))
      throw std::invalid_argument(
          "record " + std::to_string(k + 1) + " of the inputs to come: " +
          (reader.problem().empty() ? "a number is beyond ±1e100" : reader.problem()));
    x.insert(x.end(), sample.x.begin(), sample.x.end());
  }
  Foresight said = model->foresee(horizon, x);
  const StreamClock& clock = model->clock();
  if (!clock.has_started() || !clock.step()) return said;
  const TimeText text(last_time_.tick ? last_time_.text : "",
                      last_time_.tick.value_or(clock.last()), schema().time_form);
  said.time_is_text = last_time_.tick ? last_time_.is_text : true;
  for (std::size_t lead = 1; lead <= horizon; ++lead)
    said.time.push_back(text.write(*clock.after(lead)));
  return said;
}

std::optional<Bytes> Engine::state_of(const std::string& key) {
  learn();
  if (!models_) return {};
  return models_->state(key);
}

std::optional<CheckpointImage> Engine::image_of(const std::string& key) {
  learn();
  if (!models_) return {};
  return models_->image(key);
}

void Engine::put_state(const std::string& key, std::span<const std::byte> state) {
  learn();
  if (!models_) throw SnapshotError("the stream is not settled: a sample has to come first");
  if (!has_keys() && !key.empty())
    throw SnapshotError("the stream has no keys, and one model: leave the key out");
  std::unique_ptr<StreamModel> model;
  if (is_checkpoint(state)) {
    const Checkpoint checkpoint = checkpoint_of(state);
    if (checkpoint.model.empty()) throw SnapshotError("there is no model in this checkpoint");
    model = model_of(checkpoint, &options_.model);
  } else {
    model = std::make_unique<StreamModel>(load(state), options_.model);
  }
  require_width(*model);
  const Recipe* there = model->learner().recipe();
  if (there == nullptr || text_of(*there) != text_of(*recipe_))
    throw SnapshotError(
        "the model is of another learner than the stream; make a stream with its options, or take "
        "a model of this learner\n  there: " +
        (there == nullptr ? "unknown" : text_of(*there)) + "\n  here:  " + text_of(*recipe_));
  // Bytes that were forged may be a model that cannot be written again.
  model = model_of(checkpoint_of(CheckpointImage({}, key, model.get()).finish()), &options_.model);
  models_->forget(key);
  models_->put(key, std::move(model));
  models_->find(key);  // as one that is used, and has changed
}

void Engine::announce(const Sample& sample, std::uint64_t n) {
  learn();
  if (models_) models_->of(sample.key).announce(sample, n);
}

const StreamModel* Engine::model_in_memory(const std::string& key) const {
  return models_ ? models_->in_memory(key) : nullptr;
}

std::optional<CalibratedLearner> Engine::take_learner() {
  learn();
  StreamModel* model = models_ && !has_keys() ? models_->find("") : nullptr;
  if (model == nullptr || !model->has_begun()) return {};
  std::optional<CalibratedLearner> learner = std::move(*model).release();
  models_->forget("");
  return learner;
}

bool Engine::forget(const std::string& key) {
  learn();
  return models_ && models_->forget(key);
}

}  // namespace kalstream

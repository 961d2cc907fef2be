#include "engine/engine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/archive.h"
#include "core/finite.h"
#include "core/heap.h"
#include "engine/checkpoint.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "learner/footprint.h"
#include "schema/future.h"
#include "schema/rules.h"
#include "schema/time_text.h"

namespace kalstream {
namespace {

/// " key=value" of a text of such, cut out: an option that changes no answer.
std::string without(std::string text, const std::string& key) {
  const std::size_t at = text.find(' ' + key + '=');
  if (at != std::string::npos) text.erase(at, text.find(' ', at + 1) - at);
  return text;
}

/// Or missing.
bool is_usable(double v) { return std::isnan(v) || std::abs(v) <= largest_magnitude; }

/// A learner in words, to be compared with another's.
std::string text_of(const Recipe& recipe) {
  std::string text = name_of(recipe.options.rule);
  if (recipe.scaled) text += " scaled";
  // What is younger than some checkpoints is not named as long as it is as it comes.
  constexpr std::array<std::string_view, 4> of_losses{"loss", "loss_threshold", "quantile",
                                                      "link_scale"};
  const bool is_squared = recipe.options.loss.kind == Loss::Kind::squared;
  for (const Setting& s : settings_of(recipe.options)) {
    if (is_squared && std::ranges::find(of_losses, s.key) != of_losses.end()) continue;
    if (s.key == "single_precision" && s.value == "false") continue;
    if (s.key == "lean" && s.value == "true") continue;
    text += ' ' + s.key + '=' + s.value;
  }
  return text + " seed=" + std::to_string(recipe.options.network.seed);
}

}  // namespace

Recipe EngineOptions::recipe_for(const Schema& of) const {
  Recipe made = recipe(of.inputs(), of.outputs());
  if (!of.has_classes()) return made;
  LearnerOptions& o = made.options;
  if (is_baseline(o.rule))
    throw std::invalid_argument(std::string("the learner ") + name_of(o.rule) +
                                " cannot tell classes; use auto, or a network such as ekf");
  o.loss.kind = Loss::Kind::cross_entropy;
  return made;
}

Engine::Engine(EngineOptions options, StateStore* store, EngineListener* listener)
    : options_(std::move(options)), store_(store), listener_(listener) {
  if (!options_.schema.empty()) begin(options_.schema);
}

const Schema& Engine::schema() const {
  static const Schema none;
  return reader_ ? reader_->schema() : none;
}

// ---- Records.

const Answer* Engine::take(const Record& record) {
  learn();
  if (record.empty()) return nullptr;
  ++counts_.records;
  if ((!settled() || to_be_checked_) && !settle(record)) return &answer_;
  if (!reader_->read(record, sample_)) return turn_away(reader_->problem());
  if (sample_.kind == Sample::Kind::inputs && !options_.future.empty())
    if (StreamModel* known = models_->find(sample_.key)) known->fill_known(sample_);
  const bool may_be_ahead = !options_.future.empty() && sample_.d.empty() && sample_.tick;
  const bool label = sample_.kind == Sample::Kind::label;
  if (!label && sample_.missing > 0 && !options_.hold_missing && !may_be_ahead)
    return turn_away_incomplete();
  if (!std::ranges::all_of(sample_.x, is_usable) || !std::ranges::all_of(sample_.d, is_usable))
    return turn_away(
        "a number is beyond ±1e100; rescale the data, or leave it away if it is missing");
  StreamModel* model = nullptr;
  try {
    model = model_for(sample_);
  } catch (const StoreError&) {
    --counts_.records;
    throw;
  } catch (const std::runtime_error& error) {
    return turn_away(error.what());
  }
  if (model == nullptr) return answer({.status = Answer::Status::late});
  if (!sample_.d.empty() && !model->has_room_for(sample_.label))
    return turn_away("the class " + shown(sample_.label, '\'') + " is one more than the " +
                     std::to_string(options_.model.max_classes) +
                     " that there may be; --classes allows more");
  if (may_be_ahead && model->is_ahead(sample_)) return answer(model->keep_ahead(sample_));
  if (!label && sample_.missing > 0 && !options_.hold_missing) return turn_away_incomplete();
  if (!label && schema().find(Role::time) != nullptr) return take_in_time(*model);
  return take(*model);
}

// What comes too late, or again, is not learnt. Targets of samples that wait for them are no
// samples.
const Answer* Engine::take_in_time(StreamModel& model) {
  const bool is_next = !sample_.tick || !model.clock().has_started() || model.clock().is_off() ||
                       *sample_.tick > model.clock().last();
  if (!sample_.d.empty() && model.waits_for(sample_.id) && (sample_.x.empty() || !is_next)) {
    sample_.kind = Sample::Kind::label;
    return take(model);
  }
  if (options_.model.elapsed) sample_.x.back() = model.clock().elapsed(sample_.tick);
  if (model.can_complete(sample_.x)) {
    const StreamClock::Verdict verdict = model.arrive(sample_, *this);
    if (const std::string text = model.clock().take_remark(); !text.empty())
      remark((sample_.key.empty() ? "" : sample_.key + ": ") + text);
    if (verdict.kind == StreamClock::Kind::late) {
      reason_ = "its time is before that of the last sample";
      return answer({.status = Answer::Status::late, .reason = reason_});
    }
    if (verdict.kind == StreamClock::Kind::repeated) {
      reason_ = "there was a sample of this time";
      return answer({.status = Answer::Status::repeated, .reason = reason_});
    }
    counts_.passed += verdict.missing;
  }
  return take(model);
}

const Answer* Engine::take(StreamModel& model) {
  const bool label = sample_.kind == Sample::Kind::label;
  if (!label && !model.complete(sample_.x))
    return turn_away("no number has come yet for " + reader_->missing_inputs(sample_) +
                     ", so there is none to hold; lines are refused until one has");
  counts_.held += sample_.missing;
  if (!label && listener_ != nullptr) listener_->took(sample_.x);
  owing_ = &model;
  const Answer said = model.take(sample_, *this);
  answer(said);
  if (!said.forecast.empty()) write_forecast_times(model);
  if (model.held_known())
    remark(
        "inputs known ahead are not known for all of the horizon: there they are held at their "
        "last values");
  return &answer_;
}

void Engine::write_forecast_times(const StreamModel& model) {
  if (!sample_.tick || !model.clock().step()) return;
  const TimeText text(sample_.time, *sample_.tick, schema().time_form);
  forecast_times_.clear();
  for (std::size_t lead = 1; lead <= options_.model.horizon; ++lead)
    forecast_times_.push_back(text.write(*model.clock().after(lead)));
  answer_.forecast_time = forecast_times_;
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
    if (!reader.read(record, sample) || !std::ranges::all_of(sample.x, is_usable))
      throw std::invalid_argument(
          "record " + std::to_string(k + 1) + " of the inputs to come: " +
          (reader.problem().empty() ? "a number is beyond ±1e100" : reader.problem()));
    x.insert(x.end(), sample.x.begin(), sample.x.end());
  }
  Foresight said = model->foresee(horizon, x);
  const StreamClock& clock = model->clock();
  if (!clock.has_started() || !clock.step()) return said;
  const TimeText text(sample_.tick ? sample_.time : "", sample_.tick.value_or(clock.last()),
                      schema().time_form);
  said.time_is_text = sample_.tick ? sample_.time_is_text : true;
  for (std::size_t lead = 1; lead <= horizon; ++lead)
    said.time.push_back(text.write(*clock.after(lead)));
  return said;
}

void Engine::remark(std::string text) {
  constexpr std::size_t enough = 100;
  if (said_.size() < enough && said_.insert(text).second) remarks_.push_back(std::move(text));
}

std::vector<std::string> Engine::take_remarks() { return std::exchange(remarks_, {}); }

// The target of an unknown sample makes no model.
StreamModel* Engine::model_for(const Sample& sample) {
  StreamModel* const model =
      sample.kind == Sample::Kind::label ? models_->find(sample.key) : &models_->of(sample.key);
  if (model != nullptr) require_width(*model);
  return model;
}

// What was read from a store may be anything.
void Engine::require_width(const StreamModel& model) const {
  const bool fits =
      schema().has_classes() ? model.of_classes() : model.learner().outputs() == schema().outputs();
  if (model.learner().inputs() != schema().inputs() || !fits)
    throw SnapshotError("the model has other inputs or targets than the stream");
}

const Answer* Engine::answer(Answer answer) {
  switch (answer.status) {
    case Answer::Status::late:
      ++(answer.reason.empty() ? counts_.late : counts_.untimely);
      break;
    case Answer::Status::repeated:
      ++counts_.repeated;
      break;
    case Answer::Status::predicted:
    case Answer::Status::learnt:
      ++counts_.samples;
      break;
    default:
      break;
  }
  counts_.anomalies += answer.anomaly ? 1 : 0;
  answer.id = sample_.id;
  answer.id_is_text = sample_.id_is_text;
  answer.key = sample_.key;
  answer.time = sample_.time;
  answer.time_is_text = sample_.time_is_text;
  answer.held = sample_.missing;
  answer.target = sample_.d;
  answer.label = sample_.label;
  answer_ = answer;
  return &answer_;
}

const Answer* Engine::refuse(std::string reason) {
  learn();
  ++counts_.records;
  return turn_away(std::move(reason));
}

const Answer* Engine::turn_away(std::string reason) {
  ++counts_.refused;
  reason_ = std::move(reason);
  answer_ = {.status = Answer::Status::refused, .reason = reason_};
  return &answer_;
}

const Answer* Engine::turn_away_incomplete() {
  return turn_away(
      "without a number: " + reader_->missing_inputs(sample_) +
      "; every line needs all inputs (or an id and the target of an earlier one); with "
      "--missing hold they keep their last values");
}

void Engine::learn() {
  if (owing_ == nullptr) return;
  owing_->learn(*this);
  owing_ = nullptr;
}

void Engine::scored(std::span<const double> d_hat, std::span<const Interval> interval,
                    std::span<const double> d) {
  // Who listens hears by how much the probability of the class that came was too small.
  if (listener_ != nullptr && scores_->classes() != nullptr) {
    const double p = scores_->classes()->probability(d_hat, class_in(d));
    const double certain = 1;
    listener_->scored({&p, 1}, {}, {&certain, 1});
  } else if (listener_ != nullptr) {
    listener_->scored(d_hat, interval, d);
  }
  scores_->add(d_hat, interval, d);
}

void Engine::stepped(const StepReport& report) {
  last_step_ = report;
  switch (report.status) {
    case StepStatus::missing:
      ++counts_.missing;
      break;
    case StepStatus::gated:
      ++counts_.learnt;
      ++counts_.gated;
      break;
    case StepStatus::applied:
      ++counts_.learnt;
      break;
    default:
      ++counts_.rejected;
  }
  if (listener_ != nullptr) listener_->stepped(report);
}

// ---- What the stream is made of.

// False, and answered, if this record does not tell.
bool Engine::settle(const Record& record) {
  try {
    if (to_be_checked_) {
      require_fields(reader_->schema(), record);
      to_be_checked_ = false;
    } else if (can_settle(record, options_.fields)) {
      begin(options_.start_schema.empty()
                ? kalstream::settle(record, options_.fields)
                : settle_as(options_.start_schema, record, options_.fields));
    } else {
      turn_away(
          "the line says nothing of what the stream is made of: it has but an id and a target, "
          "or no value at all; a sample has to come first");
    }
    return settled();
  } catch (const SchemaError& error) {
    const bool of_another_stream = to_be_checked_ || !options_.start_schema.empty();
    if (record.is_row && of_another_stream) throw;
    turn_away(error.what());
    return false;
  }
}

void Engine::begin(Schema schema) {
  reader_.emplace(std::move(schema));
  try {
    settle_classes();
    settle_future();
    recipe_ = recipe();
    // Complains now, if at all. A width that was read is backed by nothing until a record or a
    // model is as wide.
    if (!to_be_checked_) make();
  } catch (...) {
    reader_.reset();
    throw;
  }
  ModelLimits limits{.models = 1, .of_one_model = [this] { return bytes_of_a_model(); }};
  if (has_keys()) {
    limits.models = options_.max_models;
    limits.bytes = options_.memory;
  }
  models_.emplace([this] { return make(); }, options_.model, has_keys() ? store_ : nullptr, limits);
  models_->set_beside(beside_);
  if (!scores_)
    scores_ =
        this->schema().has_classes() ? Scores::of_classes() : Scores(this->schema().outputs());
}

// A learner allocates nothing once it is made, so that a few tell of all. The first may use what
// was free before, and does not count unless it is large.
std::uint64_t Engine::bytes_of_a_model() const {
  constexpr std::size_t enough = std::size_t{1} << 20;
  constexpr std::size_t most = 64;
  const auto expected = static_cast<std::uint64_t>(footprint(recipe_->options).bytes);
  if (expected > enough && !has_keys()) return expected;
  std::vector<std::unique_ptr<StreamModel>> models;
  const auto taken_by = [&](std::size_t count) {
    const std::size_t before = heap_in_use();
    while (models.size() < count)
      models.push_back(std::make_unique<StreamModel>(make(), options_.model));
    return std::max(heap_in_use(), before) - before;
  };
  models.reserve(most);
  const std::size_t first = taken_by(1);
  if (first >= enough) return first;
  const std::size_t others = taken_by(most) / (most - 1);
  return others > 0 ? others : expected;
}

// Of classes there are no bounds, but probabilities; and no forecasts.
void Engine::settle_classes() {
  const Schema::Field* target = schema().find(Role::target);
  options_.model.max_classes = schema().has_classes() ? target->slots : 0;
  if (!schema().has_classes()) return;
  if (options_.model.horizon > 0)
    throw std::invalid_argument("--horizon: classes are not forecast; leave it away");
  if (options_.model.coverage > 0)
    remark("--interval: a class has probabilities in the place of bounds");
}

// Which inputs may be known ahead; the others are held in forecasts, and that is said.
void Engine::settle_future() {
  const Schema& fields = schema();
  const std::vector<bool> known = known_ahead(fields, options_.future);
  options_.model.known_ahead = options_.future.empty() ? std::vector<bool>{} : known;
  options_.model.elapsed = has_elapsed(fields);
  if (!options_.future.empty() && fields.find(Role::time) == nullptr)
    throw std::invalid_argument(
        "--future: rows ahead of their time are known by it, but the stream has no time; name the "
        "field with --time");
  if (options_.model.horizon == 0) return;
  if (const std::string text = held_ahead(fields, known); !text.empty()) remark(text);
}

Recipe Engine::recipe() const {
  const std::size_t inputs = schema().inputs();
  const std::size_t outputs = schema().outputs();
  if (!options_.start) return options_.recipe_for(schema());
  if (schema().has_classes())
    throw std::invalid_argument(
        "a learner to begin with does not know which class is which; go on from a checkpoint");
  if (options_.start->inputs() != inputs || options_.start->outputs() != outputs)
    throw std::invalid_argument(
        "the learner to begin with has " + std::to_string(options_.start->inputs()) +
        " inputs and " + std::to_string(options_.start->outputs()) + " targets, the stream " +
        std::to_string(inputs) + " and " + std::to_string(outputs));
  return *options_.start->recipe();
}

std::unique_ptr<Learner> Engine::make() const {
  return options_.start ? options_.start->clone() : make_from(*recipe_);
}

// ---- Checkpoints.

void Engine::require_same_learner(const std::string& before, bool with_seed) const {
  std::string there = without(before, "threads");
  std::string here = without(text_of(*recipe_), "threads");
  if (!with_seed) here = without(here, "seed");
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
  std::string learner = archive.reading() ? "" : text_of(*recipe_);
  archive.text(learner);
  if (archive.reading()) go_on(std::move(fields), learner, /*with_seed=*/true);
  scores_->exchange(archive);
}

void Engine::exchange_old(Archive& archive, const Counts& counts, Schema fields) {
  counts_ = counts;
  std::string learner;
  archive.text(learner);
  if (!fields.empty()) go_on(std::move(fields), learner, /*with_seed=*/false);
  bool has_scores = false;
  archive.flag(has_scores);
  archive.require(!has_scores || scores_.has_value());
  Scores none(1);
  Scores& scores = scores_ ? *scores_ : none;
  if (has_scores)
    scores.exchange(archive);
  else
    scores.exchange_coverage(archive);
}

void Engine::go_on(Schema schema, const std::string& learner, bool with_seed) {
  require_choice(schema, options_.fields);
  to_be_checked_ = true;
  begin(std::move(schema));
  require_same_learner(learner, with_seed);
}

void Engine::set_only_model(std::unique_ptr<StreamModel> model) {
  if (!models_) throw SnapshotError("there is a model of a stream that is not settled");
  require_width(*model);
  models_->put("", std::move(model));
}

// ---- A single model.

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
  std::unique_ptr<StreamModel> model;
  if (is_checkpoint(state)) {
    const Checkpoint checkpoint = checkpoint_of(state);
    if (checkpoint.model.empty()) throw SnapshotError("there is no model in this checkpoint");
    model = model_of(checkpoint, &options_.model);
  } else {
    model = std::make_unique<StreamModel>(load(state), options_.model);
  }
  require_width(*model);
  models_->forget(key);
  models_->put(key, std::move(model));
  models_->find(key);  // as one that is used, and has changed
}

bool Engine::forget(const std::string& key) {
  learn();
  return models_ && models_->forget(key);
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

}  // namespace kalstream

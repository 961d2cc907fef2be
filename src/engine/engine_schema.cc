// What a stream is made of: its fields, its learner, and room for its models.
#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>

#include "core/memory_limit.h"
#include "engine/engine.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "learner/footprint.h"
#include "schema/future.h"
#include "schema/rules.h"

namespace kalstream {

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

// False, and answered, if this record does not tell.
bool Engine::settle(const Record& record, Turn& turn) {
  try {
    if (to_be_checked_) {
      require_fields(reader_->schema(), record);
      to_be_checked_ = false;
    } else if (can_settle(record, options_.fields)) {
      begin(options_.start_schema.empty()
                ? kalstream::settle(record, options_.fields)
                : settle_as(options_.start_schema, record, options_.fields));
    } else {
      turn.refuse(
          "the line says nothing of what the stream is made of: it has but an id and a target, "
          "or no value at all; a sample has to come first");
    }
    return settled();
  } catch (const SchemaError& error) {
    const bool of_another_stream = to_be_checked_ || !options_.start_schema.empty();
    if (record.is_row && of_another_stream) throw;
    turn.refuse(error.what());
    return false;
  }
}

void Engine::begin(Schema schema) {
  reader_.emplace(std::move(schema));
  if (options_.model.alarms.any()) reader_->expect_verdicts();
  readers_.clear();
  try {
    settle_classes();
    settle_future();
    recipe_ = recipe();
    if (!takes_missing_inputs(recipe_->options.rule) && options_.missing == MissingInputs::learn)
      options_.missing = MissingInputs::refuse;
    options_.model.holds_missing = options_.missing == MissingInputs::hold;
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
  models_.emplace(make_, options_.model, has_keys() ? store_ : nullptr, limits);
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
  // A server may have thousands of streams that are alike, and to ask the heap takes the longer the
  // more there is in it.
  static std::mutex mutex;
  static std::map<std::string, std::uint64_t> known;
  const bool may_be_known = !has_keys() && !options_.start;
  const ModelOptions& o = options_.model;
  const std::string like = recipe_text() + ' ' + std::to_string(schema().inputs()) + ' ' +
                           std::to_string(schema().outputs()) + ' ' + std::to_string(o.horizon) +
                           ' ' + std::to_string(o.coverage) + ' ' + std::to_string(o.inner.size()) +
                           ' ' + std::to_string(o.alarm_rate) + ' ' +
                           std::to_string(o.max_classes) + ' ' + std::to_string(o.max_delay) +
                           (o.surprise ? " surprise" : "") +
                           (o.alarms.strangeness ? " strangeness" : "") +
                           (o.alarms.any() ? " alarms" : "") + (o.elapsed ? " elapsed" : "");
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(like); may_be_known && found != known.end())
    return found->second;
  std::vector<std::unique_ptr<StreamModel>> models;
  const auto taken_by = [&](std::size_t count) {
    const std::size_t before = heap_in_use();
    while (models.size() < count)
      models.push_back(std::make_unique<StreamModel>(make(), options_.model));
    return std::max(heap_in_use(), before) - before;
  };
  models.reserve(most);
  const std::size_t first = taken_by(1);
  const std::size_t others = first >= enough ? first : taken_by(most) / (most - 1);
  const std::uint64_t bytes = others > 0 ? others : expected;
  if (may_be_known) known.emplace(like, bytes);
  return bytes;
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
  if (options_.model.alarms.any())
    remark("--strangeness, --alarm-above, --alarm-below: of a class there is its surprise alone");
}

// Which inputs may be known ahead; the others are held in forecasts, and that is said.
void Engine::settle_future() {
  const Schema& fields = schema();
  const std::vector<bool> known = known_ahead(fields, options_.future);
  options_.model.known_ahead = options_.future.empty() ? std::vector<bool>{} : known;
  options_.model.elapsed = has_elapsed(fields);
  const bool needs_time = !options_.future.empty() && !options_.is_announced;
  if (needs_time && fields.find(Role::time) == nullptr)
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
  const Learner& start = options_.start->learner();
  if (start.inputs() != inputs || start.outputs() != outputs)
    throw std::invalid_argument("the learner to begin with has " + std::to_string(start.inputs()) +
                                " inputs and " + std::to_string(start.outputs()) +
                                " targets, the stream " + std::to_string(inputs) + " and " +
                                std::to_string(outputs));
  return start.recipe() == nullptr ? Recipe{} : *start.recipe();
}

CalibratedLearner Engine::make() const {
  return options_.start ? *options_.start : CalibratedLearner(make_from(*recipe_));
}

// What was read from a store may be anything.
void Engine::require_width(const StreamModel& model) const {
  const bool fits =
      schema().has_classes() ? model.of_classes() : model.learner().outputs() == schema().outputs();
  if (model.learner().inputs() != schema().inputs() || !fits)
    throw SnapshotError("the model has other inputs or targets than the stream");
}

}  // namespace kalstream

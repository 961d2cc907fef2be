// What a stream's engine is told.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"
#include "engine/models.h"
#include "kalstream/learner.h"
#include "kalstream/schema.h"

namespace kalstream {

/// What becomes of a sample that lacks inputs.
enum class MissingInputs {
  learn,   ///< the learner takes it as it is, if it can; otherwise it is refused
  refuse,  ///< it is
  hold,    ///< their last values stand in for them
};

/// "learn", "refuse" or "hold"; throws std::invalid_argument for what is none of them.
MissingInputs missing_inputs_named(std::string_view name);

struct EngineOptions {
  FieldChoice fields;
  /// The learner for a stream of so many inputs and outputs. Throws std::invalid_argument.
  std::function<Recipe(std::size_t inputs, std::size_t outputs)> recipe;
  /// Begin with copies of this one instead, which has learnt from a stream of that schema (empty if
  /// it is not known).
  std::shared_ptr<const CalibratedLearner> start;
  Schema start_schema;

  /// The fields, where they are known before the first record; empty: that one settles them.
  Schema schema;

  /// For a stream of these fields, with the loss that they ask for. Throws std::invalid_argument.
  Recipe recipe_for(const Schema& of) const;

  ModelOptions model;
  MissingInputs missing = MissingInputs::learn;
  /// Fields whose inputs may be known ahead of their time, by name or place.
  std::vector<std::string> future;
  /// They are told by Engine::announce(), which needs no times.
  bool is_announced = false;
  std::size_t max_models = 10'000;
  /// That may be taken, by models with keys and all that belongs to a stream.
  std::uint64_t memory = ModelLimits::none;
};

}  // namespace kalstream

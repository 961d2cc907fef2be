// All that a stream's answers depend on, as people say it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "schema/future.h"

namespace kalstream {

/// Coverages of bounds, 0: none; and of narrower ones within them, in ascending order.
struct Coverages {
  double widest = 0;
  std::vector<double> inner = {};

  Coverages() = default;
  /// Of one or several coverages, in any order. Throws std::invalid_argument if one comes twice, or
  /// there are too many.
  explicit Coverages(std::vector<double> all);
  bool operator==(const Coverages&) const = default;
};

/// The options by which `kalstream stream`, a fleet and a served stream are told what to learn.
struct StreamSettings {
  FieldChoice fields;
  TimeChoice time;
  std::string missing = "learn";
  std::string learner = "auto";
  std::string loss = "squared";
  std::uint64_t lags = 0;
  std::uint64_t hidden = 0;
  std::uint64_t window = 0;
  std::uint64_t experts = 0;
  double budget_us = 0;
  std::uint64_t jobs = 0;  ///< threads, 0: by default; answers do not depend on them
  std::uint64_t seed = 1;
  std::vector<std::string> set;
  bool unscaled = false;
  bool predict_only = false;
  std::uint64_t horizon = 0;
  Coverages interval;
  bool surprise = false;
  double alarm_rate = 0;
  bool strangeness = false;
  double alarm_above = AlarmOptions::no_limit;
  double alarm_below = -AlarmOptions::no_limit;
  std::uint64_t max_delay = 1000;

  AlarmOptions alarms() const { return {strangeness, alarm_above, alarm_below}; }
};

/// One of them: the one list that command lines and JSON are read by.
struct StreamOption {
  using Place = std::variant<bool*, double*, std::uint64_t*, std::string*,
                             std::vector<std::string>*, Coverages*>;

  const char* name;  ///< "max-delay"; in JSON "max_delay"
  const char* meaning;
  Place (*in)(StreamSettings&);
  double least = 0;  ///< of numbers
  double most = 0;
  std::vector<std::string> choices = {};  ///< of texts; empty: anything
  bool of_learner = false;                ///< says what the learner is
};

const std::vector<StreamOption>& stream_options();

/// {"target":["y"],"learner":"alg1",…}: what is not as it is by default, in the order of the list.
std::string to_json(const StreamSettings& settings);

/// Reads that, or what people write: lists also as text with commas, fields also by number. Throws
/// std::invalid_argument, naming what is not known or not permitted.
StreamSettings settings_from_json(std::string_view json);

/// What the engine needs; `say` takes what people should know once the first sample has told how
/// many inputs there are. Throws std::invalid_argument.
EngineOptions engine_options(const StreamSettings& settings,
                             const std::function<void(const std::string&)>& say);

}  // namespace kalstream

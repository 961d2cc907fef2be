// One record on its way: from its sample by its model to its answer.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/answer.h"
#include "engine/engine_options.h"
#include "engine/hearsay.h"
#include "engine/model.h"
#include "schema/sample.h"

namespace kalstream {

/// Whether all numbers are of a size that can be learnt from, or missing.
bool is_usable(const Sample& sample);

/// What all turns of a stream go by, and none changes.
struct TurnRules {
  const EngineOptions& options;
  const SampleReader& reader;  ///< for the names of fields
  const Models::MakeLearner& make;
};

/// Knows its own record and model and nothing else that changes, so that turns of different models
/// can be taken at the same time. What is to be counted and told of it waits here until its place
/// in the order has come. Used again and again.
class Turn {
 public:
  /// For the next record.
  void clear();

  Sample sample;
  bool is_read = false;          ///< the sample is the record's
  Models::Expected expected;     ///< of its model
  StreamModel* model = nullptr;  ///< nullptr: there is none, and nothing more to be done
  bool is_silent = false;        ///< the record says nothing, and is not answered

  /// Answers that the record cannot be used, …
  void refuse(std::string reason);
  /// … or that it is the target of a sample nobody knows.
  void be_late();
  bool is_refused() const { return answer_.status == Answer::Status::refused; }
  /// Whether a model could take the sample; refuses it if not.
  bool require_usable(const TurnRules& rules);

  /// Predicts. The answer's views are into the model, …
  void take(const TurnRules& rules);
  /// … unless it is kept, which it has to be before the model is asked anything else.
  void keep();
  /// Learns what the record has brought.
  void learn();

  const Answer& answer() const { return answer_; }

  // What is to be told, in this order; what was heard while it learnt comes after the answer.
  std::uint64_t passed = 0;          ///< samples that never came
  std::size_t held = 0;              ///< inputs
  bool took = false;                 ///< the sample has gone to the model
  std::vector<std::string> remarks;  ///< for people
  Hearsay heard;                     ///< before the answer
  Hearsay heard_later;               ///< after it
  std::exception_ptr failure;        ///< of what should not fail: to be thrown

 private:
  bool may_be_ahead(const TurnRules& rules) const;
  void refuse_incomplete(const TurnRules& rules);
  bool arrive(const TurnRules& rules);
  void predict(const TurnRules& rules);
  void write_forecast_times(const TurnRules& rules);
  void say(Answer answer);

  Answer answer_;
  std::string reason_;
  std::vector<std::string> forecast_times_;
  // What the answer refers to, once it is kept.
  std::vector<double> prediction_, surprise_, forecast_;
  std::vector<Interval> interval_, forecast_interval_;
};

}  // namespace kalstream

// One record on its way: from its sample by its model to its answer.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/answer.h"
#include "engine/engine_options.h"
#include "engine/listener.h"
#include "engine/model.h"
#include "schema/arrival.h"
#include "schema/sample.h"

namespace kalstream {

/// Buffers the events of one model so that they can be delivered in record order after parallel
/// work. Used again and again, it stops allocating.
class EventBuffer final : public StreamListener {
 public:
  void clear();

  void took(std::span<const double> x) override;
  void scored(std::uint64_t sample, std::span<const double> d_hat,
              std::span<const Interval> interval, std::span<const double> d) override;
  /// Keeps the report without its weights, which do not live as long.
  void stepped(std::uint64_t sample, const StepReport& report) override;

  /// Delivers the events in the order in which they came.
  void replay(StreamListener& to) const;

 private:
  // The numbers of an event are in numbers_ and bounds_, one event after the other.
  struct Event {
    enum class Kind : std::uint8_t { took, scored, stepped };

    Kind kind = Kind::stepped;
    std::uint64_t sample = 0;
    std::size_t first = 0;   // numbers: x, or d_hat
    std::size_t second = 0;  // numbers: d
    std::size_t bounds = 0;
    StepReport report;
  };

  std::vector<Event> events_;
  std::vector<double> numbers_;
  std::vector<Interval> bounds_;
};

/// Whether all numbers are of a size that can be learnt from, or missing.
bool is_usable(const Sample& sample);

/// What all turns of a stream go by, and none changes.
struct TurnRules {
  const EngineOptions& options;
  const SampleReader& reader;  ///< for the names of fields
  const Models::MakeLearner& make;
};

/// One record on its way. Knows its own record and model and nothing else that changes, so that
/// turns of different models can be taken at the same time. Keeps its allocations for the next
/// record.
class Turn {
 public:
  /// Prepares the turn for the next record.
  void clear(std::uint64_t line);

  /// The sample of a record, or a refusal. The reader must be there for a record to be read.
  void read(const Arrival& arrival, std::optional<SampleReader>& reader) {
    if (arrival.is_problem) return refuse(arrival.problem);
    if (arrival.sample != nullptr) sample = *arrival.sample;
    is_read = arrival.sample != nullptr || reader->read(arrival.record, sample);
    if (!is_read) refuse(reader->problem());
  }
  /// Prepares the turn for this record, and reads it.
  void begin(const Arrival& arrival, std::optional<SampleReader>& reader) {
    clear(arrival.line);
    is_silent = arrival.is_silent();
    if (!is_silent) read(arrival, reader);
  }

  Sample sample;
  bool is_read = false;          ///< the sample is the record's
  Models::Expected expected;     ///< of its model
  StreamModel* model = nullptr;  ///< nullptr: there is none, and nothing more to be done
  bool is_silent = false;        ///< the record says nothing, and is not answered

  /// Answers that the record cannot be used. The answer has the key if `sample` has it.
  void refuse(std::string reason);
  /// Answers that the record is the target of a sample that no model waits for.
  void be_late();
  bool is_refused() const { return answer_.status == Answer::Status::refused; }
  /// Whether a model could take the sample; refuses it if not.
  bool require_usable(const TurnRules& rules);

  /// Predicts. The views of the answer are into the model until keep() is called.
  void take(const TurnRules& rules, StreamListener& listener);
  /// Copies what the answer refers to. Has to be called before the model is asked anything else.
  void keep();
  /// Learns what the record has brought.
  void learn(StreamListener& listener) {
    if (model != nullptr) model->learn(listener);
  }

  const Answer& answer() const { return answer_; }

  // What the engine has to count and say when the record is answered.
  std::uint64_t passed = 0;          ///< samples that never came
  std::size_t held = 0;              ///< inputs
  std::vector<std::string> remarks;  ///< for people

  // Of a record in a batch.
  EventBuffer events;          ///< from before the answer
  EventBuffer events_later;    ///< from learning
  std::exception_ptr failure;  ///< to be thrown in the record's place in the order

 private:
  bool is_label() const;
  bool may_be_ahead(const TurnRules& rules) const;
  void refuse_incomplete(const TurnRules& rules);
  void judge();
  bool arrive(const TurnRules& rules, StreamListener& listener);
  void write_forecast_times(const TurnRules& rules);
  void say(Answer answer);

  std::uint64_t line_ = 0;  // of the source
  Answer answer_;
  std::string reason_;
  std::vector<std::string> forecast_times_;
  // What the answer refers to, once it is kept.
  std::vector<double> prediction_, surprise_, strangeness_, forecast_;
  std::vector<Interval> interval_, inner_, forecast_interval_, forecast_inner_;
};

}  // namespace kalstream

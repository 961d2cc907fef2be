#include "engine/engine.h"

#include <stdexcept>
#include <utility>

#include "kalstream/snapshot.h"

namespace kalstream {

MissingInputs missing_inputs_named(std::string_view name) {
  if (name == "learn") return MissingInputs::learn;
  if (name == "refuse") return MissingInputs::refuse;
  if (name == "hold") return MissingInputs::hold;
  throw std::invalid_argument("missing: learn, refuse or hold, not '" + std::string(name) + "'");
}

Engine::Engine(EngineOptions options, StateStore* store, Listeners listeners)
    : options_(std::move(options)), store_(store), listeners_(std::move(listeners)) {
  if (!options_.schema.empty()) begin(options_.schema);
}

const Schema& Engine::schema() const {
  static const Schema none;
  return reader_ ? reader_->schema() : none;
}

// ---- Records.

const Answer* Engine::take(const Arrival& arrival) {
  learn();
  if (arrival.is_silent()) return nullptr;
  if (turns_.empty()) turns_.emplace_back();
  Turn& turn = turns_.front();
  turn.clear(arrival.line);
  try {
    if (is_early_verdict(arrival))
      turn.refuse("no sample has come, so there is no alarm to judge");
    else if (is_ready() || !arrival.has_record() || settle(arrival.record, turn))
      turn.read(arrival, reader_);
    if (turn.is_read) admit(turn);
  } catch (const StoreError&) {
    throw;
  } catch (...) {
    ++counts_.records;
    throw;
  }
  if (turn.model != nullptr) {
    owing_ = &turn;
    turn.take(rules(), *this);
  }
  return count(turn);
}

// It must not be taken for the sample that tells the fields.
bool Engine::is_early_verdict(const Arrival& arrival) const {
  return !settled() && arrival.has_record() && options_.model.alarms.any() &&
         verdict_in(arrival.record, has_keys() ? 1 : 0);
}

void Engine::learn() {
  if (owing_ != nullptr) std::exchange(owing_, nullptr)->learn(*this);
}

// Finds its model, or makes it: that of a target must be there, and a sample that cannot be used
// makes none. What a model knows ahead may complete a sample.
void Engine::admit(Turn& turn) {
  const Sample& sample = turn.sample;
  const bool label = sample.kind != Sample::Kind::inputs;
  try {
    StreamModel* model =
        !label && !options_.future.empty() ? models_->find(sample.key, turn.expected) : nullptr;
    if (model == nullptr) {
      if (!turn.require_usable(rules())) return;
      model = label ? models_->find(sample.key, turn.expected)
                    : &models_->of(sample.key, turn.expected);
    }
    if (model == nullptr && sample.kind == Sample::Kind::verdict)
      return turn.refuse("no sample of this key has come, so there is no alarm to judge");
    if (model == nullptr) return turn.be_late();
    turn.model = model;
  } catch (const StoreError&) {
    throw;
  } catch (const std::runtime_error& error) {
    turn.refuse(error.what());
  }
}

// ---- What is told and counted of them.

const Answer* Engine::answer(std::size_t k) {
  Turn& turn = turns_[k];
  if (turn.failure) std::rethrow_exception(turn.failure);
  if (turn.is_silent) return nullptr;
  turn.events.replay(*this);
  return count(turn);
}

const Answer* Engine::count(Turn& turn) {
  const Answer& answer = turn.answer();
  ++counts_.records;
  counts_.passed += turn.passed;
  counts_.held += turn.held;
  counts_.anomalies += answer.anomaly ? 1 : 0;
  counts_.alarms += answer.alarm && answer.alarm->is_new ? 1 : 0;
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
    case Answer::Status::refused:
      ++counts_.refused;
      break;
    default:
      break;
  }
  for (std::string& text : turn.remarks) remark(std::move(text));
  if (turn.is_read && reader_->has_time() && answer.status != Answer::Status::judged)
    last_time_ = {turn.sample.time, turn.sample.time_is_text, turn.sample.tick};
  return &answer;
}

void Engine::took(std::span<const double> x) {
  for (StreamListener* listener : listeners_) listener->took(x);
}

// Every prediction is scored by its model (StreamModel::step), which tells it. Here it counts for
// the stream, and those who listen hear of it.
void Engine::scored(std::uint64_t sample, std::span<const double> d_hat,
                    std::span<const Interval> interval, std::span<const double> d) {
  if (const ClassScores* classes = scores_->classes(); classes != nullptr) {
    const double p = classes->probability(d_hat, class_in(d));
    const double certain = 1;
    for (StreamListener* listener : listeners_)
      listener->scored(sample, {&p, 1}, {}, {&certain, 1});
  } else {
    for (StreamListener* listener : listeners_) listener->scored(sample, d_hat, interval, d);
  }
  scores_->add(d_hat, interval, d);
}

void Engine::stepped(std::uint64_t sample, const StepReport& report) {
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
  for (StreamListener* listener : listeners_) listener->stepped(sample, report);
}

void Engine::remark(std::string text) {
  constexpr std::size_t enough = 100;
  if (said_.size() < enough && said_.insert(text).second) remarks_.push_back(std::move(text));
}

std::vector<std::string> Engine::take_remarks() { return std::exchange(remarks_, {}); }

}  // namespace kalstream

#include "engine/engine.h"

#include <stdexcept>
#include <utility>

#include "kalstream/snapshot.h"

namespace kalstream {

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
  Turn& turn = first_turn();
  try {
    begin(turn, record);
  } catch (const StoreError&) {
    throw;
  } catch (...) {
    ++counts_.records;
    throw;
  }
  if (turn.model != nullptr) {
    owing_ = &turn;
    turn.take(rules());
  }
  return tell(turn);
}

const Answer* Engine::refuse(std::string reason) {
  learn();
  Turn& turn = first_turn();
  turn.refuse(std::move(reason));
  return tell(turn);
}

void Engine::learn() {
  if (owing_ == nullptr) return;
  Turn& turn = *std::exchange(owing_, nullptr);
  turn.learn();
  turn.heard_later.tell(*this);
}

Turn& Engine::first_turn() {
  if (turns_.empty()) turns_.emplace_back();
  turns_.front().clear();
  return turns_.front();
}

// All that depends on the records before, whatever their key.
void Engine::begin(Turn& turn, const Record& record) {
  if ((!settled() || to_be_checked_) && !settle(record, turn)) return;
  turn.is_read = reader_->read(record, turn.sample);
  if (turn.is_read)
    admit(turn);
  else
    turn.refuse(reader_->problem());
}

// Finds its model, or makes it: that of a target must be there, and a sample that cannot be used
// makes none. What a model knows ahead may complete a sample.
void Engine::admit(Turn& turn) {
  const Sample& sample = turn.sample;
  const bool label = sample.kind == Sample::Kind::label;
  try {
    StreamModel* model =
        !label && !options_.future.empty() ? models_->find(sample.key, turn.expected) : nullptr;
    if (model == nullptr) {
      if (!turn.require_usable(rules())) return;
      model = label ? models_->find(sample.key, turn.expected)
                    : &models_->of(sample.key, turn.expected);
    }
    if (model == nullptr) return turn.be_late();
    turn.model = model;
  } catch (const StoreError&) {
    throw;
  } catch (const std::runtime_error& error) {
    turn.refuse(error.what());
  }
}

// ---- What is told of them.

const Answer* Engine::tell(Turn& turn) {
  if (turn.failure) std::rethrow_exception(turn.failure);
  if (turn.is_silent) return nullptr;
  ++counts_.records;
  counts_.passed += turn.passed;
  counts_.held += turn.held;
  for (std::string& text : turn.remarks) remark(std::move(text));
  if (turn.took && listener_ != nullptr) listener_->took(turn.sample.x);
  turn.heard.tell(*this);
  count(turn.answer());
  if (turn.is_read && schema().find(Role::time) != nullptr)
    last_time_ = {turn.sample.time, turn.sample.time_is_text, turn.sample.tick};
  return &turn.answer();
}

void Engine::count(const Answer& answer) {
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
  counts_.anomalies += answer.anomaly ? 1 : 0;
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

void Engine::remark(std::string text) {
  constexpr std::size_t enough = 100;
  if (said_.size() < enough && said_.insert(text).second) remarks_.push_back(std::move(text));
}

std::vector<std::string> Engine::take_remarks() { return std::exchange(remarks_, {}); }

}  // namespace kalstream

// Many records at a time. Reading them and what their models do is shared among threads; models are
// found, made and let go in the order of the records, and so is what is told of them.
#include <algorithm>

#include "engine/engine.h"

namespace kalstream {

std::size_t Engine::take_many(std::span<const Arrival> arrivals, Workers& workers,
                              const Answered& answered) {
  learn();
  if (turns_.size() < arrivals.size()) turns_.resize(arrivals.size());
  if (!reader_->has_categories()) read_many(arrivals, workers);
  models_->begin_batch();
  std::size_t count = 0;
  try {
    count = admit_many(arrivals);
  } catch (...) {
    models_->end_batch();
    throw;
  }
  work(std::span(turns_).first(count), workers, answered);
  models_->end_batch();
  return count;
}

void Engine::read_many(std::span<const Arrival> arrivals, Workers& workers) {
  if (readers_.size() != workers.size()) readers_.assign(workers.size(), reader_);
  const std::size_t parts = readers_.size();
  workers.run(parts, [&](std::size_t part) {
    const std::size_t end = arrivals.size() * (part + 1) / parts;
    for (std::size_t k = arrivals.size() * part / parts; k < end; ++k) {
      Turn& turn = turns_[k];
      turn.begin(arrivals[k], readers_[part]);
      if (turn.is_read) turn.expected = models_->expect(turn.sample.key);
    }
  });
}

// As many as models are found for. Categories add to what the next record is read by, so that their
// records are read no sooner.
std::size_t Engine::admit_many(std::span<const Arrival> arrivals) {
  const bool is_read = !reader_->has_categories();
  for (std::size_t k = 0; k < arrivals.size(); ++k) {
    Turn& turn = turns_[k];
    if (!is_read) turn.begin(arrivals[k], reader_);
    if (!turn.is_read) continue;
    if (k > 0 && models_->is_crowded(turn.sample.key)) return k;
    try {
      admit(turn);
    } catch (const StoreError&) {
      if (k == 0) throw;
      return k;  // the next time it is the first
    }
  }
  return arrivals.size();
}

// What belongs to one model is done in order, by one thread.
void Engine::work(std::span<Turn> turns, Workers& workers, const Answered& answered) {
  by_model_.clear();
  for (std::size_t k = 0; k < turns.size(); ++k)
    if (turns[k].model != nullptr) by_model_.emplace_back(turns[k].model, k);
  std::ranges::sort(by_model_);
  tasks_.clear();
  for (std::size_t k = 0; k < by_model_.size(); ++k) {
    if (k == 0 || by_model_[k].first != by_model_[k - 1].first)
      tasks_.push_back({.owner = std::hash<const void*>()(by_model_[k].first) >> 8, .begin = k});
    tasks_.back().end = k + 1;
  }
  const TurnRules rules = this->rules();
  lanes_.run(workers, tasks_, [&](const Lanes::Task& task) {
    for (std::size_t at = task.begin; at < task.end; ++at) {
      const std::size_t k = by_model_[at].second;
      Turn& turn = turns[k];
      try {
        turn.take(rules, turn.events);
        turn.keep();
        if (!turn.is_refused()) answered(k, turn.answer());
        turn.learn(turn.events_later);
      } catch (...) {
        turn.failure = std::current_exception();
        return;
      }
    }
  });
}

}  // namespace kalstream

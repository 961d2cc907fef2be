// Several inputs of a partition at a time, by several threads. Snapshots depend on where each input
// is, and chains on the answers before: both are looked after in order.
#include <algorithm>

#include "core/workers.h"
#include "fleet/shard.h"

namespace kalstream::fleet {

// How many of them, from the first on, are records, and are to be taken in the same phase.
std::size_t Shard::records_in(std::span<const Input> inputs) const {
  const bool live = phase_ == Phase::live;
  const auto ends = std::ranges::find_if(inputs, [&](const Input& input) {
    return !input.value || input.is_import || (!live && input.offset >= committed_->offset);
  });
  return static_cast<std::size_t>(ends - inputs.begin());
}

std::size_t Shard::take_many(std::span<const Input> inputs, std::vector<Message>& to,
                             Workers& workers) {
  const std::size_t count = records_in(inputs);
  if (count < 2 || !engine_.takes_many()) {
    take(inputs.front(), to);
    return 1;
  }
  std::vector<Message>* const out = phase_ == Phase::live ? &to : nullptr;
  if (readers_.size() != workers.size()) readers_.assign(workers.size(), reader_);
  arrivals_.resize(std::max(arrivals_.size(), count));
  texts_.resize(std::max(texts_.size(), count));
  model_keys_.resize(std::max(model_keys_.size(), count));
  const std::size_t parts = readers_.size();
  workers.run(parts, [&](std::size_t part) {
    std::size_t at = key_at_;
    for (std::size_t k = count * part / parts; k < count * (part + 1) / parts; ++k) {
      Arrival& arrival = arrivals_[k];
      read(inputs[k], readers_[part], arrival);
      if (arrival.is_problem) continue;
      model_keys_[k] = key_of(arrival.record, at);
      if (is_known(model_keys_[k], inputs[k].offset)) arrival.record.clear();
    }
  });
  for (std::size_t done = 0; done < count;) {
    const auto left = std::span(arrivals_).subspan(done, count - done);
    const std::size_t taken =
        engine_.take_many(left, workers, [&](std::size_t k, const Answer& answer) {
          std::string& text = texts_[done + k];
          text.clear();
          writer_.write(answer, text);
          text.pop_back();  // the line's end
        });
    for (std::size_t k = 0; k < taken; ++k) tell(inputs[done + k], done + k, k, out);
    done += taken;
  }
  return count;
}

void Shard::tell(const Input& input, std::size_t k, std::size_t turn, std::vector<Message>* to) {
  const Answer* said = engine_.tell(turn);
  if (said != nullptr && arrivals_[k].is_problem) {
    text_ = refusal(input, said->reason);
    answer(input, nullptr, true, said->reason, to);
  } else if (said != nullptr) {
    const bool refused = said->status == Answer::Status::refused;
    if (refused)
      text_ = refusal(input, said->reason);
    else if (engine_.had_model(turn))
      text_.swap(texts_[k]);
    else {  // nobody has written it
      text_.clear();
      writer_.write(*said, text_);
      text_.pop_back();
    }
    answer(input, entry_for(model_keys_[k], engine_.had_model(turn)), refused,
           refused ? said->reason : std::string_view(), to);
  }
  engine_.tell_learnt(turn);
  passed(input);
}

}  // namespace kalstream::fleet

// A single model of a stream: what it expects, its state out and in.
#include <algorithm>
#include <stdexcept>

#include "engine/checkpoint.h"
#include "engine/engine.h"
#include "kalstream/snapshot.h"
#include "schema/time_text.h"

namespace kalstream {

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
    if (!reader.read(record, sample) || !is_usable(sample))
      throw std::invalid_argument(
          "record " + std::to_string(k + 1) + " of the inputs to come: " +
          (reader.problem().empty() ? "a number is beyond ±1e100" : reader.problem()));
    x.insert(x.end(), sample.x.begin(), sample.x.end());
  }
  Foresight said = model->foresee(horizon, x);
  const StreamClock& clock = model->clock();
  if (!clock.has_started() || !clock.step()) return said;
  const TimeText text(last_time_.tick ? last_time_.text : "",
                      last_time_.tick.value_or(clock.last()), schema().time_form);
  said.time_is_text = last_time_.tick ? last_time_.is_text : true;
  for (std::size_t lead = 1; lead <= horizon; ++lead)
    said.time.push_back(text.write(*clock.after(lead)));
  return said;
}

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

void Engine::announce(const Sample& sample, std::uint64_t n) {
  learn();
  if (models_) models_->of(sample.key).announce(sample, n);
}

const StreamModel* Engine::model_in_memory(const std::string& key) const {
  return models_ ? models_->in_memory(key) : nullptr;
}

std::optional<CalibratedLearner> Engine::take_learner() {
  learn();
  StreamModel* model = models_ && !has_keys() ? models_->find("") : nullptr;
  if (model == nullptr || !model->has_begun()) return {};
  std::optional<CalibratedLearner> learner = std::move(*model).release();
  models_->forget("");
  return learner;
}

bool Engine::forget(const std::string& key) {
  learn();
  return models_ && models_->forget(key);
}

}  // namespace kalstream

#include "engine/models.h"

#include <algorithm>
#include <stdexcept>

#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"
#include "schema/value.h"

namespace kalstream {

Models::Models(MakeLearner make, const ModelOptions& options, StateStore* store, std::size_t most)
    : make_(std::move(make)), options_(options), store_(store), most_(most), room_(most) {}

const StreamModel* Models::only() const {
  return models_.empty() ? nullptr : models_.front().model.get();
}

std::size_t Models::pending() const {
  std::size_t sum = 0;
  for (const Entry& e : models_) sum += e.model->pending();
  return sum;
}

std::size_t Models::stored() const {
  return store_ == nullptr ? 0 : store_->models() - std::min(store_->models(), stored_in_memory_);
}

void Models::put(const std::string& key, std::unique_ptr<StreamModel> model) {
  models_.push_front({key, std::move(model)});
  by_key_.emplace(key, models_.begin());
}

StreamModel* Models::touch(std::list<Entry>::iterator entry) {
  models_.splice(models_.begin(), models_, entry);
  entry->changed = true;
  return entry->model.get();
}

StreamModel* Models::find(const std::string& key) {
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return touch(known->second);
  if (store_ == nullptr || !store_->holds(key)) return nullptr;
  const auto state = store_->get(key);
  if (!state) return nullptr;
  std::unique_ptr<StreamModel> model;
  try {
    const Checkpoint checkpoint = checkpoint_of(*state);
    if (checkpoint.key != key) throw SnapshotError("it is the model of another key");
    model = model_of(checkpoint, &options_);
  } catch (const SnapshotError& error) {
    throw SnapshotError("the stored model of key " + shown(key) +
                        " cannot be used: " + error.what());
  }
  if (models_.size() >= room_) make_room();
  put(key, std::move(model));
  models_.front().stored = true;
  ++stored_in_memory_;
  return touch(models_.begin());
}

StreamModel& Models::of(const std::string& key) {
  if (StreamModel* model = find(key); model != nullptr) return *model;
  if (models_.size() >= room_) make_room();
  put(key, std::make_unique<StreamModel>(make_(), options_));
  return *touch(models_.begin());
}

// A good part of them at a time, since a store takes many at little more cost than one.
void Models::make_room() {
  if (store_ == nullptr || !store_->takes_models())
    throw std::runtime_error("there are " + std::to_string(models_.size()) +
                             " models, and there may be no more; allow for more with --max-models, "
                             "or give --checkpoint FOLDER, where those not in use can go");
  const std::size_t leave = std::max<std::size_t>(1, most_ / 32);
  std::vector<KeyedState> leaving;
  auto first = models_.end();
  for (std::size_t k = 0; k < leave; ++k) {
    --first;
    if (first->changed || first->on_its_way)
      leaving.push_back(
          {first->key, to_bytes({.key = first->key, .model = first->model->to_bytes()})});
  }
  try {
    store_->put(std::move(leaving));
  } catch (const std::runtime_error& error) {  // a full disk is no reason to refuse samples
    store_failure_ = error.what();
    ++store_failures_;
    room_ = models_.size() + leave;  // then it is tried again
    return;
  }
  store_failure_.clear();
  room_ = most_;
  for (auto e = first; e != models_.end(); ++e) {
    by_key_.erase(e->key);
    stored_in_memory_ -= e->stored ? 1 : 0;
  }
  models_.erase(first, models_.end());
  evictions_ += leave;
}

std::vector<KeyedState> Models::changed() {
  std::vector<KeyedState> states;
  for (Entry& e : models_) {
    if (!e.changed) continue;
    states.push_back({e.key, to_bytes({.key = e.key, .model = e.model->to_bytes()})});
    e.changed = false;
    e.on_its_way = true;
    if (!e.stored) ++stored_in_memory_;
    e.stored = true;
  }
  return states;
}

void Models::committed(bool done) {
  for (Entry& e : models_) {
    e.changed = e.changed || (e.on_its_way && !done);
    e.on_its_way = false;
  }
}

}  // namespace kalstream

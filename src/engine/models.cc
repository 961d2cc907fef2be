#include "engine/models.h"

#include <algorithm>
#include <stdexcept>

#include "core/memory_limit.h"
#include "kalstream/snapshot.h"
#include "schema/value.h"

namespace kalstream {
namespace {

// Those that leave at once: a store takes some at little more cost than one, but while they go
// samples wait.
constexpr std::size_t most_leaving = 16;
constexpr std::uint64_t most_bytes_leaving = std::uint64_t{1} << 20;

// Nodes of the list and of the index, and what the heap adds to each of some allocations.
constexpr std::uint64_t bytes_of_entry = 320;

// Smaller models are not packed: little would be gained, and they are in the store in no time.
constexpr std::uint64_t least_to_pack = std::uint64_t{64} << 10;

// The heap keeps what models that were packed have freed, for others like them. It is told to give
// that back when it may be such a part of all memory: it takes some time to look.
constexpr std::uint64_t most_part_free = 8;

std::uint64_t three_quarters(std::uint64_t bytes) { return bytes - bytes / 4; }

[[noreturn]] void cannot_be_used(const std::string& key, const SnapshotError& error) {
  throw SnapshotError("the stored model of key " + shown(key) + " cannot be used: " + error.what());
}

bool takes_models(const StateStore* store) { return store != nullptr && store->takes_models(); }

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

Models::Models(MakeLearner make, const ModelOptions& options, StateStore* store,
               const ModelLimits& limits)
    : make_(std::move(make)),
      options_(options),
      store_(store),
      limits_(limits),
      first_packed_(models_.end()),
      next_(models_.end()) {}

const StreamModel* Models::in_memory(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second->model.get();
}

const StreamModel* Models::only() const {
  return models_.empty() ? nullptr : models_.front().model.get();
}

std::size_t Models::pending() const {
  const StreamModel* last = only();
  return last == nullptr ? pending_ : pending_ - models_.front().pending + last->pending();
}

std::size_t Models::stored() const {
  return store_ == nullptr ? 0 : store_->models() - std::min(store_->models(), stored_in_memory_);
}

// ---- By key.

void Models::put(const std::string& key, std::unique_ptr<StreamModel> model) {
  if (!of_one_model_) of_one_model_ = limits_.of_one_model();
  models_.push_front({.key = key, .model = std::move(model)});
  by_key_.emplace(key, models_.begin());
  bytes_ += bytes_of(models_.front());
  look_at_waiting(models_.front());
}

StreamModel* Models::touch(Place entry) {
  if (is_due(*entry)) give(*entry);
  if (entry->packed) unpack(entry);
  if (entry == next_) ++next_;
  if (!in_batch_)
    look_at_waiting(models_.front());  // the last that was used: something may have come to wait
  models_.splice(models_.begin(), models_, entry);
  entry->changed = true;
  entry->used = commit_;
  if (in_batch_ && entry->batch != batch_) {
    entry->batch = batch_;
    ++at_work_;
  }
  if (is_full(0)) make_room_for(0);
  return entry->model.get();
}

StreamModel* Models::find(const std::string& key, const Expected& expected) {
  if (expected.is_there && expected.departures == departures_) return touch(expected.place);
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return touch(known->second);
  if (store_ == nullptr || !store_->holds(key)) return nullptr;
  const auto state = store_->get(key);
  if (!state) return nullptr;
  std::unique_ptr<StreamModel> model;
  make_room_for(1);
  try {
    model = model_in(*state, key, &options_);
  } catch (const SnapshotError& error) {
    cannot_be_used(key, error);
  }
  put(key, std::move(model));
  models_.front().stored = true;
  ++stored_in_memory_;
  return touch(models_.begin());
}

std::optional<CheckpointImage> Models::image(const std::string& key) {
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return {};
  return image_of(*known->second);
}

std::optional<Bytes> Models::state(const std::string& key) {
  if (auto of_memory = image(key)) return std::move(*of_memory).finish();
  if (store_ == nullptr || !store_->holds(key)) return {};
  return store_->get(key);
}

bool Models::holds(const std::string& key) const {
  return by_key_.contains(key) || (store_ != nullptr && store_->holds(key));
}

StreamModel& Models::of(const std::string& key, const Expected& expected) {
  if (StreamModel* model = find(key, expected); model != nullptr) return *model;
  make_room_for(1);
  put(key, in_batch_ ? std::make_unique<StreamModel>(options_)
                     : std::make_unique<StreamModel>(make_(), options_));
  return *touch(models_.begin());
}

// A commit under way still has the model: the store is told after that.
bool Models::forget(const std::string& key) {
  const auto known = by_key_.find(key);
  const bool in_memory = known != by_key_.end();
  if (in_memory && is_due(*known->second)) give(*known->second);
  const bool stored =
      store_ != nullptr && ((in_memory && known->second->stored) || store_->holds(key));
  if (stored) store_->put({{key, {}}});
  if (in_memory) erase(known->second);
  return in_memory || stored;
}

void Models::erase(Place entry) {
  ++departures_;
  by_key_.erase(entry->key);
  stored_in_memory_ -= entry->stored ? 1 : 0;
  pending_ -= entry->pending;
  bytes_ -= bytes_of(*entry);
  if (entry->packed) packed_bytes_ -= bytes_of(*entry);
  packed_ -= entry->packed ? 1 : 0;
  if (entry == first_packed_) ++first_packed_;
  if (entry == next_) ++next_;
  models_.erase(entry);
}

// ---- Batches.

void Models::begin_batch() {
  if (!models_.empty()) look_at_waiting(models_.front());
  ++batch_;
  in_batch_ = true;
  at_work_ = 0;
}

// Where models cannot leave, the last bit of memory is counted sample by sample; where they can be
// packed, only before one is made, which may have to be refused.
bool Models::is_crowded(const std::string& key) const {
  const bool can_leave = takes_models(store_);
  const bool is_last_bit = limits_.bytes != ModelLimits::none && !can_leave &&
                           bytes() >= limits_.bytes - limits_.bytes / 16;
  const bool is_many = at_work_ >= std::max<std::size_t>(1, live() / 2) && is_full(1);
  if (!is_last_bit && !is_many) return false;
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return true;
  return known->second->batch != batch_ && (is_many || !pays_to_pack());
}

// Its neighbours in the list change, too, when it goes to the front.
Models::Expected Models::expect(const std::string& key) const {
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return {};
  const Place place = known->second;
  if (const Place next = std::next(place); next != models_.end()) __builtin_prefetch(&*next, 1);
  if (place != models_.begin()) __builtin_prefetch(&*std::prev(place), 1);
  return {true, place, departures_};
}

void Models::end_batch() {
  in_batch_ = false;
  auto entry = models_.begin();
  for (; at_work_ > 0; --at_work_) look_at_waiting(*entry++);
}

// ---- Memory.

std::uint64_t Models::bytes_of(const Entry& entry) const {
  const std::uint64_t of_model =
      entry.packed ? entry.packed->size() : *of_one_model_ + entry.waiting;
  return of_model + bytes_of_entry + 2 * entry.key.size();
}

void Models::look_at_waiting(Entry& entry) {
  if (entry.packed) return;  // nothing has come since
  bytes_ -= entry.waiting;
  pending_ -= entry.pending;
  entry.waiting = entry.model->waiting_bytes();
  entry.pending = entry.model->pending();
  bytes_ += entry.waiting;
  pending_ += entry.pending;
}

std::uint64_t Models::bytes() const {
  return bytes_ + beside_ + (store_ == nullptr ? 0 : store_->memory());
}

bool Models::is_short(std::size_t more) const {
  return bytes() + more * of_one_model_.value_or(0) > limits_.bytes;
}

bool Models::is_full(std::size_t more) const {
  return models_.size() + more > limits_.models || is_short(more);
}

// Those at work. One model there is room for, whatever it takes; if no more come, that is the one
// in use.
std::size_t Models::staying(std::size_t more) const {
  return std::max<std::size_t>(at_work_, more > 0 ? 0 : 1);
}

void Models::make_room_for(std::size_t more) {
  while (is_short(more) && pack_one(more)) {
  }
  if (models_.size() < try_again_at_) return;
  while (is_full(more) && models_.size() > staying(more)) {
    const bool can_leave = takes_models(store_);
    if (!can_leave && more > 0) refuse();
    if (!can_leave || !let_go(models_.size() - staying(more))) return;
  }
}

void Models::refuse() const {
  const std::string advice = ", or give --checkpoint FOLDER, where those not in use can go";
  if (models_.size() >= limits_.models)
    throw std::runtime_error("there are " + std::to_string(models_.size()) +
                             " models, and there may be no more; allow for more with --max-models" +
                             advice);
  throw std::runtime_error("another model would take more than the " + mebibytes(limits_.bytes) +
                           " of memory there may be: " + std::to_string(models_.size()) + " take " +
                           mebibytes(bytes()) + "; allow for more with --memory" + advice);
}

// By the last one that was written, once there is one.
bool Models::pays_to_pack() const {
  const std::uint64_t alive = of_one_model_.value_or(0);
  return alive >= least_to_pack && state_size_ <= three_quarters(alive);
}

// The one not used for longest. False: there is none to pack. One at a time: several would take no
// less time each, and samples wait. A quarter of the memory stays for those that live: where more
// keys than that come in turn each sample may unpack its model and pack another, but models that
// are used often have no part in it. Models that grow may take of that quarter where none can
// leave.
bool Models::pack_one(std::size_t more) {
  if (!pays_to_pack() || live() <= staying(more)) return false;
  const std::uint64_t all = bytes_ + more * *of_one_model_;
  const bool is_enough = packed_bytes_ + state_size_ > three_quarters(all);
  if (is_enough && (more > 0 || takes_models(store_))) return false;
  const Place entry = std::prev(first_packed_);
  CheckpointImage image = image_of(*entry, std::move(buffer_));
  if (!pays_to_pack()) return false;
  bytes_ -= bytes_of(*entry);
  freed_ += bytes_of(*entry);
  entry->packed = std::make_unique<PackedModel>(image);
  buffer_ = std::move(image).buffer();
  entry->model.reset();
  bytes_ += bytes_of(*entry);
  packed_bytes_ += bytes_of(*entry);
  ++packed_;
  first_packed_ = entry;
  if (freed_ >= limits_.bytes / most_part_free) {
    give_back_free_heap();
    freed_ = 0;
  }
  return true;
}

void Models::unpack(Place entry) {
  try {
    entry->model = entry->packed->unpacked(entry->key, &options_);
  } catch (const SnapshotError& error) {
    cannot_be_used(entry->key, error);
  }
  bytes_ -= bytes_of(*entry);
  packed_bytes_ -= bytes_of(*entry);
  entry->packed.reset();
  bytes_ += bytes_of(*entry);
  --packed_;
  if (entry == first_packed_) ++first_packed_;
}

// Some of those not used for longest. False: the store cannot take them.
bool Models::let_go(std::size_t at_most) {
  std::vector<KeyedState> leaving;
  auto first = models_.end();
  std::uint64_t free = 0;
  std::size_t count = 0;
  const std::size_t most =
      std::min(at_most, std::clamp<std::size_t>(models_.size() / 32, 1, most_leaving));
  for (; count < most && free < most_bytes_leaving; ++count) {
    --first;
    free += bytes_of(*first);
    if (is_due(*first)) give(*first);
    if (is_unsaved(*first)) leaving.push_back({first->key, image_of(*first).finish()});
  }
  try {
    store_->put(std::move(leaving));
  } catch (const std::runtime_error& error) {  // a full disk is no reason to refuse samples
    store_failure_ = error.what();
    ++store_failures_;
    try_again_at_ = models_.size() + most;
    return false;
  }
  store_failure_.clear();
  try_again_at_ = 0;
  while (first != models_.end()) erase(first++);
  evictions_ += count;
  return true;
}

// ---- Commits. From the last in the list on, which are the least likely to be used meanwhile;
// those that are go to its front, where nobody is due.

void Models::begin_commit(Give give) {
  ++commit_;
  give_ = std::move(give);
  next_ = models_.end();
}

bool Models::give_next() {
  if (!give_) return false;
  if (next_ == models_.begin() || std::prev(next_)->used == commit_) {
    give_ = nullptr;
    return false;
  }
  --next_;
  if (is_due(*next_)) give(*next_);
  return true;
}

void Models::give(Entry& entry) {
  give_(image_of(entry));
  entry.given = commit_;
  entry.changed = false;
  if (!entry.stored) ++stored_in_memory_;
  entry.stored = true;
}

CheckpointImage Models::image_of(const Entry& entry, Bytes buffer) {
  if (entry.packed) return entry.packed->image(entry.key);
  buffer.reserve(state_size_ + state_size_ / 16);
  CheckpointImage image({}, entry.key, entry.model.get(), std::move(buffer));
  state_size_ = image.written();
  return image;
}

void Models::committed(bool done) {
  give_ = nullptr;
  if (done) done_ = commit_;
}

}  // namespace kalstream

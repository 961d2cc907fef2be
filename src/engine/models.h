// The models of a stream: one, or one for every key.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/checkpoint.h"
#include "engine/model.h"
#include "engine/ports.h"

namespace kalstream {

/// How much may be in memory.
struct ModelLimits {
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  std::size_t models = 10'000;
  std::uint64_t bytes = none;  ///< all that the stream needs
  /// Of one model, when it is made; asked for when there is the first.
  std::function<std::uint64_t()> of_one_model = [] { return 0; };
};

/// Models by key. As many as the limits allow are in memory; when that becomes short, those not
/// used for longest are packed, if that makes them clearly smaller: what is left of them is what
/// their checkpoint would hold. Beyond that, the oldest go to the store. Both come back when their
/// key does.
class Models {
  struct Entry {
    std::string key;
    std::unique_ptr<StreamModel> model;   // or else …
    std::unique_ptr<PackedModel> packed;  // … this
    bool changed = false;                 // since it was given
    bool stored = false;        // the store has a state of it, or will have it with the commit
    std::uint64_t used = 0;     // how many commits had begun then
    std::uint64_t given = 0;    // the last commit that it was given to; the first is 1
    std::uint64_t batch = 0;    // the last that it was at work in
    std::size_t pending = 0;    // samples that wait in it, when it was looked at last, …
    std::uint64_t waiting = 0;  // … and what they take
  };
  using Place = std::list<Entry>::iterator;

 public:
  /// What is known of a key beforehand. It holds until a model leaves.
  struct Expected {
    bool is_there = false;
    Place place = {};
    std::uint64_t departures = 0;
  };

  using MakeLearner = std::function<CalibratedLearner()>;
  using Give = std::function<void(CheckpointImage)>;

  /// `store` may be nullptr: then there can be no more than the limits allow.
  Models(MakeLearner make, const ModelOptions& options, StateStore* store,
         const ModelLimits& limits);
  Models(const Models&) = delete;
  Models& operator=(const Models&) = delete;

  /// The model of the key, from memory or from the store; nullptr if there is none. Throws
  /// SnapshotError if what is stored cannot be used, std::runtime_error if the store fails.
  StreamModel* find(const std::string& key) { return find(key, {}); }
  StreamModel* find(const std::string& key, const Expected& expected);
  /// The same, made if there is none. Throws std::runtime_error as well if there may be no more.
  StreamModel& of(const std::string& key) { return of(key, {}); }
  StreamModel& of(const std::string& key, const Expected& expected);
  void put(const std::string& key, std::unique_ptr<StreamModel> model);
  /// The model as it is, for a checkpoint of it alone: if it is in memory, to be finished …
  std::optional<CheckpointImage> image(const std::string& key);
  /// … or wherever it is. Nothing if there is none. Throws StoreError. Both leave it where it is.
  std::optional<Bytes> state(const std::string& key);
  /// Whether there is one, in memory or in the store.
  bool holds(const std::string& key) const;
  /// In memory and in the store; false if there is none. Throws std::runtime_error, and all stays
  /// as it was, if the store fails.
  bool forget(const std::string& key);

  /// From here until end_batch() no model that was found or made leaves memory: they are at work.
  /// Those made have yet to begin: whoever works with one makes its learner, which takes long.
  void begin_batch();
  /// Whether the batch should end before this key's model is asked for: so many are at work that
  /// there is hardly another to make room for it, or it may have to be refused by what they take.
  bool is_crowded(const std::string& key) const;
  void end_batch();
  /// Models will be asked for this key soon: finds it, and fetches from memory what that takes. By
  /// any thread, while nobody changes anything.
  Expected expect(const std::string& key) const;

  /// A commit begins: each model that the store does not have as it is now is due, and will be
  /// given as it is now. One that is about to change, or to leave, is given first; …
  void begin_commit(Give give);
  /// … the others one by one, whenever there is time for it. False: all have been given.
  bool give_next();
  /// The commit has been made: the store has them; or has failed: they are due again with the next.
  void committed(bool done);

  /// The model of the key as it is in memory, neither packed nor in the store; else nullptr.
  const StreamModel* in_memory(const std::string& key) const;

  /// The one there is, where there are no keys; nullptr before it is made. Where there are keys,
  /// the one that was used last, if it is still there.
  const StreamModel* only() const;

  std::size_t in_memory() const { return models_.size(); }
  std::size_t packed() const { return packed_; }  ///< of them
  std::size_t stored() const;                     ///< and not in memory
  std::uint64_t evictions() const { return evictions_; }
  /// Why the store could not take models the last time some had to leave, which then stayed; empty:
  /// it could.
  const std::string& store_failure() const { return store_failure_; }
  std::uint64_t store_failures() const { return store_failures_; }
  /// Samples that wait for their target, in the models in memory.
  std::size_t pending() const;

  /// What counts against the limit: the models and what waits in them, keys, the store's caches,
  /// and what is said to be used beside.
  std::uint64_t bytes() const;
  std::uint64_t most_bytes() const { return limits_.bytes; }
  void set_beside(std::uint64_t bytes) { beside_ = bytes; }

 private:
  StreamModel* touch(Place entry);
  bool is_unsaved(const Entry& e) const { return e.changed || e.given > done_; }
  bool is_due(const Entry& e) const {
    return give_ && e.used < commit_ && e.given < commit_ && is_unsaved(e);
  }
  void give(Entry& entry);
  CheckpointImage image_of(const Entry& entry, Bytes buffer = {});
  std::uint64_t bytes_of(const Entry& entry) const;
  void look_at_waiting(Entry& entry);
  bool is_short(std::size_t more) const;
  bool is_full(std::size_t more) const;
  void make_room_for(std::size_t more);
  void refuse() const;
  void erase(Place entry);
  bool pays_to_pack() const;
  bool pack_one(std::size_t more);
  void unpack(Place entry);
  std::size_t live() const { return models_.size() - packed_; }
  bool let_go(std::size_t at_most);
  std::size_t staying(std::size_t more) const;

  MakeLearner make_;
  ModelOptions options_;
  StateStore* store_;
  ModelLimits limits_;
  std::string store_failure_;
  std::uint64_t store_failures_ = 0;
  std::size_t try_again_at_ = 0;  // so many models, after the store has failed
  std::list<Entry> models_;       // the last used first; behind those that live, those packed
  Place first_packed_;
  std::size_t packed_ = 0;
  std::uint64_t packed_bytes_ = 0;
  Bytes buffer_;             // models are written to before they are packed
  std::uint64_t freed_ = 0;  // by packing, since the heap was told
  std::unordered_map<std::string, Place> by_key_;
  std::uint64_t departures_ = 0;  // of models, so far
  std::size_t stored_in_memory_ = 0;
  std::uint64_t evictions_ = 0;
  std::size_t pending_ = 0;
  std::optional<std::uint64_t> of_one_model_;
  std::uint64_t bytes_ = 0;     // of models and keys
  std::uint64_t beside_ = 0;    // of others
  std::size_t state_size_ = 0;  // of the last one that was written

  std::uint64_t batch_ = 0;  // how many have begun
  bool in_batch_ = false;
  std::size_t at_work_ = 0;  // models of the batch: the first in the list

  std::uint64_t commit_ = 0;  // how many have begun
  std::uint64_t done_ = 0;    // the last that was made
  Give give_;                 // while some may be due
  Place next_;                // to be looked at; what lies behind has been
};

}  // namespace kalstream

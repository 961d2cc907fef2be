// The models of a stream: one, or one for every key.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/model.h"
#include "ports/ports.h"

namespace kalstream {

/// Models by key. As many as `most` are in memory; beyond that those not used for longest go to the
/// store, and come back when their key does.
class Models {
 public:
  using MakeLearner = std::function<std::unique_ptr<Learner>()>;

  /// `store` may be nullptr: then there can be no more than `most`.
  Models(MakeLearner make, const ModelOptions& options, StateStore* store, std::size_t most);

  /// The model of the key, from memory or from the store; nullptr if there is none. Throws
  /// SnapshotError if what is stored cannot be used, std::runtime_error if the store fails.
  StreamModel* find(const std::string& key);
  /// The same, made if there is none. Throws std::runtime_error as well if there may be no more.
  StreamModel& of(const std::string& key);
  void put(const std::string& key, std::unique_ptr<StreamModel> model);

  /// The states of all that were used since the last call, for a commit …
  std::vector<KeyedState> changed();
  /// … which has been made: the store has them; or has failed: they have to be given again.
  void committed(bool done);

  /// The one there is, where there are no keys; nullptr before it is made.
  const StreamModel* only() const;

  std::size_t in_memory() const { return models_.size(); }
  std::size_t stored() const;  ///< and not in memory
  std::uint64_t evictions() const { return evictions_; }
  /// Why the store could not take models the last time some had to leave, which then stayed; empty:
  /// it could.
  const std::string& store_failure() const { return store_failure_; }
  std::uint64_t store_failures() const { return store_failures_; }
  /// Samples that wait for their target, in the models in memory.
  std::size_t pending() const;

 private:
  struct Entry {
    std::string key;
    std::unique_ptr<StreamModel> model;
    bool changed = false;
    bool on_its_way = false;  // in a commit that is not made yet: the store does not have it
    bool stored = false;      // the store has a state of it, perhaps an older one
  };

  StreamModel* touch(std::list<Entry>::iterator entry);
  void make_room();

  MakeLearner make_;
  ModelOptions options_;
  StateStore* store_;
  std::size_t most_;
  std::size_t room_;  // how many may be in memory now: more than most_ while the store fails
  std::string store_failure_;
  std::uint64_t store_failures_ = 0;
  std::list<Entry> models_;  // the last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  std::size_t stored_in_memory_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace kalstream

// The models of one partition. What they are depends on the partition's inputs alone, whoever takes
// them: so they can be had again from their last snapshots and the inputs behind these.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "fleet/log.h"
#include "fleet/progress.h"
#include "lines/record_reader.h"
#include "schema/arrival.h"
#include "session/session.h"

namespace kalstream::fleet {

struct ShardOptions {
  EngineOptions engine;  ///< with the fleet's schema
  std::string input;     ///< name of the topic
  bool needs_keys = true;
  /// Go on with what a replay gives, though it is not what was answered before.
  bool accept_replay = false;
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// A replay did not give what was answered before, or would be done by another engine.
struct ReplayDiffers : DataError {
  using DataError::DataError;
};

class Shard final : private StreamListener {
 public:
  enum class Phase : std::uint8_t {
    snapshots,  ///< takes snapshots
    replay,     ///< takes inputs again that are answered already
    live,
  };

  /// Restores what is committed; nothing: begins with the first input there is. `store` takes the
  /// models that do not fit in memory.
  Shard(int partition, const ShardOptions& options, StateStore& store,
        const std::optional<Progress>& committed);

  int partition() const { return partition_; }
  Phase phase() const { return phase_; }

  /// One of those up to Progress::state_upto; a later one of the same key replaces it; …
  void take_snapshot(const StateRecord& record);
  /// … all have come. Throws ReplayDiffers, and DataError for one that is damaged.
  void end_snapshots();

  /// Takes the next of these inputs, or with `workers` several that are records; once live, appends
  /// what is to be written. Returns how many it has taken. Throws ReplayDiffers; StoreError if a
  /// model cannot be had from the store: then the shard has to be restored.
  std::size_t take(std::span<const Input> inputs, std::vector<Message>& to, Workers* workers);
  Offset next() const { return next_; }  ///< input to be taken; `beginning` before the first

  /// A snapshot is due when the model's first input that none includes lies between a half and the
  /// whole of so many offsets behind.
  void set_snapshot_every(Offset inputs) { snapshot_every_ = inputs; }
  /// Appends snapshots that are due, until they take this many bytes; how many they take.
  std::size_t add_due_snapshots(std::size_t most_bytes, std::vector<Message>& to);
  /// The same of all models that have an input before this one which is in no snapshot.
  std::size_t add_snapshots_of_those_before(Offset offset, std::size_t most_bytes,
                                            std::vector<Message>& to);
  bool has_due_snapshots() const { return !due_.empty() && due_.begin()->first <= next_; }
  Offset snapshot_every() const { return snapshot_every_; }

  /// When all that was appended is written; but for state_upto, which is known by then.
  Progress progress() const;
  /// Inputs left to be replayed.
  Offset to_replay() const;

  std::size_t models() const { return keys_.size(); }
  std::uint64_t replayed() const { return replayed_; }
  std::uint64_t memory() const;  ///< of models and what is known of them
  void set_memory_beside(std::uint64_t bytes);
  const Engine& engine() const { return engine_; }
  /// What the key's model is now; nothing if there is none.
  std::optional<Bytes> state_of(const std::string& key) { return engine_.state_of(key); }

 private:
  struct Key {
    Chain chain = first_chain;
    std::uint64_t part = 0;  // of the checksum
    Offset included = 0;     // its snapshot includes inputs before this one; 0: there is none
    Offset first_open = -1;  // the first that it does not include; −1: it includes all
    Offset due = 0;          // while there is one
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>()(key);
    }
  };
  using Keys = std::unordered_map<std::string, Key, Hash, std::equal_to<>>;
  using Entry = Keys::value_type;

  struct Snapshot {
    std::string state;
    std::string included;
    std::string chain;
    Offset offset = 0;
  };

  void use_snapshots();
  void use_snapshot(const std::string& key, const Snapshot& snapshot);
  bool is_known(std::string_view key, Offset offset) const;
  void take_records(Workers* workers);
  void read(const Input& input, RecordReader& reader, std::size_t& key_at, Arrival& arrival) const;
  std::size_t records_in(std::span<const Input> inputs) const;
  void answered(const Answer& answer, std::string_view text) override;
  void passed(const Input& input);
  void take_import(const Input& input);
  void take_tombstone(const Input& input);
  void refuse(const Input& input, std::string reason);
  void answer(const Input& input, Entry* key, std::string_view text);
  Entry* entry_for(std::string_view key, bool has_model);
  void changed(Entry& key, Offset offset);
  void saved(Entry& key, Offset included);
  void set_chain(Entry& key, Chain chain);
  void drop(Entry& key);
  std::size_t add_snapshot(Entry& key, std::vector<Message>& to);
  void finish_replay();

  int partition_;
  ShardOptions options_;
  RecordPosition position_;
  Engine engine_;
  Session session_;
  std::string key_field_;
  std::vector<RecordReader> readers_;  // for each thread its own

  // What is being taken.
  std::span<const Input> inputs_;
  std::size_t at_ = 0;                       // of them, the next to be answered
  std::vector<Message>* written_ = nullptr;  // nullptr: they are answered already
  std::vector<Arrival> arrivals_;

  std::optional<Progress> committed_;
  std::unordered_map<std::string, Snapshot> snapshots_read_;  // that are not models yet
  std::size_t snapshot_bytes_ = 0;
  Phase phase_ = Phase::snapshots;
  Offset next_ = beginning;
  Keys keys_;
  std::size_t key_bytes_ = 0;
  std::uint64_t checksum_ = 0;
  std::set<std::pair<Offset, Entry*>> open_;  // by the first input that is in no snapshot
  std::set<std::pair<Offset, Entry*>> due_;   // by when their snapshot is
  Offset snapshot_every_ = 10'000;
  std::uint64_t replayed_ = 0;
};

}  // namespace kalstream::fleet

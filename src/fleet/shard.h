// The models of one partition. What they are depends on the partition's inputs alone, whoever takes
// them: so they can be had again from their last snapshots and the inputs behind these.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/record_reader.h"
#include "engine/engine.h"
#include "fleet/log.h"
#include "fleet/progress.h"
#include "ports/arrival.h"
#include "stream/answers.h"

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

class Shard {
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

  /// Takes the next input; once live, appends what is to be written. Throws ReplayDiffers;
  /// StoreError if a model cannot be had from the store: then the shard has to be restored.
  void take(const Input& input, std::vector<Message>& to);
  /// Takes the next few of these, by several threads, with the same results; how many it has taken.
  std::size_t take_many(std::span<const Input> inputs, std::vector<Message>& to, Workers& workers);
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
  std::uint64_t snapshots() const { return snapshots_; }
  std::uint64_t replayed() const { return replayed_; }
  std::uint64_t memory() const;  ///< of models and what is known of them
  void set_memory_beside(std::uint64_t bytes);
  const Engine& engine() const { return engine_; }
  /// What the key's model is now; nothing if there is none.
  std::optional<Bytes> state_of(const std::string& key) { return engine_.state_of(key); }

 private:
  struct Key {
    Chain chain = first_chain;
    Offset included = 0;     // its snapshot includes inputs before this one; 0: there is none
    Offset first_open = -1;  // the first that it does not include; −1: it includes all
    Offset due = 0;          // while there is one
  };
  using Keys = std::unordered_map<std::string, Key>;
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
  void take_record(const Input& input, std::vector<Message>* to);
  void read(const Input& input, RecordReader& reader, Arrival& arrival) const;
  std::string key_of(const Record& record, std::size_t& at) const;
  std::size_t records_in(std::span<const Input> inputs) const;
  void tell(const Input& input, std::size_t k, std::size_t turn, std::vector<Message>* to);
  void passed(const Input& input);
  void take_import(const Input& input, std::vector<Message>* to);
  void take_tombstone(const Input& input, std::vector<Message>* to);
  void refuse(const Input& input, std::string_view reason, std::vector<Message>* to);
  std::string refusal(const Input& input, std::string_view reason) const;
  void answer(const Input& input, Entry* key, bool refused, std::string_view reason,
              std::vector<Message>* to);
  Entry* entry_for(const std::string& key, bool has_model);
  void changed(Entry& key, Offset offset);
  void saved(Entry& key, Offset included);
  void set_chain(Entry& key, Chain chain);
  void drop(Entry& key);
  std::size_t add_snapshot(Entry& key, std::vector<Message>& to);
  void finish_replay();

  int partition_;
  ShardOptions options_;
  Engine engine_;
  std::string key_field_;
  AnswerWriter writer_;
  RecordReader reader_;
  std::size_t key_at_ = 0;  // of its field, in the last record
  std::string model_key_;   // of the input at work
  std::string text_;        // of its answer

  // Of several inputs at a time.
  std::vector<RecordReader> readers_;  // for each thread its own
  std::vector<Arrival> arrivals_;
  std::vector<std::string> texts_;
  std::vector<std::string> model_keys_;

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
  std::uint64_t snapshots_ = 0;
  std::uint64_t replayed_ = 0;
};

}  // namespace kalstream::fleet

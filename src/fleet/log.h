// What a worker asks of the log that holds a fleet's inputs, answers and state: Kafka, or one in
// memory for tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint.h"
#include "schema/dataset.h"

namespace kalstream::fleet {

// Names of headers: what other programs see of a fleet.
// Of answers.
inline constexpr const char* input_header = "kalstream-input";  ///< PARTITION:OFFSET
inline constexpr const char* chain_header = "kalstream-chain";  ///< and of snapshots
// Of snapshots, whose value is the model's checkpoint.
inline constexpr const char* included_header = "kalstream-included";  ///< inputs before this offset
inline constexpr const char* engine_header = "kalstream-engine";
// Of dead letters.
inline constexpr const char* reason_header = "kalstream-reason";
inline constexpr const char* topic_header = "kalstream-topic";
inline constexpr const char* partition_header = "kalstream-partition";
inline constexpr const char* offset_header = "kalstream-offset";
// Of inputs.
inline constexpr const char* import_header = "kalstream-import";

using Offset = std::int64_t;
using Milliseconds = std::chrono::milliseconds;

/// In the place of an offset: where a partition begins.
inline constexpr Offset beginning = -2;

/// A record of the input. Views live until the next call of poll_inputs().
struct Input {
  int partition = 0;
  Offset offset = 0;
  std::optional<std::string_view> key;
  std::optional<std::string_view> value;  ///< none: the model of the key is to be forgotten
  bool is_import = false;                 ///< the value is the model that the key shall have
};

enum class Topic : std::uint8_t { answers, state, dead, workers };

struct Header {
  std::string name;
  std::string value;
};

/// To be written.
struct Message {
  Topic topic = Topic::answers;
  int partition = 0;
  std::optional<std::string> key;
  std::optional<std::string> value;  ///< none: a tombstone
  std::vector<Header> headers;
  /// The value when it is finished, which takes time; nullptr: `value` is it.
  std::unique_ptr<CheckpointImage> image = nullptr;
};

/// Of the topic of states. Views live until the next call of poll_state().
struct StateRecord {
  int partition = 0;
  Offset offset = 0;
  /// Nothing more is there up to `offset`, the end at that moment; all below is empty.
  bool is_end = false;
  std::string_view key;
  std::optional<std::string_view> value;
  std::vector<std::pair<std::string_view, std::string_view>> headers;
};

/// How far a partition is done: the next offset to be taken, and what belongs to it.
struct Committed {
  Offset offset = 0;
  std::string metadata;
};

/// Membership at a moment: what a transaction's offsets are only taken with while it is true.
class Membership {
 public:
  virtual ~Membership() = default;
};

/// Hears of partitions that come and go, from within poll_group() and close().
class GroupListener {
 public:
  virtual ~GroupListener() = default;
  virtual void assigned(std::span<const int> partitions) = 0;
  /// The last moment to commit what was done with them.
  virtual void revoked(std::span<const int> partitions) = 0;
  /// They are gone, maybe to somebody else: nothing can be committed any more.
  virtual void lost(std::span<const int> partitions) = 0;
};

/// The transaction has to be aborted; then the same may be tried again.
struct TransactionFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Partitions may belong to others by now: what was not committed must be dropped, and all begun
/// anew, by a new Log.
struct MembershipLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Another process has the name of this one: nothing may be written any more.
struct Fenced : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The same, of transactions; but one that timed out looks the same, and then nobody has.
struct TransactionsFenced : MembershipLost {
  using MembershipLost::MembershipLost;
};

class Log {
 public:
  virtual ~Log() = default;

  virtual int partitions() const = 0;  ///< of the input; answers and states have as many

  // The group.
  virtual void join(GroupListener& listener) = 0;
  /// Lets events come in, without waiting. Throws Fenced or MembershipLost.
  virtual void poll_group() = 0;
  /// Leaves it, after a last word to the listener.
  virtual void close() = 0;
  virtual std::shared_ptr<const Membership> membership() = 0;
  /// What is committed of these partitions, once no transaction is under way that may change it:
  /// those that can be told by now are in the answer.
  virtual std::map<int, std::optional<Committed>> committed(std::span<const int> partitions) = 0;

  // Inputs, of partitions that are started.
  virtual void start_inputs(int partition, Offset from) = 0;
  virtual void stop_inputs(int partition) = 0;
  /// Waits for the first no longer than this. Throws InputsGone where a partition does not begin
  /// before the offset it was to be read from.
  virtual std::span<const Input> poll_inputs(std::size_t most, Milliseconds wait) = 0;
  /// How many inputs lie ahead of this offset; nothing if it is not known.
  virtual std::optional<Offset> lag(int partition, Offset from) = 0;

  // States, likewise.
  virtual void start_state(int partition, Offset from) = 0;
  virtual void stop_state(int partition) = 0;
  virtual std::span<const StateRecord> poll_state(std::size_t most, Milliseconds wait) = 0;

  // One transaction at a time; from any one thread, beside all of the above. Each throws
  // TransactionFailed, MembershipLost, Fenced, or std::runtime_error where nothing will help.
  virtual void begin() = 0;
  virtual void produce(const Message& message) = 0;
  /// Until all are delivered. The last offset in the topic of states, by partition.
  virtual std::map<int, Offset> flush() = 0;
  virtual void send_offsets(const std::map<int, Committed>& offsets,
                            const Membership& membership) = 0;
  virtual void commit() = 0;
  virtual void abort() = 0;
  /// Lets such a call that waits end soon, by MembershipLost: nothing more will be written.
  virtual void give_up() {}
};

/// Inputs are gone that a replay would need, or that were never taken.
struct InputsGone : DataError {
  using DataError::DataError;
};

}  // namespace kalstream::fleet

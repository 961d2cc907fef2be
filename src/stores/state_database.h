// The state of a stream with many models, as tables: that it is whole, and the one before it.
#pragma once

#include <filesystem>

#include "stores/database.h"

namespace kalstream {

/// Made where they are not there yet.
void make_state_tables(Database& database);

/// What a state amounts to: equal only for the same stream with the same models. A commit that was
/// torn apart (a log that somebody removed, pages from another time) does not have its own.
class StateSum {
 public:
  void add(std::string_view key, std::uint64_t checksum) { sum_ += mixed(key, checksum); }
  void remove(std::string_view key, std::uint64_t checksum) { sum_ -= mixed(key, checksum); }
  /// With the stream's, as it is kept.
  std::int64_t with(const Bytes& stream) const;

 private:
  static std::uint64_t mixed(std::string_view key, std::uint64_t checksum);

  std::uint64_t sum_ = 0;  // of the models
};

/// The next state, whole or not at all.
class StateWriter {
 public:
  StateWriter(Database& database, StateSum sum);

  /// True if there was a model of this key.
  bool put(const std::string& key, const Bytes& state);
  void remove(const std::string& key);
  /// The sum of the models that there are then.
  StateSum commit(const Bytes& stream);

 private:
  bool forget_sum(const std::string& key);

  Database& database_;
  StateSum sum_;
  Database::Statement before_;
  Database::Statement write_;
  Database::Statement remove_;
  Database::Statement mark_;
  Transaction transaction_;
};

struct StateFound {
  StateSum sum;
  std::string remark;  ///< what had to be done, for people
};

/// Reads all of the state in this folder. If it is damaged, the one before it takes its place, and
/// the damaged one is kept beside it. Throws SnapshotError if there is something, and nothing
/// sound, StoreError if that cannot be told.
StateFound find_sound_state(const std::filesystem::path& folder, System& system);

/// Makes the state that there is the previous one: writes what has changed since the last time.
void keep_as_previous(Database& state, const std::filesystem::path& folder);

}  // namespace kalstream

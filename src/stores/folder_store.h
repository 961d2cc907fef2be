// The state of a stream with many models, in a folder.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>

#include "ports/ports.h"
#include "stores/database.h"
#include "stores/lock.h"
#include "stores/state_database.h"

namespace kalstream {

/// state.db (SQLite) holds what was committed, state.db.previous what was some commits before, to
/// stand in for one that is damaged. Models that leave memory between two commits go to
/// spill.db, which means nothing to the next process. What an earlier version has left in the
/// folder (stream.kal and models/) is taken over the first time. If the folder is removed, commits
/// fail until it is there again, empty: then all that was committed moves there.
class FolderStore final : public StateStore {
 public:
  /// Throws std::runtime_error if it cannot be used, std::invalid_argument if it is a folder of
  /// something else.
  explicit FolderStore(std::filesystem::path folder, System& system = System::real());
  ~FolderStore() override;

  std::optional<Bytes> stream() override;
  std::optional<Bytes> get(const std::string& key) override;
  bool holds(const std::string& key) override;
  std::size_t models() const override;
  void put(std::vector<KeyedState> models) override;
  bool takes_models() const override { return true; }
  std::string remark() const override { return remark_; }
  std::uint64_t begin_commit() override;
  void commit(std::uint64_t ticket, Bytes stream, std::vector<KeyedState> models) override;

 private:
  // One connection for the thread that commits, one for all others: readers do not wait for it.
  struct Committed;
  struct Spilled;

  void open_state();
  bool is_in_its_place();
  void move_back();
  void keep_previous();
  void take_over_old_files();
  std::vector<std::string> spilled_before(std::int64_t epoch);

  System& system_;
  DatabaseFiles files_;
  std::filesystem::path folder_;
  std::unique_ptr<Lock> lock_;
  std::unique_ptr<Database> writer_;
  std::atomic<std::shared_ptr<Committed>> committed_;
  struct stat place_ = {};  // where state.db should be …
  bool is_open_ = false;    // … and whether it is that which is open
  std::unique_ptr<Spilled> spilled_;
  std::string remark_;
  StateSum sum_;                           // of the models in state.db
  std::uint64_t commits_to_previous_ = 1;  // the state that is there will be the previous one
  mutable std::mutex mutex_;               // of spilled_, epoch_ and models_
  std::int64_t epoch_ = 0;                 // commits so far
  std::size_t models_ = 0;
};

/// What is committed in a folder, for whoever only looks, also while a stream runs: that of the
/// stream, or the model of a key. Throws std::runtime_error if it is not the folder of a stream.
std::optional<Bytes> read_folder(const std::filesystem::path& folder,
                                 const std::optional<std::string>& key,
                                 System& system = System::real());

}  // namespace kalstream

// The state of a stream with many models, in a folder.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <unordered_set>

#include "engine/ports.h"
#include "stores/database.h"
#include "stores/lock.h"
#include "stores/spill.h"
#include "stores/state_database.h"

namespace kalstream {

/// state.db (SQLite) holds what was committed, state.db.previous what was some commits before, to
/// stand in for one that is damaged. Models that leave memory between two commits go to
/// a spill, which means nothing to the next process. If the folder is removed, commits fail until
/// it is there again, empty: then all that was committed moves there.
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
  std::vector<std::string> keys(std::size_t most) override;
  void put(std::vector<KeyedState> models) override;
  bool takes_models() const override { return true; }
  std::string remark() const override { return remark_; }
  std::uint64_t begin_commit() override;
  using StateStore::commit;
  void commit(std::uint64_t ticket, Bytes stream, const NextState& next) override;
  std::size_t commits_to_previous() const override { return behind_; }
  std::uint64_t memory() const override;

 private:
  // One connection for the thread that commits, one for all others: readers do not wait for it.
  struct Committed;

  static constexpr std::size_t most_behind = 4;

  void open_state();
  std::shared_ptr<Committed> committed() const;  // what is read from; open_state() replaces it
  bool is_in_its_place();
  void move_back();
  void keep_previous();
  void fold_log();
  Spill::Word word_of(const std::string& key) const;  // the last word
  void count_new(const std::string& key);
  void forget_new();
  void write_commit(std::uint64_t ticket, const Bytes& stream, const NextState& next);
  std::vector<std::shared_ptr<Spill>> spilled_until(std::uint64_t ticket) const;

  System& system_;
  std::filesystem::path folder_;
  std::unique_ptr<Lock> lock_;
  std::unique_ptr<Database> writer_;
  mutable std::mutex committed_mutex_;
  std::shared_ptr<Committed> committed_;
  struct stat place_ = {};  // where state.db should be …
  bool is_open_ = false;    // … and whether it is that which is open
  std::string remark_;
  StateSum sum_;                                   // of the models in state.db
  std::atomic<std::size_t> behind_ = most_behind;  // commits, the previous one: it is due
  mutable std::mutex mutex_;                       // of what follows
  std::vector<std::shared_ptr<Spill>> spills_;
  std::uint64_t commits_ = 0;  // begun so far
  std::size_t models_ = 0;
  std::unordered_set<std::string> new_;  // of them, in the commit under way for the first time
};

/// What is committed in a folder, for whoever only looks, also while a stream runs: that of the
/// stream, or the model of a key. Throws std::runtime_error if it is not the folder of a stream.
std::optional<Bytes> read_folder(const std::filesystem::path& folder,
                                 const std::optional<std::string>& key,
                                 System& system = System::real());

}  // namespace kalstream

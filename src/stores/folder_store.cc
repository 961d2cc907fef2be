#include "stores/folder_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/checkpoint.h"
#include "io/snapshot_file.h"
#include "kalstream/snapshot.h"
#include "stores/file_store.h"
#include "stores/state_database.h"

namespace kalstream {

namespace fs = std::filesystem;

// What was committed, as seen by whoever does not commit.
struct FolderStore::Committed {
  Committed(const fs::path& path, const DatabaseFiles& files) : database(path, files) {}

  Database database;
  Database::Statement stream{database, "SELECT state FROM stream"};
  Database::Statement get{database, "SELECT state FROM models WHERE key = ?1"};
  Database::Statement holds{database, "SELECT 1 FROM models WHERE key = ?1"};
};

// Models that left memory, each with the number of commits there had been: what is younger than a
// commit does not belong to it.
struct FolderStore::Spilled {
  Spilled(const fs::path& path, const DatabaseFiles& files) : database(path, files) {}

  struct Tables : Database {
    Tables(const fs::path& path, const DatabaseFiles& files) : Database(path, files) {
      run("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
          "CREATE TABLE spilled (key BLOB, epoch INTEGER, state BLOB, PRIMARY KEY (key, epoch));");
    }
  } database;
  Database::Statement put{database, "INSERT OR REPLACE INTO spilled VALUES (?1, ?2, ?3)"};
  Database::Statement get{database,
                          "SELECT state FROM spilled WHERE key = ?1 ORDER BY epoch DESC LIMIT 1"};
  Database::Statement before{
      database,
      "SELECT state FROM spilled WHERE key = ?1 AND epoch <= ?2 ORDER BY epoch DESC LIMIT 1"};
  Database::Statement holds{database, "SELECT 1 FROM spilled WHERE key = ?1"};
  Database::Statement keys{database, "SELECT DISTINCT key FROM spilled WHERE epoch <= ?1"};
  Database::Statement forget{database, "DELETE FROM spilled WHERE epoch <= ?1"};
};

namespace {

[[noreturn]] void fail(const fs::path& folder) {
  throw std::runtime_error(folder.string() + ": cannot use the folder: " + std::strerror(errno));
}

/// Whatever may be left by a process that was killed at any moment.
bool is_ours(const std::string& name) {
  return name == "lock" || name.starts_with("state.db") || name.starts_with("spill");
}

/// With all folders it is in.
void make_folders(System& system, const fs::path& path) {
  if (path.empty() || system.exists(path)) return;
  make_folders(system, path.parent_path());
  if (system.make_folder(path) != 0 && errno != EEXIST) fail(path);
}

}  // namespace

FolderStore::FolderStore(fs::path folder, System& system)
    : system_(system), files_(system), folder_(std::move(folder)) {
  make_folders(system_, folder_);
  std::vector<std::string> names;
  if (system_.list(folder_, names) != 0) fail(folder_);
  const bool known = std::ranges::any_of(names, [](const std::string& name) {
    return name == "stream.kal" || name == "state.db" || name == "state.db.previous";
  });
  if (!known && !std::ranges::all_of(names, is_ours))
    throw std::invalid_argument(
        fmt::format("--checkpoint {}: the folder is not empty and holds no stream; name another",
                    folder_.string()));
  lock_ = std::make_unique<Lock>(folder_ / "lock", system_);
  StateFound found = find_sound_state(folder_, files_, system_);
  remark_ = std::move(found.remark);
  sum_ = found.sum;
  open_state();
  system_.remove(folder_ / "spill.db");
  spilled_ = std::make_unique<Spilled>(folder_ / "spill.db", files_);
  Database::Statement count(*writer_, "SELECT count(*) FROM models");
  count.step();
  models_ = static_cast<std::size_t>(count.number(0));
  take_over_old_files();
}

void FolderStore::open_state() {
  writer_ = std::make_unique<Database>(folder_ / "state.db", files_);
  writer_->run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
  make_state_tables(*writer_);
  committed_ = std::make_shared<Committed>(folder_ / "state.db", files_);
  if (system_.status(folder_ / "state.db", place_) != 0) fail(folder_);
  is_open_ = true;
}

bool FolderStore::is_in_its_place() {
  struct stat now = {};
  if (system_.status(folder_ / "state.db", now) == 0)
    return now.st_ino == place_.st_ino && now.st_dev == place_.st_dev;
  if (errno != ENOENT && errno != ENOTDIR) fail(folder_);
  return false;
}

// A file that was removed is there as long as it is open, and would be written to in vain.
void FolderStore::move_back() {
  const std::string path = folder_ / "state.db";
  if (system_.exists(path))
    throw StoreError(path + ": is another file than the one that was opened");
  const std::string on_its_way = path + ".new";
  system_.remove(on_its_way);
  Database::Statement(*writer_, "VACUUM INTO CAST(?1 AS TEXT)").with(1, on_its_way).step();
  const Descriptor file(system_, system_.open(on_its_way, O_RDWR));
  struct stat place = {};
  if (!file || system_.sync(file.get()) != 0 || system_.status(file.get(), place) != 0 ||
      system_.rename(on_its_way, path) != 0)
    fail(folder_);
  place_ = place;
  is_open_ = false;
}

FolderStore::~FolderStore() {
  spilled_.reset();
  system_.remove(folder_ / "spill.db");
}

std::optional<Bytes> FolderStore::stream() { return first_row(committed_.load()->stream); }

std::optional<Bytes> FolderStore::get(const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    if (auto state = first_row(spilled_->get.with(1, key))) return state;
  }
  return first_row(committed_.load()->get.with(1, key));
}

bool FolderStore::holds(const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    if (any_row(spilled_->holds.with(1, key))) return true;
  }
  return any_row(committed_.load()->holds.with(1, key));
}

std::size_t FolderStore::models() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

void FolderStore::put(std::vector<KeyedState> models) {
  std::size_t unknown = 0;
  for (const KeyedState& m : models) unknown += holds(m.key) ? 0 : 1;
  const std::lock_guard lock(mutex_);
  Transaction transaction(spilled_->database);
  for (const KeyedState& m : models)
    spilled_->put.with(1, m.key).with(2, epoch_).with(3, m.state).step();
  transaction.commit();
  models_ += unknown;
}

std::vector<std::string> FolderStore::spilled_before(std::int64_t epoch) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> keys;
  spilled_->keys.with(1, epoch);
  while (spilled_->keys.step()) keys.push_back(spilled_->keys.text(0));
  return keys;
}

std::uint64_t FolderStore::begin_commit() {
  const std::lock_guard lock(mutex_);
  return static_cast<std::uint64_t>(epoch_++);
}

// Those in memory are younger than what was spilled of the same key.
void FolderStore::commit(std::uint64_t ticket, Bytes stream, std::vector<KeyedState> models) {
  const auto epoch = static_cast<std::int64_t>(ticket);
  lock_->keep();
  if (!is_in_its_place()) move_back();
  if (!is_open_) open_state();
  keep_previous();
  std::size_t unknown = 0;
  StateWriter to(*writer_, sum_);
  for (const std::string& key : spilled_before(epoch)) {
    std::optional<Bytes> state;
    {
      const std::lock_guard lock(mutex_);
      state = first_row(spilled_->before.with(1, key).with(2, epoch));
    }
    to.put(key, *state);
  }
  for (const KeyedState& m : models) unknown += to.put(m.key, m.state) ? 0 : 1;
  sum_ = to.commit(stream);
  const std::lock_guard lock(mutex_);
  models_ += unknown;
  spilled_->forget.with(1, epoch).step();
}

// Not every time: it writes once more what has changed since. That it cannot be done is no reason
// to go without a commit.
void FolderStore::keep_previous() {
  constexpr std::uint64_t commits_between = 16;
  if (--commits_to_previous_ > 0) return;
  commits_to_previous_ = 1;
  Database::Statement stream(*writer_, "SELECT 1 FROM stream");
  if (!any_row(stream)) return;
  try {
    keep_as_previous(*writer_, folder_);
    commits_to_previous_ = commits_between;
  } catch (const StoreDamaged&) {
    for (const char* end : {"", "-journal"})
      system_.remove((folder_ / "state.db.previous").string() + end);
  } catch (const StoreError&) {
  }
}

// Formats 1 and 2 were kept in files: the stream's, and one for each model.
void FolderStore::take_over_old_files() {
  const fs::path old = folder_ / "stream.kal";
  if (first_row(committed_.load()->stream) || !system_.exists(old)) return;
  std::vector<KeyedState> models;
  std::vector<std::string> names;
  if (system_.exists(folder_ / "models") && system_.list(folder_ / "models", names) != 0)
    fail(folder_ / "models");
  for (const std::string& name : names) {
    const fs::path file = folder_ / "models" / name;
    if (file.extension() != ".kal") continue;
    try {
      Bytes state = read_bytes(file, system_);
      std::string key = checkpoint_of(state).key;
      models.push_back({std::move(key), std::move(state)});
    } catch (const SnapshotError& error) {
      throw SnapshotError(fmt::format("{}: {}; take the file away to begin this key anew",
                                      file.string(), error.what()));
    }
  }
  std::string remark;
  commit(begin_commit(), *read_sound(old, remark, system_), std::move(models));
}

std::optional<Bytes> read_folder(const fs::path& folder, const std::optional<std::string>& key,
                                 System& system) {
  if (!system.exists(folder / "state.db"))
    throw std::runtime_error(folder.string() + ": holds no stream (there is no state.db)");
  const DatabaseFiles files(system);
  Database database(folder / "state.db", files);
  Database::Statement statement(
      database, key ? "SELECT state FROM models WHERE key = ?1" : "SELECT state FROM stream");
  if (key) statement.with(1, *key);
  return first_row(statement);
}

}  // namespace kalstream

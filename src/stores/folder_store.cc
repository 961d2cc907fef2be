#include "stores/folder_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/atomic_file.h"

namespace kalstream {

namespace fs = std::filesystem;

// What was committed, as seen by whoever does not commit.
struct FolderStore::Committed {
  Committed(const fs::path& path, System& system) : database(path, system) {}

  Database database;
  Database::Statement stream{database, "SELECT state FROM stream"};
  Database::Statement get{database, "SELECT state FROM models WHERE key = ?1"};
  Database::Statement holds{database, "SELECT 1 FROM models WHERE key = ?1"};
  Database::Statement keys{database, "SELECT key FROM models ORDER BY key LIMIT ?1"};
};

namespace {

constexpr std::string_view spill_prefix = "spill-";

[[noreturn]] void fail(const fs::path& folder) {
  throw std::runtime_error(folder.string() + ": cannot use the folder: " + std::strerror(errno));
}

/// "spill-7.db", and what SQLite has beside it.
bool is_spill(std::string_view name) {
  if (!name.starts_with(spill_prefix)) return false;
  name.remove_prefix(spill_prefix.size());
  name.remove_prefix(std::min(name.find_first_not_of("0123456789"), name.size()));
  return name == ".db" || name == ".db-journal";
}

/// Whatever may be left by a process that was killed at any moment.
bool is_ours(const std::string& name) {
  return name == "lock" || name.starts_with("state.db") || is_spill(name);
}

/// With all folders it is in.
void make_folders(System& system, const fs::path& path) {
  if (path.empty() || system.exists(path)) return;
  make_folders(system, path.parent_path());
  if (system.make_folder(path) != 0 && errno != EEXIST) fail(path);
}

}  // namespace

FolderStore::FolderStore(fs::path folder, System& system)
    : system_(system), folder_(std::move(folder)) {
  make_folders(system_, folder_);
  std::vector<std::string> names;
  if (system_.list(folder_, names) != 0) fail(folder_);
  const bool known = std::ranges::any_of(names, [](const std::string& name) {
    return name == "state.db" || name == "state.db.previous";
  });
  if (!known && !std::ranges::all_of(names, is_ours))
    throw std::invalid_argument(
        fmt::format("--checkpoint {}: the folder is not empty and holds no stream; name another",
                    folder_.string()));
  lock_ = std::make_unique<Lock>(folder_ / "lock", system_);
  StateFound found = find_sound_state(folder_, system_);
  remark_ = std::move(found.remark);
  sum_ = found.sum;
  open_state();
  for (const std::string& name : names)
    if (is_spill(name)) system_.remove(folder_ / name);
  Database::Statement count(*writer_, "SELECT count(*) FROM models");
  count.step();
  models_ = static_cast<std::size_t>(count.number(0));
}

void FolderStore::open_state() {
  writer_ = std::make_unique<Database>(folder_ / "state.db", system_);
  writer_->run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
  make_state_tables(*writer_);
  auto now = std::make_shared<Committed>(folder_ / "state.db", system_);
  {
    const std::lock_guard lock(committed_mutex_);
    committed_ = std::move(now);
  }
  if (system_.status(folder_ / "state.db", place_) != 0) fail(folder_);
  is_open_ = true;
}

std::shared_ptr<FolderStore::Committed> FolderStore::committed() const {
  const std::lock_guard lock(committed_mutex_);
  return committed_;
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

FolderStore::~FolderStore() = default;

std::optional<Bytes> FolderStore::stream() { return first_row(committed()->stream); }

// The last that left has the last word.
std::optional<Bytes> FolderStore::get(const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    for (auto spill = spills_.rbegin(); spill != spills_.rend(); ++spill)
      if (auto state = (*spill)->get(key)) return state->empty() ? std::nullopt : std::move(state);
  }
  return first_row(committed()->get.with(1, key));
}

// One that no commit has had yet, nor has been spilled: it may be, before the commit is made.
void FolderStore::count_new(const std::string& key) {
  if (word_of(key) == Spill::Word::model) return;
  const std::lock_guard lock(mutex_);
  models_ += new_.insert(key).second ? 1 : 0;
}

Spill::Word FolderStore::word_of(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  for (auto spill = spills_.rbegin(); spill != spills_.rend(); ++spill)
    if (const auto word = (*spill)->word_of(key); word != Spill::Word::none) return word;
  return Spill::Word::none;
}

bool FolderStore::holds(const std::string& key) {
  if (const auto word = word_of(key); word != Spill::Word::none) return word == Spill::Word::model;
  return any_row(committed()->holds.with(1, key));
}

std::size_t FolderStore::models() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

std::vector<std::string> FolderStore::keys(std::size_t most) {
  std::vector<std::string> found;
  const auto from = committed();
  Database::Statement& keys = from->keys;
  keys.with(1, static_cast<std::int64_t>(most));
  while (keys.step()) found.push_back(keys.text(0));
  return found;
}

void FolderStore::put(std::vector<KeyedState> models) {
  std::vector<std::string> unknown;
  std::size_t gone = 0;
  for (const KeyedState& m : models) {
    const bool known = holds(m.key);
    if (m.state.empty())
      gone += known ? 1 : 0;
    else if (!known)
      unknown.push_back(m.key);
  }
  const std::lock_guard lock(mutex_);
  if (spills_.empty() || spills_.back()->after() != commits_)
    spills_.push_back(std::make_shared<Spill>(
        folder_ / fmt::format("{}{}.db", spill_prefix, commits_), commits_, system_));
  spills_.back()->put(models);
  models_ -= std::min(models_, gone);
  models_ += static_cast<std::size_t>(
      std::ranges::count_if(unknown, [&](const std::string& key) { return !new_.contains(key); }));
}

std::uint64_t FolderStore::begin_commit() {
  const std::lock_guard lock(mutex_);
  return commits_++;
}

std::uint64_t FolderStore::memory() const { return database_memory(); }

std::vector<std::shared_ptr<Spill>> FolderStore::spilled_until(std::uint64_t ticket) const {
  const std::lock_guard lock(mutex_);
  const auto younger =
      std::ranges::find_if(spills_, [&](const auto& spill) { return spill->after() > ticket; });
  return {spills_.begin(), younger};
}

// Those that come from memory first, since samples may have to wait for them; what was spilled of
// the same key is older. Spills are held up for one model at a time, so that those who want another
// need not wait long.
void FolderStore::commit(std::uint64_t ticket, Bytes stream, const NextState& next) {
  try {
    write_commit(ticket, stream, next);
  } catch (...) {
    forget_new();
    throw;
  }
}

void FolderStore::write_commit(std::uint64_t ticket, const Bytes& stream, const NextState& next) {
  lock_->keep();
  if (!is_in_its_place()) move_back();
  if (!is_open_) open_state();
  keep_previous();
  const auto spilled = spilled_until(ticket);
  StateWriter to(*writer_, sum_);
  std::unordered_set<std::string> written;
  while (const auto model = next()) {
    const bool forgotten = word_of(model->key) == Spill::Word::forgotten;
    if (!to.put(model->key, model->state) || forgotten) count_new(model->key);
    if (!spilled.empty()) written.insert(model->key);
  }
  for (const auto& spill : spilled) {
    std::int64_t place = 0;
    const auto following = [&] {
      const std::lock_guard lock(mutex_);
      return spill->next(place);
    };
    while (const auto model = following()) {
      if (written.contains(model->key)) continue;
      if (model->state.empty())
        to.remove(model->key);
      else
        to.put(model->key, model->state);
    }
  }
  sum_ = to.commit(stream);
  ++behind_;
  fold_log();
  const std::lock_guard lock(mutex_);
  new_.clear();
  spills_.erase(spills_.begin(), spills_.begin() + static_cast<std::ptrdiff_t>(spilled.size()));
}

// Into state.db: damage to SQLite's log would undo all commits that are in it. If it cannot be done
// now, the next commit does it.
void FolderStore::fold_log() {
  try {
    writer_->run("PRAGMA wal_checkpoint(TRUNCATE)");
  } catch (const StoreError&) {
  }
}

void FolderStore::forget_new() {
  std::size_t gone = 0;
  for (const std::string& key : new_) gone += word_of(key) == Spill::Word::model ? 0 : 1;
  const std::lock_guard lock(mutex_);
  new_.clear();
  models_ -= gone;
}

// Not every time: it writes once more what has changed since. That it cannot be done is no reason
// to go without a commit.
void FolderStore::keep_previous() {
  if (behind_ < most_behind) return;
  Database::Statement stream(*writer_, "SELECT 1 FROM stream");
  if (!any_row(stream)) return;
  try {
    keep_as_previous(*writer_, folder_);
    behind_ = 0;
  } catch (const StoreDamaged&) {  // the next time it is written anew
    const std::string previous = folder_ / "state.db.previous";
    keep_damaged(previous, system_);
    for (const char* end : {"", "-journal"}) system_.remove(previous + end);
  } catch (const StoreError&) {
  }
}

std::optional<Bytes> read_folder(const fs::path& folder, const std::optional<std::string>& key,
                                 System& system) {
  if (!system.exists(folder / "state.db"))
    throw std::runtime_error(folder.string() + ": holds no stream (there is no state.db)");
  Database database(folder / "state.db", system);
  Database::Statement statement(
      database, key ? "SELECT state FROM models WHERE key = ?1" : "SELECT state FROM stream");
  if (key) statement.with(1, *key);
  return first_row(statement);
}

}  // namespace kalstream

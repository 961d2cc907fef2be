#include "stores/state_database.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/archive.h"
#include "core/hash.h"
#include "engine/checkpoint.h"
#include "io/atomic_file.h"
#include "kalstream/snapshot.h"

namespace kalstream {

namespace fs = std::filesystem;

namespace {

/// The last word of anything in an envelope.
std::uint64_t checksum_of(const Bytes& state) {
  constexpr std::size_t word = 8;
  std::uint64_t sum = 0;
  Archive(std::span(state).last(std::min(word, state.size()))).word(sum);
  return sum;
}

// ---- A state that is there.

struct Examined {
  StateSum sum;
  bool empty = true;  // no stream was committed
  std::string wrong;  // with it; empty: it is sound
};

// First all pages of the file, in the time it takes to read them: what is asked later must not find
// that one is in the place of another. Then what each model's state says of itself, and all of them
// together.
void examine(Database& database, Examined& found) {
  make_state_tables(database);
  Database::Statement pages(database, "PRAGMA integrity_check(1)");
  if (!pages.step() || pages.text(0) != "ok") throw SnapshotError("is damaged: " + pages.text(0));
  pages.reset();
  Database::Statement models(database, "SELECT key, state FROM models");
  while (models.step()) {
    const std::string key = models.text(0);
    const Bytes state = models.bytes(1);
    checkpoint_of(state);
    found.sum.add(key, checksum_of(state));
  }
  Database::Statement stream(database, "SELECT state FROM stream");
  if (!stream.step()) return;
  const Bytes state = stream.bytes(0);
  stream.reset();
  checkpoint_of(state);
  found.empty = false;
  Database::Statement seal(database, "SELECT sum FROM seal");
  if (!seal.step() || seal.number(0) != found.sum.with(state))
    throw SnapshotError("its parts are of different commits");
}

Examined examine(const fs::path& path, System& system) {
  Examined found;
  if (!system.exists(path)) {
    found.wrong = "it is not there";
    return found;
  }
  try {
    Database database(path, system);
    examine(database, found);
  } catch (const SnapshotError& error) {
    found.wrong = error.what();
  } catch (const StoreDamaged& error) {
    found.wrong = error.what();
  }
  return found;
}

/// A disk may fail to read what it has, for once.
Examined examine_well(const fs::path& path, System& system) {
  const Examined found = examine(path, system);
  return found.wrong.empty() ? found : examine(path, system);
}

void rename(System& system, const fs::path& from, const fs::path& to) {
  if (system.rename(from, to) != 0 && errno != ENOENT)
    throw StoreError(from.string() + ": cannot be renamed: " + std::strerror(errno));
}

constexpr const char* state_name = "state.db";
constexpr const char* previous_name = "state.db.previous";

}  // namespace

void make_state_tables(Database& database) {
  database.run(
      "CREATE TABLE IF NOT EXISTS stream (one INTEGER PRIMARY KEY CHECK (one = 1), state BLOB);"
      "CREATE TABLE IF NOT EXISTS models (key BLOB UNIQUE, state BLOB);"
      "CREATE TABLE IF NOT EXISTS seal (one INTEGER PRIMARY KEY CHECK (one = 1), sum INTEGER);"
      // Keys of models that have changed since the previous state.
      "CREATE TABLE IF NOT EXISTS changed (key BLOB PRIMARY KEY) WITHOUT ROWID;");
}

std::uint64_t StateSum::mixed(std::string_view key, std::uint64_t checksum) {
  Bytes both;
  Archive to(both);
  to.text(key);
  to.word(checksum);
  return fnv1a(both);
}

std::int64_t StateSum::with(const Bytes& stream) const {
  return static_cast<std::int64_t>(sum_ ^ checksum_of(stream));
}

// ---- Writing.

StateWriter::StateWriter(Database& database, StateSum sum)
    : database_(database),
      sum_(sum),
      before_(database, "SELECT substr(state, -8) FROM models WHERE key = ?1"),
      write_(database, "INSERT OR REPLACE INTO models VALUES (?1, ?2)"),
      remove_(database, "DELETE FROM models WHERE key = ?1"),
      mark_(database, "INSERT OR IGNORE INTO changed VALUES (?1)"),
      transaction_(database) {}

// False if there is none.
bool StateWriter::forget_sum(const std::string& key) {
  const bool known = before_.with(1, key).step();
  if (known) {
    sum_.remove(key, checksum_of(before_.bytes(0)));
    before_.reset();
  }
  return known;
}

void StateWriter::remove(const std::string& key) {
  if (!forget_sum(key)) return;
  remove_.with(1, key).step();
  mark_.with(1, key).step();
}

bool StateWriter::put(const std::string& key, const Bytes& state) {
  const bool known = forget_sum(key);
  sum_.add(key, checksum_of(state));
  write_.with(1, key).with(2, state).step();
  mark_.with(1, key).step();
  return known;
}

StateSum StateWriter::commit(const Bytes& stream) {
  Database::Statement(database_, "INSERT OR REPLACE INTO stream VALUES (1, ?1)")
      .with(1, stream)
      .step();
  Database::Statement(database_, "INSERT OR REPLACE INTO seal VALUES (1, ?1)")
      .with(1, sum_.with(stream))
      .step();
  transaction_.commit();
  return sum_;
}

// ---- The one before.

StateFound find_sound_state(const fs::path& folder, System& system) {
  const fs::path state = folder / state_name;
  const fs::path previous = folder / previous_name;
  const Examined found = examine_well(state, system);
  const bool has_previous = system.exists(previous);
  if (found.wrong.empty() && (!found.empty || !has_previous)) return {found.sum, ""};
  if (!has_previous && !system.exists(state)) return {};
  const std::string wrong = found.wrong.empty() ? "it is empty" : found.wrong;
  const Examined before = examine_well(previous, system);
  if (!before.wrong.empty() || before.empty) throw SnapshotError(state.string() + ": " + wrong);
  std::string kept;
  if (system.exists(state)) {
    kept = keep_damaged(state, system);
    rename(system, state.string() + "-wal", kept + "-wal");
    system.remove(state.string() + "-shm");
  }
  rename(system, previous, state);
  return {before.sum, state.string() + ": " + wrong + "; going on from the one before it" +
                          (kept.empty() ? "" : " (the damaged one is now " + kept + ')')};
}

// The previous state is a file on its own: what it takes to undo a change to it does not outlive
// that change.
void keep_as_previous(Database& state, const fs::path& folder) {
  const fs::path previous = folder / previous_name;
  {
    Database::Statement attach(state, "ATTACH ?1 AS previous");
    attach.with(1, std::string_view(previous.native())).step();
  }
  try {
    state.run(
        "PRAGMA previous.journal_mode = DELETE; PRAGMA previous.synchronous = FULL;"
        "CREATE TABLE IF NOT EXISTS previous.stream (one INTEGER PRIMARY KEY, state BLOB);"
        "CREATE TABLE IF NOT EXISTS previous.models (key BLOB UNIQUE, state BLOB);"
        "CREATE TABLE IF NOT EXISTS previous.seal (one INTEGER PRIMARY KEY, sum INTEGER);");
    Transaction transaction(state);
    Database::Statement stream(state, "SELECT 1 FROM previous.stream");
    const bool is_new = !any_row(stream);
    state.run(is_new ? "INSERT OR REPLACE INTO previous.models SELECT * FROM main.models"
                     : "INSERT OR REPLACE INTO previous.models SELECT * FROM main.models "
                       "WHERE key IN (SELECT key FROM main.changed);"
                       "DELETE FROM previous.models WHERE key IN (SELECT key FROM main.changed) "
                       "AND key NOT IN (SELECT key FROM main.models)");
    state.run(
        "INSERT OR REPLACE INTO previous.stream SELECT * FROM main.stream;"
        "INSERT OR REPLACE INTO previous.seal SELECT * FROM main.seal;");
    transaction.commit();
    state.run("DELETE FROM changed");
  } catch (...) {
    try {
      state.run("DETACH previous");
    } catch (const StoreError&) {
    }
    throw;
  }
  state.run("DETACH previous");
}

}  // namespace kalstream

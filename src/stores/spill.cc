#include "stores/spill.h"

#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"

namespace kalstream {

namespace {

struct SpillDatabase : Database {
  SpillDatabase(const std::filesystem::path& path, System& system) : Database(path, system) {
    // Large models are some hundred pages of the usual size, and each would be a call.
    run("PRAGMA page_size = 16384; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
        "CREATE TABLE spilled (key BLOB UNIQUE, state BLOB);");
  }
};

}  // namespace

struct Spill::Tables : SpillDatabase {
  using SpillDatabase::SpillDatabase;

  Statement put{*this, "INSERT OR REPLACE INTO spilled VALUES (?1, ?2)"};
  Statement get{*this, "SELECT state FROM spilled WHERE key = ?1"};
  Statement word{*this, "SELECT length(state) > 0 FROM spilled WHERE key = ?1"};
  Statement next{*this,
                 "SELECT rowid, key, state FROM spilled WHERE rowid > ?1 ORDER BY rowid LIMIT 1"};
};

Spill::Spill(std::filesystem::path path, std::uint64_t after, System& system)
    : path_(std::move(path)), after_(after), system_(system) {
  try {
    tables_ = std::make_unique<Tables>(path_, system);
  } catch (...) {
    system_.remove(path_);
    throw;
  }
}

Spill::~Spill() {
  tables_.reset();
  system_.remove(path_);
}

void Spill::put(const std::vector<KeyedState>& models) {
  Transaction transaction(*tables_);
  for (const KeyedState& m : models) tables_->put.with(1, m.key).with(2, m.state).step();
  transaction.commit();
}

std::optional<Bytes> Spill::get(const std::string& key) {
  return first_row(tables_->get.with(1, key));
}

std::optional<KeyedState> Spill::next(std::int64_t& place) {
  auto& row = tables_->next.with(1, place);
  if (!row.step()) return {};
  place = row.number(0);
  KeyedState model{row.text(1), row.bytes(2)};
  row.reset();
  return model;
}

Spill::Word Spill::word_of(const std::string& key) {
  auto& row = tables_->word.with(1, key);
  if (!row.step()) return Word::none;
  const Word word = row.number(0) != 0 ? Word::model : Word::forgotten;
  row.reset();
  return word;
}

SpillStore::SpillStore(std::filesystem::path file, System& system)
    : system_(system), file_(std::move(file)) {}

// One that cannot be read must not be taken for one that is no model: it is in the log as well.
std::optional<Bytes> SpillStore::get(const std::string& key) {
  if (!spill_) return {};
  auto state = spill_->get(key);
  if (!state || state->empty()) return {};
  try {
    checkpoint_of(*state);
  } catch (const SnapshotError& error) {
    throw StoreDamaged(file_.string() + ": " + error.what());
  }
  return state;
}

bool SpillStore::holds(const std::string& key) {
  return spill_ && spill_->word_of(key) == Spill::Word::model;
}

void SpillStore::put(std::vector<KeyedState> models) {
  if (!spill_) {
    system_.remove(file_);  // of a process that was killed
    spill_ = std::make_unique<Spill>(file_, 0, system_);
  }
  std::ptrdiff_t more = 0;
  for (const KeyedState& m : models) more += (m.state.empty() ? 0 : 1) - (holds(m.key) ? 1 : 0);
  spill_->put(models);
  models_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(models_) + more);
}

}  // namespace kalstream

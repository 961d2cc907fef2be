#include "stores/spill.h"

namespace kalstream {

namespace {

struct SpillDatabase : Database {
  SpillDatabase(const std::filesystem::path& path, const DatabaseFiles& files)
      : Database(path, files) {
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

Spill::Spill(std::filesystem::path path, std::uint64_t after, const DatabaseFiles& files,
             System& system)
    : path_(std::move(path)), after_(after), system_(system) {
  try {
    tables_ = std::make_unique<Tables>(path_, files);
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

}  // namespace kalstream

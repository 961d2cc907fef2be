#include "stores/database.h"

#include <sqlite3.h>

#include <stdexcept>

namespace kalstream {

Database::Database(std::filesystem::path path, System& system) : path_(std::move(path)) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW;
  if (sqlite3_open_v2(path_.c_str(), &database_, flags, system.database_files()) != SQLITE_OK) {
    const std::string why = database_ == nullptr ? "no memory" : sqlite3_errmsg(database_);
    sqlite3_close(database_);
    throw std::runtime_error(path_.string() + ": " + why);
  }
  sqlite3_busy_timeout(database_, 10'000);  // other connections of this process are quick
}

Database::~Database() { sqlite3_close(database_); }

void Database::fail() const {
  const std::string what = path_.string() + ": " + sqlite3_errmsg(database_);
  switch (sqlite3_errcode(database_) & 0xff) {
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      throw StoreError(what);
    default:  // what is asked of it is right: so it is not what it should be
      throw StoreDamaged(what);
  }
}

void Database::run(const char* statements) {
  if (sqlite3_exec(database_, statements, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

Database::Statement::Statement(Database& database, const char* text) : database_(database) {
  if (sqlite3_prepare_v3(database_.database_, text, -1, SQLITE_PREPARE_PERSISTENT, &statement_,
                         nullptr) != SQLITE_OK)
    database_.fail();
}

Database::Statement::~Statement() { sqlite3_finalize(statement_); }

Database::Statement& Database::Statement::with(int place, std::string_view text) {
  if (sqlite3_bind_blob64(statement_, place, text.empty() ? "" : text.data(), text.size(),
                          SQLITE_STATIC) != SQLITE_OK)
    database_.fail();
  return *this;
}

Database::Statement& Database::Statement::with(int place, std::int64_t number) {
  if (sqlite3_bind_int64(statement_, place, number) != SQLITE_OK) database_.fail();
  return *this;
}

bool Database::Statement::step() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) {
    sqlite3_reset(statement_);
    database_.fail();
  }
  reset();
  return false;
}

void Database::Statement::reset() { sqlite3_reset(statement_); }

Bytes Database::Statement::bytes(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  return {data, data + sqlite3_column_bytes(statement_, column)};
}

std::string Database::Statement::text(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::int64_t Database::Statement::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::optional<Bytes> first_row(Database::Statement& statement) {
  if (!statement.step()) return {};
  Bytes bytes = statement.bytes(0);
  statement.reset();
  return bytes;
}

bool any_row(Database::Statement& statement) {
  const bool any = statement.step();
  if (any) statement.reset();
  return any;
}

std::uint64_t database_memory() { return static_cast<std::uint64_t>(sqlite3_memory_used()); }

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const std::runtime_error&) {  // SQLite has done so itself
  }
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace kalstream

// The little of SQLite that stores need, with errors as exceptions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/envelope.h"
#include "engine/ports.h"
#include "system/system.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kalstream {

class Database {
 public:
  /// Creates the file if it is not there. Throws std::runtime_error naming it, as all below do:
  /// StoreError, StoreDamaged if that is what it is.
  explicit Database(std::filesystem::path path, System& system = System::real());
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// One or more statements without parameters.
  void run(const char* statements);

  /// One that is used again and again.
  class Statement {
   public:
    Statement(Database& database, const char* text);
    ~Statement();
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    /// Parameters from 1 on; what they refer to must live until reset().
    Statement& with(int place, std::string_view text);
    Statement& with(int place, const Bytes& bytes) { return with(place, as_text(bytes)); }
    Statement& with(int place, std::int64_t number);
    /// True: there is a row. Otherwise it is reset.
    bool step();
    void reset();
    /// Of the row, from 0 on.
    Bytes bytes(int column) const;
    std::string text(int column) const;
    std::int64_t number(int column) const;

   private:
    Database& database_;
    sqlite3_stmt* statement_ = nullptr;
  };

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  sqlite3* database_ = nullptr;
};

/// The first row's first column; nothing if there is no row. The statement is reset.
std::optional<Bytes> first_row(Database::Statement& statement);
bool any_row(Database::Statement& statement);

/// What SQLite has taken of the heap, for all databases.
std::uint64_t database_memory();

/// Rolls back what was not committed.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {
    database_.run("BEGIN IMMEDIATE");
  }
  ~Transaction();
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace kalstream

// The little of SQLite that stores need, with errors as exceptions.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/ports.h"
#include "system/system.h"

struct sqlite3;
struct sqlite3_stmt;

namespace kalstream {

/// Goes the way SQLite goes by itself, but asks the System before every step: what can fail there
/// can fail here.
class DatabaseFiles {
 public:
  explicit DatabaseFiles(System& system);
  ~DatabaseFiles();
  DatabaseFiles(const DatabaseFiles&) = delete;
  DatabaseFiles& operator=(const DatabaseFiles&) = delete;

  /// By which SQLite knows it, for as long as it lives.
  const char* name() const;

 private:
  struct Vfs;
  std::unique_ptr<Vfs> vfs_;
};

class Database {
 public:
  /// Creates the file if it is not there. Throws std::runtime_error naming it, as all below do:
  /// StoreError, StoreDamaged if that is what it is.
  Database(std::filesystem::path path, const DatabaseFiles& files);
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
    Statement& with(int place, const Bytes& bytes);
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

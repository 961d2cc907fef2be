// SQLite's way to its files.
#pragma once

#include <memory>

#include "system/system.h"

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

}  // namespace kalstream

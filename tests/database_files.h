// SQLite's way to its files, on which a System can make anything fail.
#pragma once

#include <sqlite3.h>

#include <cerrno>
#include <new>
#include <string>

#include "system/system.h"

namespace kalstream::test {
namespace database {

using Call = System::Call;

/// SQLite makes room for it, and for the file as SQLite has it behind.
struct File : sqlite3_file {
  sqlite3_file* itself() { return reinterpret_cast<sqlite3_file*>(this + 1); }

  System* system = nullptr;
};

inline File& of(sqlite3_file* file) { return *static_cast<File*>(file); }

/// SQLITE_OK, or why the call is not to be made. (Interruptions do not get as far as this: SQLite
/// repeats what was interrupted.)
inline int refusal(const System::Verdict& verdict, int failure) {
  if (verdict.error == 0 || verdict.error == EINTR) return SQLITE_OK;
  return verdict.error == ENOSPC ? SQLITE_FULL : failure;
}

/// A method of files that is handed on as it is.
template <auto method>
constexpr auto handed_on =
    []<typename Result, typename... A>(Result (*sqlite3_io_methods::*)(sqlite3_file*, A...)) {
      return +[](sqlite3_file* file, A... arguments) -> Result {
        sqlite3_file* const itself = of(file).itself();
        return (itself->pMethods->*method)(itself, arguments...);
      };
    }(method);

/// The same, if the System lets it; else `failure`.
template <auto method, Call call, int failure>
constexpr auto asked = []<typename... A>(int (*sqlite3_io_methods::*)(sqlite3_file*, A...)) {
  return +[](sqlite3_file* file, A... arguments) -> int {
    const int refused = refusal(of(file).system->before(call), failure);
    return refused != SQLITE_OK ? refused : handed_on<method>(file, arguments...);
  };
}(method);

// What is written in part stays, as on a disk that is full.
inline int write(sqlite3_file* file, const void* from, int n, sqlite3_int64 offset) {
  const System::Verdict verdict = of(file).system->before(Call::write);
  if (const int refused = refusal(verdict, SQLITE_IOERR_WRITE)) return refused;
  const auto whole = handed_on<&sqlite3_io_methods::xWrite>;
  if (!verdict.in_part) return whole(file, from, n, offset);
  whole(file, from, n / 2, offset);
  return SQLITE_FULL;
}

inline constexpr sqlite3_io_methods methods = {
    2,
    handed_on<&sqlite3_io_methods::xClose>,
    asked<&sqlite3_io_methods::xRead, Call::read, SQLITE_IOERR_READ>,
    write,
    asked<&sqlite3_io_methods::xTruncate, Call::truncate, SQLITE_IOERR_TRUNCATE>,
    asked<&sqlite3_io_methods::xSync, Call::sync, SQLITE_IOERR_FSYNC>,
    asked<&sqlite3_io_methods::xFileSize, Call::status, SQLITE_IOERR_FSTAT>,
    asked<&sqlite3_io_methods::xLock, Call::lock, SQLITE_IOERR_LOCK>,
    handed_on<&sqlite3_io_methods::xUnlock>,
    handed_on<&sqlite3_io_methods::xCheckReservedLock>,
    handed_on<&sqlite3_io_methods::xFileControl>,
    handed_on<&sqlite3_io_methods::xSectorSize>,
    handed_on<&sqlite3_io_methods::xDeviceCharacteristics>,
    asked<&sqlite3_io_methods::xShmMap, Call::map, SQLITE_IOERR_SHMMAP>,
    handed_on<&sqlite3_io_methods::xShmLock>,
    handed_on<&sqlite3_io_methods::xShmBarrier>,
    handed_on<&sqlite3_io_methods::xShmUnmap>,
    nullptr,
    nullptr,
};

// What is not about files is taken from SQLite's own as it is.
struct Vfs : sqlite3_vfs {
  explicit Vfs(System& to_ask)
      : sqlite3_vfs(*sqlite3_vfs_find(nullptr)),
        system(to_ask),
        itself(sqlite3_vfs_find(nullptr)),
        name("kalstream-" + std::to_string(reinterpret_cast<std::uintptr_t>(this))) {
    szOsFile += static_cast<int>(sizeof(File));
    pNext = nullptr;
    zName = name.c_str();
    xOpen = open;
    xDelete = remove;
    xAccess = look_at;
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* place, int flags, int* given) {
    const Vfs& own = *static_cast<Vfs*>(vfs);
    File& file = *new (place) File{};
    file.system = &own.system;
    if (const int refused = refusal(own.system.before(Call::open), SQLITE_CANTOPEN)) return refused;
    file.itself()->pMethods = nullptr;
    const int result = own.itself->xOpen(own.itself, path, file.itself(), flags, given);
    if (file.itself()->pMethods != nullptr) file.pMethods = &methods;
    return result;
  }

  static int remove(sqlite3_vfs* vfs, const char* path, int then_sync) {
    const Vfs& own = *static_cast<Vfs*>(vfs);
    const int refused = refusal(own.system.before(Call::remove), SQLITE_IOERR_DELETE);
    return refused != SQLITE_OK ? refused : own.itself->xDelete(own.itself, path, then_sync);
  }

  static int look_at(sqlite3_vfs* vfs, const char* path, int flags, int* found) {
    const Vfs& own = *static_cast<Vfs*>(vfs);
    const int refused = refusal(own.system.before(Call::status), SQLITE_IOERR_ACCESS);
    return refused != SQLITE_OK ? refused : own.itself->xAccess(own.itself, path, flags, found);
  }

  System& system;
  sqlite3_vfs* itself;
  std::string name;
};

}  // namespace database

/// Goes the way SQLite goes by itself, but asks the System before every step: what can fail there
/// can fail here.
class DatabaseFiles {
 public:
  explicit DatabaseFiles(System& system) : vfs_(system) {
    sqlite3_vfs_register(&vfs_, /*makeDflt=*/0);
  }
  ~DatabaseFiles() { sqlite3_vfs_unregister(&vfs_); }
  DatabaseFiles(const DatabaseFiles&) = delete;
  DatabaseFiles& operator=(const DatabaseFiles&) = delete;

  /// By which SQLite knows it, for as long as it lives.
  const char* name() const { return vfs_.zName; }

 private:
  database::Vfs vfs_;
};

}  // namespace kalstream::test

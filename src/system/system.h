// What is asked of the operating system, in one place, so that tests can make any of it fail.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kalstream {

/// Calls as POSIX has them: −1 and errno if they fail. What a signal interrupts is done again; only
/// read, write and poll return then, since who calls them may want to know of the signal.
class System {
 public:
  enum class Call : std::uint8_t {
    open,
    read,
    write,
    seek,
    sync,
    truncate,
    status,
    rename,
    link,
    remove,
    make_folder,
    permit,
    list,
    lock,
    poll,
    map,  ///< memory shared with other processes
  };

  /// What becomes of a call that is about to be made.
  struct Verdict {
    int error = 0;         ///< not 0: it is not made, and fails with this
    bool in_part = false;  ///< it reads or writes less than it was asked to
  };

  virtual ~System() = default;

  /// The one there is. It has no state.
  static System& real();

  /// Asked before every call, from any thread.
  virtual Verdict before(Call) { return {}; }
  /// The name of SQLite's way to its files (sqlite3_vfs); nullptr: the way it goes by itself.
  virtual const char* database_files() { return nullptr; }

  int open(const std::string& path, int flags, mode_t mode = 0);
  void close(int descriptor);
  ssize_t read(int descriptor, void* to, std::size_t n);
  ssize_t read_at(int descriptor, void* to, std::size_t n, std::uint64_t offset);
  ssize_t write(int descriptor, const void* from, std::size_t n);
  off_t seek(int descriptor, off_t offset, int whence);
  int sync(int descriptor);
  int truncate(int descriptor, off_t size);
  int permit(int descriptor, mode_t mode);
  int status(int descriptor, struct stat& status);
  int status(const std::string& path, struct stat& status);  ///< of what a link leads to
  int link_status(const std::string& path, struct stat& status);
  int rename(const std::string& from, const std::string& to);
  int link(const std::string& from, const std::string& to);
  int remove(const std::string& path);         ///< a file
  int remove_folder(const std::string& path);  ///< an empty one
  int make_folder(const std::string& path);
  int list(const std::string& folder, std::vector<std::string>& names);
  int lock(int descriptor);  ///< for this process alone, at once or not at all
  int poll(std::span<pollfd> descriptors, int milliseconds);

  // Made of these.
  /// Throws std::runtime_error if that cannot be told: what cannot be seen is not gone.
  bool exists(const std::string& path);
  /// False, and errno, if not all of it could be written.
  bool write_all(int descriptor, std::string_view text);
  /// The folder that a path is in.
  static std::string folder_of(const std::string& path);

 private:
  template <typename Make>
  auto ask(Call call, Make make);
  template <typename Make>
  ssize_t transfer(Call call, std::size_t n, Make make);
};

/// A descriptor that is closed in the end; −1: none.
class Descriptor {
 public:
  Descriptor(System& system, int descriptor) : system_(&system), descriptor_(descriptor) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept
      : system_(other.system_), descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(system_, other.system_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  void close() {
    if (descriptor_ >= 0) system_->close(std::exchange(descriptor_, -1));
  }

 private:
  System* system_;
  int descriptor_;
};

}  // namespace kalstream

#include "io/atomic_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/envelope.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;

constexpr const char* temporary = ".tmp";  // and the number of the process

enum class Wait { for_disk, for_nothing };

/// To a name that nothing has.
bool copy(System& system, const std::string& from, const std::string& to) {
  const auto bytes = read_bytes(from, system);
  const Descriptor file(system, system.open(to, O_WRONLY | O_CREAT | O_EXCL, 0666));
  if (!file) return false;
  if (system.write_all(file.get(), as_text(bytes)) && system.sync(file.get()) == 0) return true;
  const int why = errno;
  system.remove(to);
  errno = why;
  return false;
}

/// A file on its way to its name: the file itself behind any links, and the one that is written
/// first.
class Replacement {
 public:
  Replacement(System& system, const fs::path& path) : system_(system), path_(path.string()) {
    std::error_code ignored;
    const fs::path behind_links = fs::canonical(path, ignored);
    final_name_ =
        fs::is_symlink(path, ignored) && !behind_links.empty() ? behind_links.string() : path_;
    exists_ = system_.exists(final_name_) && system_.status(final_name_, status_) == 0;
    direct_ = exists_ && !S_ISREG(status_.st_mode);
    first_name_ = direct_ ? final_name_ : final_name_ + temporary + std::to_string(::getpid());
  }

  void write(std::string_view text, bool keep, Wait wait) {
    Descriptor file = open_first();
    const bool sync = wait == Wait::for_disk && !direct_;
    if (!system_.write_all(file.get(), text) || (sync && system_.sync(file.get()) != 0))
      fail("write the file");
    if (direct_) return;
    if (exists_) system_.permit(file.get(), status_.st_mode & 07777);
    file.close();
    if (exists_ && keep) keep_previous();
    if (system_.rename(first_name_, final_name_) != 0) fail("replace the file");
    if (wait == Wait::for_disk) sync_folder();
  }

  void require_writable() {
    if (direct_ && S_ISDIR(status_.st_mode))
      throw std::runtime_error(path_ + ": is a directory; name a file in it");
    if (direct_) return;
    open_first();
    system_.remove(first_name_);
  }

  void remove_leftovers() {
    const std::string folder = System::folder_of(final_name_);
    const std::string mine = fs::path(final_name_).filename().string() + temporary;
    std::vector<std::string> names;
    system_.list(folder, names);
    for (const std::string& name : names) {
      if (!name.starts_with(mine)) continue;
      const std::size_t end = name.find_first_not_of("0123456789", mine.size());
      const bool is_mine = end == std::string::npos || name.substr(end) == ".previous";
      if (is_mine) system_.remove(folder + '/' + name);
    }
  }

 private:
  [[noreturn]] void fail(const char* what) {
    const std::string reason = std::strerror(errno);
    if (!direct_) system_.remove(first_name_);
    throw std::runtime_error(path_ + ": cannot " + what + ": " + reason);
  }

  // A temporary file is made, never found: a link that somebody has put in its place is not
  // followed.
  Descriptor open_first() {
    if (!direct_) system_.remove(first_name_);  // of a process of the same number, long ago
    const int flags = direct_ ? O_WRONLY | O_CREAT : O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    Descriptor file(system_, system_.open(first_name_, flags, 0666));
    if (!file) fail("create the file");
    return file;
  }

  // A second name for the file, so that the first is never without one; a copy where a file can
  // have but one.
  void keep_previous() {
    const std::string on_its_way = first_name_ + ".previous";
    system_.remove(on_its_way);
    const bool kept =
        (system_.link(final_name_, on_its_way) == 0 || copy(system_, final_name_, on_its_way)) &&
        system_.rename(on_its_way, final_name_ + ".previous") == 0;
    const int why = errno;
    system_.remove(on_its_way);  // still there if it failed, or if both were names of one file
    errno = why;
    if (!kept) fail("keep the previous file");
  }

  // A new name is on the disk when its folder is; where that cannot be had, the name may come late.
  void sync_folder() {
    const Descriptor folder(system_, system_.open(System::folder_of(final_name_), O_RDONLY));
    if (folder) system_.sync(folder.get());
  }

  System& system_;
  std::string path_;
  std::string final_name_;
  std::string first_name_;
  bool exists_ = false;
  bool direct_ = false;  // a device or a pipe: renaming would replace it
  struct stat status_ = {};
};

}  // namespace

void write_file(const fs::path& path, std::string_view text, System& system) {
  Replacement(system, path).write(text, /*keep=*/false, Wait::for_disk);
}

void write_file_and_keep(const fs::path& path, std::string_view text, System& system) {
  Replacement(system, path).write(text, /*keep=*/true, Wait::for_disk);
}

void replace_file(const fs::path& path, std::string_view text, System& system) {
  Replacement(system, path).write(text, /*keep=*/false, Wait::for_nothing);
}

void remove_leftovers(const fs::path& path, System& system) {
  Replacement(system, path).remove_leftovers();
}

std::string keep_damaged(const fs::path& path, System& system) {
  struct stat file = {};
  struct stat other = {};
  for (int n = 1; system.status(path, file) == 0; ++n) {
    const std::string name = path.string() + ".damaged" + (n == 1 ? "" : '-' + std::to_string(n));
    if (system.link(path, name) == 0) return name;
    if (errno != EEXIST && copy(system, path, name)) return name;
    if (errno != EEXIST) break;
    const bool is_it = system.link_status(name, other) == 0 && other.st_ino == file.st_ino &&
                       other.st_dev == file.st_dev;
    if (is_it) return name;
  }
  throw std::runtime_error(path.string() + ": is damaged, and cannot be kept under another name: " +
                           std::strerror(errno));
}

void require_writable(const fs::path& path, System& system) {
  Replacement(system, path).require_writable();
}
namespace {

constexpr std::uintmax_t most_bytes = std::uintmax_t{8} << 30;  // as much as load takes

}  // namespace

std::vector<std::byte> read_bytes(const std::filesystem::path& path, System& system) {
  const auto fail = [](const std::string& what) {
    throw SnapshotError(what + ": " + std::strerror(errno));
  };
  const Descriptor file(system, system.open(path, O_RDONLY));
  struct stat status = {};
  if (!file || system.status(file.get(), status) != 0) fail("cannot open the snapshot");
  const auto size = static_cast<std::uintmax_t>(status.st_size);
  if (size > most_bytes) throw SnapshotError("too large for a snapshot");
  std::vector<std::byte> bytes(size);
  if (system.read_at(file.get(), bytes.data(), size, 0) != status.st_size)
    fail("cannot read the snapshot");
  return bytes;
}

void write_snapshot(const std::filesystem::path& path, const Learner& learner,
                    const Schema& schema) {
  const auto bytes = save(learner, schema);
  write_file_and_keep(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Learnt read_learnt(const std::filesystem::path& path) {
  try {
    return learnt_of(read_bytes(path));
  } catch (const SnapshotError& error) {
    throw SnapshotError(path.string() + ": " + error.what());
  }
}

}  // namespace kalstream

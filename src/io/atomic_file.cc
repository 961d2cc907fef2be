#include "io/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace kalstream {
namespace {

namespace fs = std::filesystem;

constexpr const char* temporary = ".tmp";  // and the number of the process

/// Where the bytes go: the file itself behind any links, and the file that is written first.
struct Destination {
  explicit Destination(const fs::path& path) {
    std::error_code ignored;
    const fs::path behind_links = fs::weakly_canonical(path, ignored);
    if (fs::is_symlink(path, ignored) && !behind_links.empty())
      final_name = behind_links.string();
    else
      final_name = path.string();
    const fs::file_status status = fs::status(final_name, ignored);
    exists = fs::exists(status);
    direct = exists && !fs::is_regular_file(status);
    permissions = status.permissions();
    first_name = direct ? final_name : final_name + temporary + std::to_string(::getpid());
  }

  std::string final_name;
  std::string first_name;
  bool exists = false;
  bool direct = false;  // a device or a pipe: renaming would replace it
  fs::perms permissions{};
};

[[noreturn]] void fail(const fs::path& path, const Destination& to, const char* what) {
  const std::string reason = std::strerror(errno);
  if (!to.direct) std::remove(to.first_name.c_str());
  throw std::runtime_error(path.string() + ": cannot " + what + ": " + reason);
}

// A second name for the file, so that the first is never without one; a copy where a file can have
// but one.
void keep_previous(const fs::path& path, const Destination& to) {
  const std::string kept = to.final_name + ".previous";
  std::error_code error;
  fs::remove(to.first_name + ".previous", error);
  fs::create_hard_link(to.final_name, to.first_name + ".previous", error);
  if (error)
    fs::copy_file(to.final_name, to.first_name + ".previous", fs::copy_options::overwrite_existing,
                  error);
  if (!error) fs::rename(to.first_name + ".previous", kept, error);
  if (!error) return;
  std::remove((to.first_name + ".previous").c_str());
  errno = error.value();
  fail(path, to, "keep the previous file");
}

enum class Wait { for_disk, for_nothing };

// A temporary file is made, never found: a link that somebody has put in its place is not followed.
std::FILE* open_first(const Destination& to) {
  if (to.direct) return std::fopen(to.first_name.c_str(), "wb");
  ::unlink(to.first_name.c_str());  // of a process of the same number, long ago
  const int descriptor =
      ::open(to.first_name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  return descriptor < 0 ? nullptr : ::fdopen(descriptor, "wb");
}

void write_first(const fs::path& path, const Destination& to, std::string_view text, Wait wait) {
  std::FILE* file = open_first(to);
  if (file == nullptr) fail(path, to, "create the file");
  const bool sync = wait == Wait::for_disk && !to.direct;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
                       std::fflush(file) == 0 && (!sync || ::fsync(::fileno(file)) == 0);
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) fail(path, to, "write the file");
}

void rename_first(const fs::path& path, const Destination& to) {
  if (std::rename(to.first_name.c_str(), to.final_name.c_str()) != 0)
    fail(path, to, "replace the file");
}

// A new name is on the disk when its folder is; where that cannot be had, the name may come late.
void sync_folder_of(const Destination& to) {
  const fs::path folder = fs::path(to.final_name).parent_path();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

void write(const fs::path& path, std::string_view text, bool keep, Wait wait = Wait::for_disk) {
  const Destination to(path);
  write_first(path, to, text, wait);
  if (to.direct) return;
  if (to.exists) {
    std::error_code ignored;
    fs::permissions(to.first_name, to.permissions, ignored);
  }
  if (to.exists && keep) keep_previous(path, to);
  rename_first(path, to);
  if (wait == Wait::for_disk) sync_folder_of(to);
}

}  // namespace

void write_file(const fs::path& path, std::string_view text) { write(path, text, false); }
void write_file_and_keep(const fs::path& path, std::string_view text) { write(path, text, true); }

void replace_file(const fs::path& path, std::string_view text) {
  write(path, text, false, Wait::for_nothing);
}

void remove_leftovers(const fs::path& path) {
  const Destination to(path);
  const fs::path name(to.final_name);
  std::error_code ignored;
  std::vector<fs::path> left;
  for (const auto& entry :
       fs::directory_iterator(name.has_parent_path() ? name.parent_path() : ".", ignored))
    if (entry.path().filename().string().starts_with(name.filename().string() + temporary))
      left.push_back(entry.path());
  for (const fs::path& file : left) fs::remove(file, ignored);
}

void require_writable(const fs::path& path) {
  const Destination to(path);
  if (to.direct) {
    if (fs::is_directory(to.final_name))
      throw std::runtime_error(path.string() + ": is a directory; name a file in it");
    return;
  }
  std::FILE* file = open_first(to);
  if (file == nullptr) fail(path, to, "create the file");
  std::fclose(file);
  std::remove(to.first_name.c_str());
}

}  // namespace kalstream

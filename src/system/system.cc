#include "system/system.h"

#include <dirent.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace kalstream {

System& System::real() {
  static System system;
  return system;
}

template <typename Make>
auto System::ask(Call call, Make make) {
  while (true) {
    const Verdict verdict = before(call);
    const auto result = verdict.error == 0 ? make() : decltype(make()){-1};
    if (verdict.error != 0) errno = verdict.error;
    if (result >= 0 || errno != EINTR) return result;
  }
}

// May be interrupted.
template <typename Make>
ssize_t System::transfer(Call call, std::size_t n, Make make) {
  const Verdict verdict = before(call);
  if (verdict.error == 0) return make(verdict.in_part ? (n + 1) / 2 : n);
  errno = verdict.error;
  return -1;
}

int System::open(const std::string& path, int flags, mode_t mode) {
  return ask(Call::open, [&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
}

void System::close(int descriptor) { ::close(descriptor); }

ssize_t System::read(int descriptor, void* to, std::size_t n) {
  return transfer(Call::read, n, [&](std::size_t part) { return ::read(descriptor, to, part); });
}

ssize_t System::read_at(int descriptor, void* to, std::size_t n, std::uint64_t offset) {
  std::size_t done = 0;
  while (done < n) {
    const ssize_t m = transfer(Call::read, n - done, [&](std::size_t part) {
      return ::pread(descriptor, static_cast<char*>(to) + done, part,
                     static_cast<off_t>(offset + done));
    });
    if (m < 0 && errno == EINTR) continue;
    if (m < 0) return -1;
    if (m == 0) break;
    done += static_cast<std::size_t>(m);
  }
  return static_cast<ssize_t>(done);
}

ssize_t System::write(int descriptor, const void* from, std::size_t n) {
  return transfer(Call::write, n,
                  [&](std::size_t part) { return ::write(descriptor, from, part); });
}

off_t System::seek(int descriptor, off_t offset, int whence) {
  return ask(Call::seek, [&] { return ::lseek(descriptor, offset, whence); });
}

int System::sync(int descriptor) {
  return ask(Call::sync, [&] { return ::fsync(descriptor); });
}

int System::truncate(int descriptor, off_t size) {
  return ask(Call::truncate, [&] { return ::ftruncate(descriptor, size); });
}

int System::permit(int descriptor, mode_t mode) {
  return ask(Call::permit, [&] { return ::fchmod(descriptor, mode); });
}

int System::status(int descriptor, struct stat& status) {
  return ask(Call::status, [&] { return ::fstat(descriptor, &status); });
}

int System::status(const std::string& path, struct stat& status) {
  return ask(Call::status, [&] { return ::stat(path.c_str(), &status); });
}

int System::link_status(const std::string& path, struct stat& status) {
  return ask(Call::status, [&] { return ::lstat(path.c_str(), &status); });
}

int System::rename(const std::string& from, const std::string& to) {
  return ask(Call::rename, [&] { return ::rename(from.c_str(), to.c_str()); });
}

int System::link(const std::string& from, const std::string& to) {
  return ask(Call::link, [&] { return ::link(from.c_str(), to.c_str()); });
}

int System::remove(const std::string& path) {
  return ask(Call::remove, [&] { return ::unlink(path.c_str()); });
}

int System::remove_folder(const std::string& path) {
  return ask(Call::remove, [&] { return ::rmdir(path.c_str()); });
}

int System::make_folder(const std::string& path) {
  return ask(Call::make_folder, [&] { return ::mkdir(path.c_str(), 0777); });
}

int System::list(const std::string& folder, std::vector<std::string>& names) {
  return ask(Call::list, [&] {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
    if (!entries) return -1;
    names.clear();
    while (const dirent* entry = ::readdir(entries.get()))
      if (const std::string_view name = entry->d_name; name != "." && name != "..")
        names.emplace_back(name);
    std::ranges::sort(names);
    return 0;
  });
}

int System::lock(int descriptor) {
  return ask(Call::lock, [&] { return ::flock(descriptor, LOCK_EX | LOCK_NB); });
}

int System::poll(std::span<pollfd> descriptors, int milliseconds) {
  return static_cast<int>(transfer(Call::poll, descriptors.size(), [&](std::size_t) {
    return ::poll(descriptors.data(), descriptors.size(), milliseconds);
  }));
}

bool System::exists(const std::string& path) {
  struct stat found = {};
  if (status(path, found) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw std::runtime_error(path + ": " + std::strerror(errno));
}

bool System::write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(descriptor, text.data(), text.size());
    if (n < 0 && errno != EINTR) return false;
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  return true;
}

std::string System::folder_of(const std::string& path) {
  const std::size_t end = path.rfind('/');
  return end == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(end, 1));
}

}  // namespace kalstream

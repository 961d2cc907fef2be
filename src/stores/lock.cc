#include "stores/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace kalstream {
namespace {

std::string holder(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t n = ::pread(descriptor, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  pid.erase(std::min(pid.find('\n'), pid.size()));
  return pid.empty() ? "another process" : "process " + pid;
}

// Whoever had it may have removed it in the meantime.
bool is_still_named(int descriptor, const std::filesystem::path& path) {
  struct stat open = {};
  struct stat named = {};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

}  // namespace

Lock::Lock(std::filesystem::path path) : path_(std::move(path)) {
  while (true) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (descriptor_ < 0)
      throw std::runtime_error(path_.string() + ": cannot open: " + std::strerror(errno));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const std::string who = holder(descriptor_);
      ::close(descriptor_);
      throw std::runtime_error(path_.string() + ": in use by " + who +
                               "; stop it first, or name another checkpoint");
    }
    if (is_still_named(descriptor_, path_)) break;
    ::close(descriptor_);
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(descriptor_, 0) == 0) {
    [[maybe_unused]] const auto only_for_people = ::pwrite(descriptor_, pid.data(), pid.size(), 0);
  }
}

Lock::~Lock() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

}  // namespace kalstream

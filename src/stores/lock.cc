#include "stores/lock.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace kalstream {
namespace {

std::string holder(System& system, int descriptor) {
  std::array<char, 32> text{};
  const ssize_t n = system.read_at(descriptor, text.data(), text.size() - 1, 0);
  std::string pid(text.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  pid.erase(std::min(pid.find('\n'), pid.size()));
  return pid.empty() ? "another process" : "process " + pid;
}

}  // namespace

Lock::Lock(std::filesystem::path path, System& system)
    : system_(system), path_(path.string()), file_(system, -1) {
  const auto fail = [this](const char* what) {
    throw std::runtime_error(path_ + ": cannot " + what + ": " + std::strerror(errno));
  };
  struct stat open = {};
  struct stat named = {};
  do {
    file_ = Descriptor(system, system.open(path_, O_RDWR | O_CREAT | O_NOFOLLOW, 0644));
    if (!file_) fail("open");
    if (system.lock(file_.get()) != 0) {
      if (errno != EWOULDBLOCK) fail("lock");
      throw std::runtime_error(path_ + ": in use by " + holder(system, file_.get()) +
                               "; stop it first, or name another checkpoint");
    }
    if (system.status(file_.get(), open) != 0) fail("look at");
    // Whoever had it may have removed it in the meantime.
    if (system.link_status(path_, named) != 0) named = {};
  } while (open.st_ino != named.st_ino || open.st_dev != named.st_dev);
  // Only for people.
  if (system.truncate(file_.get(), 0) == 0)
    system.write_all(file_.get(), std::to_string(::getpid()) + "\n");
}

Lock::~Lock() { system_.remove(path_); }

}  // namespace kalstream

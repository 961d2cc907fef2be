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
  take();
}

Lock::~Lock() {
  if (is_named()) system_.remove(path_);
}

void Lock::keep() {
  if (!is_named()) take();
}

bool Lock::is_named() {
  struct stat open = {};
  struct stat named = {};
  return system_.status(file_.get(), open) == 0 && system_.link_status(path_, named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

void Lock::take() {
  const auto fail = [this](const char* what) {
    throw std::runtime_error(path_ + ": cannot " + what + ": " + std::strerror(errno));
  };
  do {
    Descriptor file(system_, system_.open(path_, O_RDWR | O_CREAT | O_NOFOLLOW, 0644));
    if (!file) fail("open");
    if (system_.lock(file.get()) != 0) {
      if (errno != EWOULDBLOCK) fail("lock");
      throw std::runtime_error(path_ + ": in use by " + holder(system_, file.get()) +
                               "; stop it first, or name another checkpoint");
    }
    file_ = std::move(file);
  } while (!is_named());  // whoever had it may have removed it in the meantime
  // Only for people.
  if (system_.truncate(file_.get(), 0) == 0)
    system_.write_all(file_.get(), std::to_string(::getpid()) + "\n");
}

}  // namespace kalstream

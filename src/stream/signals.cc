#include "stream/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <stdexcept>

namespace kalstream {
namespace {

// A handler has nothing else to reach.
std::atomic<bool> asked_to_stop;
std::atomic<bool> hung_up;
std::array<int, 2> wake = {-1, -1};

constexpr std::array handled{SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ};
std::array<struct sigaction, handled.size()> before;

void handle(int signal) {
  const int error = errno;
  if (signal == SIGHUP)
    hung_up = true;
  else
    asked_to_stop = true;
  const char byte = 0;
  [[maybe_unused]] const auto full_is_fine = ::write(wake[1], &byte, 1);
  errno = error;
}

}  // namespace

Signals::Signals() {
  asked_to_stop = hung_up = false;
  if (::pipe2(wake.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::runtime_error("cannot create a pipe for signals: too many open files?");
  for (std::size_t k = 0; k < handled.size(); ++k) {
    struct sigaction action = {};
    const bool only_fails = handled[k] == SIGPIPE || handled[k] == SIGXFSZ;
    action.sa_handler = only_fails ? SIG_IGN : handle;
    sigaction(handled[k], &action, &before[k]);
  }
}

Signals::~Signals() {
  for (std::size_t k = 0; k < handled.size(); ++k) sigaction(handled[k], &before[k], nullptr);
  for (int& end : wake) {
    ::close(end);
    end = -1;
  }
}

bool Signals::stop() const { return asked_to_stop; }

bool Signals::take_hang_up() {
  std::array<char, 64> bytes;
  while (!asked_to_stop && ::read(wake[0], bytes.data(), bytes.size()) > 0) {
  }
  return hung_up.exchange(false);
}

int Signals::descriptor() const { return wake[0]; }

}  // namespace kalstream

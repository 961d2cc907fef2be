// A terminal that a test holds the other end of.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

namespace kalstream::test {

/// A shell command in a folder whose standard input and output are a terminal; killed in the end if
/// it still runs. It is not the terminal's owner, so no SIGHUP tells it that the terminal goes.
class OnTerminal {
 public:
  OnTerminal(const std::filesystem::path& folder, const std::string& command) {
    terminal_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_EQ(::grantpt(terminal_), 0);
    EXPECT_EQ(::unlockpt(terminal_), 0);
    const std::string name = ::ptsname(terminal_);
    std::array<int, 2> alive{};
    EXPECT_EQ(::pipe2(alive.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const int end = ::open(name.c_str(), O_RDWR | O_NOCTTY);
      ::dup2(end, 0);
      ::dup2(end, 1);
      ::dup(alive[1]);  // this one stays open until the program ends
      const std::string line = "cd '" + folder.string() + "' && exec 2>>.err; exec " + command;
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(alive[1]);
    alive_ = alive[0];
  }
  ~OnTerminal() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    hang_up();
    ::close(alive_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  /// Reads what it shows until this has come; false if it does not.
  bool shows(const std::string& text) {
    while (shown_.find(text) == std::string::npos) {
      std::array<char, 4096> bytes;
      pollfd of{terminal_, POLLIN, 0};
      if (::poll(&of, 1, patience) <= 0) return false;
      const ssize_t n = ::read(terminal_, bytes.data(), bytes.size());
      if (n <= 0) return false;
      shown_.append(bytes.data(), static_cast<std::size_t>(n));
    }
    return true;
  }

  void type(const std::string& keys) const {
    EXPECT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void kill(int signal) const { ::kill(pid_, signal); }

  /// The terminal is gone.
  void hang_up() {
    if (terminal_ >= 0) ::close(terminal_);
    terminal_ = -1;
  }

  /// Whether it ends; false after some seconds.
  bool ends() {
    pollfd of{alive_, POLLIN, 0};
    if (::poll(&of, 1, patience) <= 0) return false;
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
    return true;
  }

 private:
  static constexpr int patience = 60'000;  // milliseconds: only a test that fails waits so long

  int terminal_ = -1;
  int alive_ = -1;
  pid_t pid_ = 0;
  std::string shown_;
};

}  // namespace kalstream::test

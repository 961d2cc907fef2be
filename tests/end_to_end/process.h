// A program that runs beside the test: fed, read from, told to stop, killed.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace kalstream::test {

/// A shell command in a folder, with pipes to its standard input and output; standard error goes to
/// the file .err there. Killed in the end if it still runs.
class Process {
 public:
  Process(const std::filesystem::path& folder, const std::string& command) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      const std::string line = "cd '" + folder.string() + "' && exec 2>>.err; exec " + command;
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = out[0];
    ::signal(SIGPIPE, SIG_IGN);
  }
  ~Process() {
    kill(SIGKILL);
    wait();
    end_input();
    end_output();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// False if it does not read any more.
  bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::write(in_, text.data(), text.size());
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  /// The next line of its output, without the end; nothing at the end, or after some seconds.
  std::optional<std::string> line() {
    while (true) {
      const auto end = buffer_.find('\n');
      if (end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      if (!read_more(20'000)) return std::nullopt;
    }
  }

  /// All that is left of its output.
  std::string rest() {
    while (read_more(60'000)) {
    }
    return std::exchange(buffer_, {});
  }

  /// Goes on reading for so long; what it read is part of the rest.
  void read_for(std::chrono::microseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          until - std::chrono::steady_clock::now());
      if (left.count() < 0) return;
      read_more(static_cast<int>(left.count()));
    }
  }

  /// Its output holds but a page that is not read.
  void narrow_output() const { EXPECT_GT(::fcntl(out_, F_SETPIPE_SZ, 4096), 0); }

  void end_input() { close(in_); }
  void end_output() { close(out_); }
  void kill(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
  }

  /// Its exit code; −signal if one ended it.
  int wait() {
    if (pid_ > 0) {
      int status = 0;
      ::waitpid(pid_, &status, 0);
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
      pid_ = 0;
    }
    return exit_code_;
  }

 private:
  static void close(int& descriptor) {
    if (descriptor >= 0) ::close(descriptor);
    descriptor = -1;
  }

  bool read_more(int milliseconds) {
    pollfd of{out_, POLLIN, 0};
    if (::poll(&of, 1, milliseconds) <= 0) return false;
    std::array<char, 65536> bytes;
    const ssize_t n = ::read(out_, bytes.data(), bytes.size());
    if (n <= 0) return false;
    buffer_.append(bytes.data(), static_cast<std::size_t>(n));
    return true;
  }

  pid_t pid_ = 0;
  int in_ = -1;
  int out_ = -1;
  int exit_code_ = -1;
  std::string buffer_;
};

}  // namespace kalstream::test

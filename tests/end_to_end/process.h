// A program that runs beside the test: fed, read from, told to stop, killed.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
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
  /// With a narrow output it holds but a page that is not read: then it waits.
  Process(const std::filesystem::path& folder, const std::string& command,
          bool has_narrow_output = false) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    if (has_narrow_output) {
      EXPECT_GT(::fcntl(out[1], F_SETPIPE_SZ, 4096), 0);
    }
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

  /// The next line of its output, without the end; nothing at the end, or after a minute.
  std::optional<std::string> line() {
    while (true) {
      const auto end = buffer_.find('\n');
      if (end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return line;
      }
      if (!read_more(patience)) return std::nullopt;
    }
  }

  /// All that is left of its output.
  std::string rest() {
    while (read_more(patience)) {
    }
    return std::exchange(buffer_, {});
  }

  /// Goes on reading until that many bytes have come, or its output ends; they are part of the
  /// rest.
  void read_bytes(std::size_t count) {
    while (buffer_.size() < count && read_more(patience)) {
    }
  }

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
  static constexpr int patience = 60'000;  // milliseconds: only a test that fails waits so long

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

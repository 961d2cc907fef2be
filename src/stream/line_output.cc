#include "stream/line_output.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace kalstream {

LineOutput::LineOutput(int out, const Signals& signals, System& system)
    : system_(system), out_(out), signals_(signals) {
  end_line();
}

// A disk that was full, or a kill, may have left the beginning of an answer in the file: the next
// one begins on a line of its own.
void LineOutput::end_line() {
  struct stat now = {};
  is_file_ = system_.status(out_, now) == 0 && S_ISREG(now.st_mode);
  if (!is_file_ || now.st_size == 0) return;
  const Descriptor file(system_, system_.open("/proc/self/fd/" + std::to_string(out_), O_RDONLY));
  char last = 0;
  const auto before_end = static_cast<std::uint64_t>(now.st_size - 1);
  if (file && system_.read_at(file.get(), &last, 1, before_end) == 1 && last != '\n') text_ = "\n";
}

bool LineOutput::flush(const std::function<void()>& meanwhile) {
  constexpr std::size_t at_once = 4096;  // of a pipe that has room for any, there is for so much
  std::size_t done = 0;
  while (done < text_.size() && (is_file_ || wait_for_reader(meanwhile))) {
    const ssize_t n =
        system_.write(out_, text_.data() + done, std::min(text_.size() - done, at_once));
    if (n < 0 && errno != EINTR && errno != EAGAIN)
      throw std::runtime_error(std::string("the answers cannot be written: ") +
                               std::strerror(errno));
    if (n < 0 && signals_.stop()) break;
    done += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  }
  text_.erase(0, done);
  return text_.empty();
}

// To write would wait, too, but nothing could be done meanwhile. False: it is told to stop.
bool LineOutput::wait_for_reader(const std::function<void()>& meanwhile) {
  constexpr int milliseconds = 50;
  std::array<pollfd, 2> of{pollfd{out_, POLLOUT, 0}, pollfd{signals_.descriptor(), POLLIN, 0}};
  std::size_t watched = of.size();
  while (system_.poll(std::span(of).first(watched), milliseconds) < 0 || of[0].revents == 0) {
    if (signals_.stop()) return false;
    if (of[1].revents != 0) watched = 1;  // that has been seen, and is not for here
    meanwhile();
  }
  return true;
}

}  // namespace kalstream

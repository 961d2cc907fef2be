#include "stream/line_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "core/archive.h"
#include "core/hash.h"

namespace kalstream {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 16;
constexpr std::uint64_t longest_stretch = 1024;
constexpr std::chrono::milliseconds look_again{100};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

bool is_regular(int descriptor) {
  struct stat now = {};
  return ::fstat(descriptor, &now) == 0 && S_ISREG(now.st_mode);
}

std::uint64_t sum_of(int descriptor, std::uint64_t from, std::uint64_t length) {
  std::array<char, longest_stretch> bytes;
  if (::pread(descriptor, bytes.data(), length, static_cast<off_t>(from)) !=
      static_cast<ssize_t>(length))
    return 0;
  return fnv1a(std::string_view(bytes.data(), length));
}

int open_file(const std::string& path) { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }

}  // namespace

LineSource::LineSource(int descriptor, int wake, std::size_t longest)
    : descriptor_(descriptor), wake_(wake), longest_(longest), is_file_(is_regular(descriptor)) {
  // Who opened it may have read some of it.
  if (is_file_) place_.offset = static_cast<std::uint64_t>(::lseek(descriptor, 0, SEEK_CUR));
}

LineSource::LineSource(std::string path, int wake, std::size_t longest)
    : path_(std::move(path)),
      descriptor_(open_file(path_)),
      wake_(wake),
      longest_(longest),
      is_file_(is_regular(descriptor_)) {
  if (descriptor_ < 0) fail(path_ + ": cannot open the file to follow");
}

LineSource::~LineSource() {
  if (!path_.empty() && descriptor_ >= 0) ::close(descriptor_);
}

LineSource::Event LineSource::next(std::chrono::milliseconds most) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + most;
  std::chrono::milliseconds left{0};  // at first what is there anyway
  while (!take_line()) {
    if (ended_) return Event::end;
    const bool at_once = left.count() == 0;
    const bool there = wait(left);
    left = std::max(std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()),
                    std::chrono::milliseconds(0));
    arrival_ = at_once ? asked_ : Clock::now();
    if (there) continue;
    if (left.count() == 0) return Event::idle;
    pollfd woken{wake_, POLLIN, 0};
    if (wake_ >= 0 && ::poll(&woken, 1, 0) > 0) return Event::idle;
  }
  asked_ = Clock::now();
  if (is_file_ && path_.empty()) arrival_ = asked_;
  return Event::line;
}

// A whole line out of the buffer; at the end of a stream what is left is one.
bool LineSource::take_line() {
  if (!left_over_.empty()) {
    line_ = std::exchange(left_over_, {});
    return true;
  }
  while (true) {
    const std::size_t end = buffer_.find('\n', scanned_);
    const bool whole = end != std::string::npos;
    const bool last = ended_ && !leaves_unfinished_ && at_ < buffer_.size();
    if (!whole && !last) {
      scanned_ = buffer_.size();
      if (scanned_ - at_ <= longest_) return false;
      // The reader of the line will refuse it for its length; the rest of it is passed over.
      if (!skipping_) line_.assign(buffer_, at_, longest_ + 1);
      skipping_ = true;
      place_.offset += buffer_.size() - at_;
      buffer_.clear();
      at_ = scanned_ = 0;
      return false;
    }
    const std::size_t length = (whole ? end : buffer_.size()) - at_;
    if (!skipping_) line_.assign(buffer_, at_, std::min(length, longest_ + 1));
    skipping_ = false;
    place_.offset += length + (whole ? 1 : 0);
    at_ += length + (whole ? 1 : 0);
    scanned_ = at_;
    if (at_ == buffer_.size()) {
      buffer_.clear();
      at_ = scanned_ = 0;
    }
    return true;
  }
}

// Waits until there is something to read and reads it. False if there is nothing yet.
bool LineSource::wait(std::chrono::milliseconds most) {
  if (path_.empty()) {
    std::array<pollfd, 2> of{pollfd{descriptor_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    const int n = ::poll(of.data(), wake_ < 0 ? 1 : 2, static_cast<int>(most.count()));
    if (n < 0 && errno != EINTR) fail("cannot wait for the stream");
    return n > 0 && of[0].revents != 0 && refill();
  }
  if (refill()) return true;
  if (is_replaced()) {
    reopen();
    return !left_over_.empty() || refill();
  }
  pollfd woken{wake_, POLLIN, 0};
  ::poll(&woken, wake_ < 0 ? 0 : 1, static_cast<int>(std::min(most, look_again).count()));
  return false;
}

bool LineSource::refill() {
  if (at_ > 0) {
    buffer_.erase(0, at_);
    scanned_ -= at_;
    at_ = 0;
  }
  const std::size_t size = buffer_.size();
  buffer_.resize(size + chunk);
  const ssize_t n = ::read(descriptor_, buffer_.data() + size, chunk);
  buffer_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  if (n < 0) fail((path_.empty() ? "the stream" : path_) + ": cannot be read");
  if (n == 0 && path_.empty()) ended_ = true;
  return n > 0 || ended_;
}

// Cut short, or another file has its name. (A name that is gone for a moment is neither.)
bool LineSource::is_replaced() const {
  struct stat open = {};
  struct stat named = {};
  if (::fstat(descriptor_, &open) != 0) return true;
  if (static_cast<std::uint64_t>(open.st_size) < place_.offset) return true;
  if (::stat(path_.c_str(), &named) != 0) return false;
  return named.st_ino != open.st_ino || named.st_dev != open.st_dev;
}

void LineSource::reopen() {
  struct stat old = {};
  const bool cut_short =
      ::fstat(descriptor_, &old) == 0 && static_cast<std::uint64_t>(old.st_size) < place_.offset;
  const int descriptor = open_file(path_);
  if (descriptor < 0) return;  // not yet; the old one has no more to say until then
  ::close(descriptor_);
  descriptor_ = descriptor;
  place_ = {};
  // What is left of a file that was renamed is a line that nobody will end any more.
  if (!cut_short && !skipping_) left_over_ = buffer_.substr(at_);
  buffer_.clear();
  at_ = scanned_ = 0;
  skipping_ = false;
}

void LineSource::exchange(Archive& archive) {
  if (!archive.reading() && is_file_) {
    const std::uint64_t length = std::min(place_.offset, longest_stretch);
    place_.head = {length, sum_of(descriptor_, 0, length)};
    place_.tail = {length, sum_of(descriptor_, place_.offset - length, length)};
  }
  archive.count(place_.offset);
  for (Stretch* stretch : {&place_.head, &place_.tail}) {
    if (stretch == &place_.tail && archive.format() < 3) break;
    archive.count(stretch->length, longest_stretch);
    archive.word(stretch->sum);
  }
  archive.require(place_.tail.length <= place_.offset);
}

bool LineSource::holds_place(int descriptor) const {
  struct stat now = {};
  const auto& [offset, head, tail] = place_;
  return ::fstat(descriptor, &now) == 0 && S_ISREG(now.st_mode) &&
         static_cast<std::uint64_t>(now.st_size) >= offset &&
         sum_of(descriptor, 0, head.length) == head.sum &&
         (tail.length == 0 || sum_of(descriptor, offset - tail.length, tail.length) == tail.sum);
}

// Beside a file that is followed: one whose name begins like its own, as rotation leaves it. What
// is left of it is read first; then the one that has its name now.
bool LineSource::find_rotated() {
  namespace fs = std::filesystem;
  if (path_.empty() || place_.offset == 0) return false;
  const fs::path name(path_);
  std::error_code ignored;
  for (const auto& entry :
       fs::directory_iterator(name.has_parent_path() ? name.parent_path() : ".", ignored)) {
    if (!entry.path().filename().string().starts_with(name.filename().string())) continue;
    const int descriptor = open_file(entry.path());
    if (descriptor < 0) continue;
    if (holds_place(descriptor)) {
      ::close(descriptor_);
      descriptor_ = descriptor;
      return true;
    }
    ::close(descriptor);
  }
  return false;
}

bool LineSource::go_on() {
  const bool same = (holds_place(descriptor_) || find_rotated()) &&
                    ::lseek(descriptor_, static_cast<off_t>(place_.offset), SEEK_SET) >= 0;
  if (!same) place_ = {};
  return same;
}

}  // namespace kalstream

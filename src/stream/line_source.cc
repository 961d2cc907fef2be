#include "stream/line_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

#include "core/hash.h"

namespace kalstream {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 16;
constexpr std::chrono::milliseconds look_again{100};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

bool is_regular(System& system, int descriptor, const std::string& name) {
  struct stat now = {};
  if (system.status(descriptor, now) != 0) fail(name + ": cannot be looked at");
  return S_ISREG(now.st_mode);
}

Descriptor open_file(System& system, const std::string& path) {
  return {system, system.open(path, O_RDONLY)};
}

}  // namespace

LineSource::LineSource(int descriptor, int wake, std::size_t longest, System& system)
    : system_(system),
      file_(system, -1),
      descriptor_(descriptor),
      wake_(wake),
      longest_(longest),
      is_file_(is_regular(system, descriptor, "the stream")) {
  if (!is_file_) return;
  const off_t at = system_.seek(descriptor, 0, SEEK_CUR);  // who opened it may have read some of it
  if (at < 0) fail("the stream: cannot be read");
  place_.offset = static_cast<std::uint64_t>(at);
}

LineSource::LineSource(std::string path, int wake, std::size_t longest, System& system)
    : system_(system),
      path_(std::move(path)),
      file_(open_file(system, path_)),
      descriptor_(file_.get()),
      wake_(wake),
      longest_(longest) {
  if (!file_) fail(path_ + ": cannot open the file to follow");
  is_file_ = is_regular(system, descriptor_, path_);
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
    asked_ = Clock::now();  // and there was nothing
    if (left.count() == 0) return Event::idle;
    pollfd woken{wake_, POLLIN, 0};
    if (wake_ >= 0 && system_.poll({&woken, 1}, 0) > 0) return Event::idle;
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
    const bool last = ended_ && at_ < buffer_.size();
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
    cut_ = whole ? 0 : length;
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
    const int n =
        system_.poll(std::span(of).first(wake_ < 0 ? 1 : 2), static_cast<int>(most.count()));
    if (n < 0 && errno != EINTR) fail("cannot wait for the stream");
    return n > 0 && of[0].revents != 0 && refill();
  }
  if (refill() || look_for_another()) return true;
  std::array<pollfd, 1> woken{pollfd{wake_, POLLIN, 0}};
  system_.poll(std::span(woken).first(wake_ < 0 ? 0 : 1),
               static_cast<int>(std::min(most, look_again).count()));
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
  const ssize_t n = system_.read(descriptor_, buffer_.data() + size, chunk);
  buffer_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return false;
  if (n < 0) fail((path_.empty() ? "the stream" : path_) + ": cannot be read");
  if (n == 0 && path_.empty()) ended_ = true;
  return n > 0 || ended_;
}

// Of a file that is followed: it was cut short, or another has its name, which is then begun. False
// if there is nothing to read from either. (A name that is gone for a moment, or cannot be seen, is
// neither; as long as the other one is empty, who writes may still be writing to the first.)
bool LineSource::look_for_another() {
  struct stat open = {};
  struct stat named = {};
  if (system_.status(descriptor_, open) != 0) return false;
  const bool cut_short = static_cast<std::uint64_t>(open.st_size) < place_.offset;
  const bool replaced = system_.status(path_, named) == 0 && named.st_size > 0 &&
                        (named.st_ino != open.st_ino || named.st_dev != open.st_dev);
  if (!cut_short && !replaced) return false;
  if (!cut_short && refill()) return true;  // written just before it was renamed
  Descriptor other = open_file(system_, cut_short ? path_ : rotated_after(open));
  if (!other) return false;  // not yet
  file_ = std::move(other);
  descriptor_ = file_.get();
  place_ = {};
  // What is left of a file that was renamed is a line that nobody will end any more.
  if (!cut_short && !skipping_) left_over_ = buffer_.substr(at_);
  buffer_.clear();
  at_ = scanned_ = 0;
  skipping_ = false;
  return !left_over_.empty() || refill();
}

// The file that was rotated next after this one, which others may have been since; the one that is
// followed if there is none. "log.2" comes before "log.1", "log-20260131" before "log-20260201".
std::string LineSource::rotated_after(const struct stat& open) const {
  const std::string folder = System::folder_of(path_);
  const std::string begin = path_.substr(path_.rfind('/') + 1);
  std::vector<std::string> names;
  system_.list(folder, names);
  std::map<std::pair<char, std::uint64_t>, std::string>
      rotated;  // by what is added, in their order
  auto self = rotated.end();
  for (const std::string& name : names) {
    std::uint64_t number = 0;
    const char* const last = name.data() + name.size();
    const char sign =
        name.starts_with(begin) && name.size() > begin.size() ? name[begin.size()] : 0;
    if (sign != '.' && sign != '-') continue;
    const auto end = std::from_chars(name.data() + begin.size() + 1, last, number);
    if (end.ec != std::errc() || end.ptr != last) continue;
    if (sign == '.') number = ~number;
    const auto place = rotated.emplace(std::pair(sign, number), folder + '/' + name).first;
    struct stat found = {};
    if (system_.link_status(place->second, found) == 0 && found.st_ino == open.st_ino &&
        found.st_dev == open.st_dev)
      self = place;
  }
  if (self == rotated.end()) return path_;
  const auto next = std::next(self);
  return next == rotated.end() || next->first.first != self->first.first ? path_ : next->second;
}

std::uint64_t LineSource::sum_of(int descriptor, std::uint64_t from, std::uint64_t length) const {
  std::array<char, FilePlace::Stretch::longest> bytes;
  const ssize_t n = system_.read_at(descriptor, bytes.data(), length, from);
  if (n < 0) fail((path_.empty() ? "the stream" : path_) + ": cannot be read");
  return fnv1a(std::string_view(bytes.data(), static_cast<std::size_t>(n)));
}

FilePlace LineSource::place() const {
  FilePlace place = place_;
  if (!is_file_) return place;
  const std::uint64_t length = std::min(place.offset, FilePlace::Stretch::longest);
  place.head = {length, sum_of(descriptor_, 0, length)};
  place.tail = {length, sum_of(descriptor_, place.offset - length, length)};
  return place;
}

bool LineSource::holds_place(int descriptor) const {
  struct stat now = {};
  const auto& [offset, head, tail] = place_;
  if (system_.status(descriptor, now) != 0) fail(path_ + ": cannot be looked at");
  return S_ISREG(now.st_mode) && static_cast<std::uint64_t>(now.st_size) >= offset &&
         sum_of(descriptor, 0, head.length) == head.sum &&
         (tail.length == 0 || sum_of(descriptor, offset - tail.length, tail.length) == tail.sum);
}

// Beside a file that is followed: one whose name begins like its own, as rotation leaves it. What
// is left of it is read first; then the one that has its name now.
bool LineSource::find_rotated() {
  if (path_.empty() || place_.offset == 0) return false;
  const std::string folder = System::folder_of(path_);
  const std::string begin = path_.substr(path_.rfind('/') + 1);
  std::vector<std::string> names;
  if (system_.list(folder, names) != 0) fail(folder + ": cannot be looked through");
  for (const std::string& name : names) {
    if (!name.starts_with(begin)) continue;
    Descriptor file = open_file(system_, folder + '/' + name);
    if (!file && errno != ENOENT && errno != EACCES) fail(name + ": cannot be opened");
    if (!file || !holds_place(file.get())) continue;
    file_ = std::move(file);
    descriptor_ = file_.get();
    return true;
  }
  return false;
}

bool LineSource::go_on() {
  const bool same = holds_place(descriptor_) || find_rotated();
  if (same && system_.seek(descriptor_, static_cast<off_t>(place_.offset), SEEK_SET) < 0)
    fail((path_.empty() ? "the stream" : path_) + ": cannot be read");
  if (!same) place_ = {};
  char last = '\n';
  if (place_.offset > 0 && is_file_ &&
      system_.read_at(descriptor_, &last, 1, place_.offset - 1) < 0)
    fail((path_.empty() ? "the stream" : path_) + ": cannot be read");
  within_line_ = last != '\n';
  return same;
}

}  // namespace kalstream

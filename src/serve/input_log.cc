#include "serve/input_log.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace kalstream::serve {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view prefix = "inputs-";

// Before the key and the body of an entry.
struct Head {
  std::uint32_t sum = 0;  // of all that follows
  std::uint32_t kind = 0;
  std::uint64_t number = 0;
  std::int64_t at = 0;
  std::uint64_t key = 0;   // bytes of it
  std::uint64_t body = 0;  // the same
};
static_assert(sizeof(Head) == 40);

std::uint32_t sum_of(const Head& head, std::string_view key, std::string_view body) {
  const auto add = [](uLong sum, const void* at, std::size_t n) -> uLong {
    if (n == 0) return sum;  // zlib takes a null pointer for the beginning of another sum
    return crc32_z(sum, static_cast<const Bytef*>(at), n);
  };
  uLong sum = add(0, &head.kind, sizeof(Head) - sizeof(head.sum));
  sum = add(sum, key.data(), key.size());
  return static_cast<std::uint32_t>(add(sum, body.data(), body.size()));
}

}  // namespace

InputLog::InputLog(std::string folder, bool sync, System& system)
    : system_(system), folder_(std::move(folder)), sync_(sync), file_(system, -1) {}

void InputLog::fail(const std::string& what) const {
  throw std::runtime_error(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

std::string InputLog::path_of(std::uint64_t first) const {
  return fmt::format("{}/{}{:020}", folder_, prefix, first);
}

// By their first entry, in order.
std::vector<std::uint64_t> InputLog::files() {
  std::vector<std::string> names;
  path_ = folder_;
  if (system_.list(folder_, names) != 0) fail("cannot be listed");
  std::vector<std::uint64_t> firsts;
  for (const std::string& name : names) {
    std::uint64_t first = 0;
    if (!name.starts_with(prefix)) continue;
    const char* const end = name.data() + name.size();
    if (std::from_chars(name.data() + prefix.size(), end, first).ptr == end)
      firsts.push_back(first);
  }
  std::ranges::sort(firsts);
  return firsts;
}

std::vector<std::string> InputLog::replay(std::uint64_t from, const Take& take) {
  std::vector<std::string> remarks;
  const std::vector<std::uint64_t> firsts = files();
  next_ = from;
  for (std::size_t k = 0; k < firsts.size(); ++k) {
    const bool is_last = k + 1 == firsts.size();
    if (!is_last && firsts[k + 1] <= from) continue;
    if (firsts[k] > next_)
      remarks.push_back(fmt::format("{}: inputs {} to {} are missing, and what they taught",
                                    folder_, next_, firsts[k] - 1));
    if (!replay_file(firsts[k], is_last, from, take, remarks)) break;
  }
  file_.close();
  half_written_ = rolls_ = false;
  return remarks;
}

bool InputLog::replay_file(std::uint64_t first, bool is_last, std::uint64_t from, const Take& take,
                           std::vector<std::string>& remarks) {
  path_ = path_of(first);
  const Descriptor file(system_, system_.open(path_, O_RDONLY));
  if (!file) fail("cannot be opened");
  struct stat found = {};
  if (system_.status(file.get(), found) != 0) fail("cannot be read");
  const auto size = static_cast<std::uint64_t>(found.st_size);
  std::uint64_t at = 0;
  std::uint64_t number = first;
  while (at < size) {
    Head head;
    const ssize_t n = system_.read_at(file.get(), &head, sizeof(head), at);
    if (n < 0) fail("cannot be read");
    const bool fits = static_cast<std::size_t>(n) == sizeof(head) && head.key <= size &&
                      head.body <= size && at + sizeof(head) + head.key + head.body <= size;
    bool sound = false;
    if (fits) {
      const std::size_t rest = head.key + head.body;
      buffer_.resize(rest);
      const ssize_t m = system_.read_at(file.get(), buffer_.data(), rest, at + sizeof(head));
      if (m < 0) fail("cannot be read");
      const std::string_view all(buffer_);
      sound = static_cast<std::size_t>(m) == rest && head.number == number &&
              head.sum == sum_of(head, all.substr(0, head.key), all.substr(head.key));
    }
    if (!sound) break;
    at += sizeof(head) + buffer_.size();
    ++number;
    next_ = std::max(next_, number);
    if (head.number < from) continue;
    const std::string body = std::move(buffer_);
    const std::string_view all(body);
    take({.kind = static_cast<Input::Kind>(head.kind),
          .at = head.at,
          .key = all.substr(0, head.key),
          .body = all.substr(head.key)});
  }
  if (at == size) return true;
  if (!is_last)
    throw std::runtime_error(fmt::format(
        "{}: entry {} is damaged, and others follow; put a copy of the file there, or remove it: "
        "then what is in it is lost",
        path_, number));
  remarks.push_back(
      fmt::format("{}: the last entry, {}, is not whole and was never acknowledged: it is left out",
                  path_, number));
  const Descriptor again(system_, system_.open(path_, O_WRONLY));
  if (!again || system_.truncate(again.get(), static_cast<off_t>(at)) != 0) fail("cannot be cut");
  return false;
}

// An empty file, or one that ended before, is gone on with by nobody: each start begins a file.
void InputLog::open_file() {
  path_ = path_of(next_);
  file_ = Descriptor(system_, system_.open(path_, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  if (!file_) fail("cannot be opened");
  bytes_ = 0;
  half_written_ = false;
  if (!sync_) return;
  const Descriptor folder(system_, system_.open(folder_, O_RDONLY | O_DIRECTORY));
  if (!folder || system_.sync(folder.get()) != 0) fail("cannot be made to last");
}

// Back to the last whole entry.
void InputLog::cut() {
  const auto end = static_cast<off_t>(bytes_);
  if (system_.truncate(file_.get(), end) != 0 || system_.seek(file_.get(), end, SEEK_SET) != end)
    fail("cannot be cut");
  half_written_ = false;
}

void InputLog::append(const Input& input) {
  constexpr std::size_t worth_no_copy = std::size_t{64} << 10;
  if (half_written_) cut();
  if (rolls_) file_.close();
  rolls_ = false;
  if (!file_) open_file();
  Head head{.kind = static_cast<std::uint32_t>(input.kind),
            .number = next_,
            .at = input.at,
            .key = input.key.size(),
            .body = input.body.size()};
  head.sum = sum_of(head, input.key, input.body);
  buffer_.assign(reinterpret_cast<const char*>(&head), sizeof(head));
  buffer_ += input.key;
  const bool apart = input.body.size() >= worth_no_copy;
  if (!apart) buffer_ += input.body;
  half_written_ = true;
  if (!system_.write_all(file_.get(), buffer_) ||
      (apart && !system_.write_all(file_.get(), input.body)) ||
      (sync_ && system_.sync(file_.get()) != 0)) {
    const int why = errno;
    try {
      cut();
    } catch (const std::runtime_error&) {  // before the next one, then
    }
    errno = why;
    fail("cannot be written");
  }
  half_written_ = false;
  bytes_ += sizeof(head) + input.key.size() + input.body.size();
  ++next_;
}

void InputLog::remove_before(std::uint64_t number) {
  const std::string path = path_;
  const std::vector<std::uint64_t> firsts = files();
  for (std::size_t k = 0; k + 1 < firsts.size() && firsts[k + 1] <= number; ++k) {
    path_ = path_of(firsts[k]);
    if (system_.remove(path_) != 0 && errno != ENOENT) fail("cannot be removed");
  }
  path_ = path;
}

}  // namespace kalstream::serve

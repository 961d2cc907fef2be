#include "serve/input_log.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "io/atomic_file.h"

namespace kalstream::serve {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view prefix = "inputs-";

// Before the key and the body of an entry.
struct Head {
  std::uint32_t sum = 0;       // of the rest of the head
  std::uint32_t body_sum = 0;  // of key and body
  std::uint64_t number = 0;
  std::int64_t at = 0;
  std::uint32_t kind = 0;
  std::uint32_t key = 0;   // bytes of it
  std::uint64_t body = 0;  // the same
};
static_assert(sizeof(Head) == 40);

constexpr std::uint64_t largest_body = std::uint64_t{1} << 40;  // of a body that is there
constexpr std::uint64_t nowhere = std::numeric_limits<std::uint64_t>::max();

std::uint32_t sum_of(std::string_view first, std::string_view second = {}) {
  uLong sum = crc32_z(0, nullptr, 0);
  for (const std::string_view part : {first, second})
    if (!part.empty())  // zlib takes a null pointer for the beginning of another sum
      sum = crc32_z(sum, reinterpret_cast<const Bytef*>(part.data()), part.size());
  return static_cast<std::uint32_t>(sum);
}

std::uint32_t sum_of(const Head& head) {
  return sum_of({reinterpret_cast<const char*>(&head.body_sum), sizeof(Head) - sizeof(head.sum)});
}

}  // namespace

struct InputLog::Entry {
  Head head;
  std::string content;  // key and body

  std::uint64_t size() const { return sizeof(Head) + head.key + head.body; }
};

enum class InputLog::Look : std::uint8_t {
  whole,
  damaged,     ///< its head is sound, its content is not
  unfinished,  ///< the file ends within it
  nothing,     ///< there is no sound head
};

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
  const std::vector<std::uint64_t> firsts = files();
  next_ = from;
  damage_.reset();
  remarks_.clear();
  for (std::size_t k = 0; k < firsts.size(); ++k) {
    const std::uint64_t bound = k + 1 == firsts.size() ? nowhere : firsts[k + 1];
    if (bound <= from) continue;
    pass_over(firsts[k]);
    replay_file(firsts[k], bound, take);
  }
  file_.close();
  half_written_ = rolls_ = false;
  return std::move(remarks_);
}

void InputLog::replay_file(std::uint64_t first, std::uint64_t bound, const Take& take) {
  path_ = path_of(first);
  const Descriptor file(system_, system_.open(path_, O_RDONLY));
  struct stat found = {};
  if (!file || system_.status(file.get(), found) != 0) fail("cannot be read");
  const Replayed in{first, bound, file, static_cast<std::uint64_t>(found.st_size)};
  std::uint64_t number = first;  // of the entry that should come
  Entry entry;
  for (std::uint64_t at = 0; at < in.size;) {
    const Look look = look_at(in, at, entry);
    if (look == Look::unfinished) {
      if (bound == nowhere && number >= next_)
        remarks_.push_back(fmt::format(
            "{}: the file ends within input {}, which is left out; an input is answered only once "
            "all of it is written",
            path_, number));
      break;
    }
    if (look != Look::whole && !damage_) damage_ = {.path = path_, .at = at};
    if (look == Look::nothing) {
      at = find_entry(in, at + 1, number);
      damage_->is_open = at == nowhere;
      continue;
    }
    at += entry.size();
    number = entry.head.number + 1;
    if (look == Look::damaged || entry.head.number < next_) continue;
    pass_over(entry.head.number);
    next_ = number;
    const std::string_view all(entry.content);
    take({.kind = static_cast<Input::Kind>(entry.head.kind),
          .at = entry.head.at,
          .key = all.substr(0, entry.head.key),
          .body = all.substr(entry.head.key)});
  }
  if (bound != nowhere || !damage_) return;
  pass_over(damage_->is_open ? std::max(number, next_) + 1 : number);
}

InputLog::Look InputLog::look_at(const Replayed& in, std::uint64_t at, Entry& entry) {
  const auto read = [&](void* to, std::size_t n, std::uint64_t from) {
    const ssize_t m = system_.read_at(in.file.get(), to, n, from);
    if (m < 0) fail("cannot be read");
    return static_cast<std::size_t>(m) == n;
  };
  Head& head = entry.head;
  if (!read(&head, sizeof(head), at)) return Look::unfinished;
  const bool is_head = head.sum == sum_of(head) && head.body <= largest_body &&
                       head.number >= in.first && head.number < in.bound;
  if (!is_head) return Look::nothing;
  if (in.size - at < entry.size()) return Look::unfinished;
  entry.content.resize(head.key + head.body);
  const bool sound = read(entry.content.data(), entry.content.size(), at + sizeof(head)) &&
                     head.body_sum == sum_of(entry.content);
  return sound ? Look::whole : Look::damaged;
}

// The next whole entry of at least this number from byte `at` on; nowhere: there is none.
std::uint64_t InputLog::find_entry(const Replayed& in, std::uint64_t at, std::uint64_t least) {
  constexpr std::size_t window = std::size_t{1} << 20;
  Entry entry;
  for (; at + sizeof(Head) <= in.size; at += window - sizeof(Head) + 1) {
    buffer_.resize(window);
    const ssize_t n = system_.read_at(in.file.get(), buffer_.data(), window, at);
    if (n < 0) fail("cannot be read");
    for (std::size_t k = 0; k + sizeof(Head) <= static_cast<std::size_t>(n); ++k) {
      std::memcpy(&entry.head, buffer_.data() + k, sizeof(Head));
      const bool is_likely = entry.head.number >= least && entry.head.number - least < in.size;
      if (is_likely && look_at(in, at + k, entry) == Look::whole) return at + k;
    }
  }
  return nowhere;
}

// The next entry that should come is `until`; what was expected before it is missing.
void InputLog::pass_over(std::uint64_t until) {
  const auto damage = std::exchange(damage_, std::nullopt);
  if (until <= next_) return;
  const bool is_one = next_ + 1 == until;
  std::string which = is_one ? fmt::format("input {} is", next_)
                             : fmt::format("inputs {} to {} are", next_, until - 1);
  if (damage && damage->is_open) which = fmt::format("input {} and all behind it are", next_);
  next_ = until;
  if (!damage) {
    remarks_.push_back(fmt::format("{}: {} missing, and not learnt", folder_, which));
    return;
  }
  const std::string kept = keep_damaged(damage->path, system_);
  remarks_.push_back(fmt::format(
      "{}: {} damaged (byte {}) and not learnt; the file is kept as {}: what it holds is text (see "
      "it with strings), and can be sent again",
      damage->path, which, damage->at, kept));
}

// Each start begins a file. One that is there already has no whole entry, but maybe part of one.
void InputLog::open_file() {
  path_ = path_of(next_);
  struct stat found = {};
  if (system_.link_status(path_, found) == 0) {
    if (found.st_size > 0) keep_damaged(path_, system_);
    if (system_.remove(path_) != 0) fail("cannot be replaced");
  }
  file_ = Descriptor(system_, system_.open(path_, O_WRONLY | O_CREAT | O_EXCL, 0644));
  if (!file_) fail("cannot be opened");
  bytes_ = 0;
  half_written_ = false;
  if (!sync_) return;
  const Descriptor folder(system_, system_.open(folder_, O_RDONLY | O_DIRECTORY));
  if (folder && system_.sync(folder.get()) == 0) return;
  file_.close();
  fail("cannot be made to last");
}

// Back to the last whole entry.
void InputLog::cut() {
  const auto end = static_cast<off_t>(bytes_);
  if (system_.truncate(file_.get(), end) != 0 || system_.seek(file_.get(), end, SEEK_SET) != end ||
      (sync_ && system_.sync(file_.get()) != 0))
    fail("cannot be cut");
  half_written_ = false;
}

void InputLog::append(const Input& input) {
  constexpr std::size_t worth_no_copy = std::size_t{64} << 10;
  if (half_written_) cut();
  if (rolls_) file_.close();
  rolls_ = false;
  if (!file_) open_file();
  Head head{.body_sum = sum_of(input.key, input.body),
            .number = next_,
            .at = input.at,
            .kind = static_cast<std::uint32_t>(input.kind),
            .key = static_cast<std::uint32_t>(input.key.size()),
            .body = input.body.size()};
  head.sum = sum_of(head);
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

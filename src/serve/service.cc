#include "serve/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <optional>

#include "serve/json_text.h"
#include "serve/stream_folder.h"

namespace kalstream::serve {
namespace {

std::string made(const std::string& folder, System& system) {
  make_folder(folder, system);
  make_folder(folder + "/streams", system);
  return folder;
}

}  // namespace

std::string Boards::streams_json(const std::string& after, std::size_t limit,
                                 std::size_t bytes) const {
  const auto all = boards();
  auto next = std::ranges::upper_bound(all, after, {}, [](const auto& b) { return b->name(); });
  std::string to = fmt::format("{{\"total\":{},\"streams\":[", all.size());
  std::optional<std::string> last;
  for (; next != all.end() && limit > 0 && (!last || to.size() < bytes); ++next, --limit) {
    append_comma(to);
    to += (*next)->stream_json();
    last = (*next)->name();
  }
  to += ']';
  append_field(to, "next", next == all.end() ? std::nullopt : last);
  return to + '}';
}

Service::Service(ServiceOptions options, System& system)
    : system_(system),
      options_(std::move(options)),
      lock_(made(options_.folder, system) + "/lock", system),
      points_(options_.points),
      workers_(workers_for(options_.threads, options_.threads)),
      threads_(std::make_unique<WorkThreads>(options_.threads)) {
  open_all();
}

// One that cannot be opened is in nobody's way.
void Service::open_all() {
  const std::string all = options_.folder + "/streams";
  std::vector<std::string> names;
  if (system_.list(all, names) != 0) throw std::runtime_error(all + ": cannot be listed");
  std::string others;
  for (const std::string& name : names)
    if (!open_one(name)) others += (others.empty() ? "" : ", ") + name;
  if (!others.empty())
    options_.say(all + ": left alone, since they are no streams of this server: " + others);
}

// False: it is something else.
bool Service::open_one(const std::string& folder_name) {
  const std::string folder = options_.folder + "/streams/" + folder_name;
  const auto name = name_of(folder_name);
  struct stat found = {};
  const bool is_folder = system_.link_status(folder, found) == 0 && S_ISDIR(found.st_mode);
  if (!is_folder || (!name && !is_for_removal(folder_name))) return false;
  Stream stream;
  try {
    if (!name) return remove_folder(folder, system_).empty();
    if (is_unfinished(folder, system_)) return remove_folder(folder, system_).empty();
    Description description = read_description(folder, system_);
    stream = add(*name, std::move(description.settings), description.created);
  } catch (const std::exception& error) {
    if (!name) return false;
    add(*name, options_.defaults, 0)->be_damaged(error.what());
    return true;
  }
  ++opening_;
  stream->open(/*is_new=*/false, [this](const Refusal*) { --opening_; });
  return true;
}

Service::~Service() { threads_.reset(); }

std::string Service::folder_of(const std::string& name) const {
  return options_.folder + "/streams/" + in_hex(name);
}

Service::Stream Service::add(const std::string& name, StreamSettings settings,
                             std::int64_t created) {
  auto stream = std::make_shared<ServedStream>(
      name, std::move(settings), created, folder_of(name),
      StreamSurroundings{options_, system_, *threads_, workers_, points_, commits_, memory_used_});
  streams_[name] = stream;
  return stream;
}

// ---- By name.

std::vector<Service::Stream> Service::streams() const {
  const std::lock_guard lock(mutex_);
  std::vector<Stream> all;
  for (const auto& [name, stream] : streams_) all.push_back(stream);
  return all;
}

std::vector<std::shared_ptr<const Board>> Service::boards() const {
  std::vector<std::shared_ptr<const Board>> all;
  for (const Stream& stream : streams()) all.emplace_back(stream, &stream->board());
  return all;
}

std::shared_ptr<const Board> Service::board(const std::string& name) const {
  const Stream stream = find(name);
  if (!stream) return nullptr;
  return {stream, &stream->board()};
}

Service::Stream Service::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(name);
  return found == streams_.end() ? nullptr : found->second;
}

void Service::make(const std::string& name, StreamSettings settings, ServedStream::Done done) {
  if (settings.budget_us > 0)
    throw std::invalid_argument(
        "\"budget_us\" depends on the machine, and a stream has to go on elsewhere; give "
        "\"experts\"");
  if (settings.jobs > 1)
    throw std::invalid_argument("\"jobs\": the threads of a server are shared by all its streams");
  engine_options(settings, [](const std::string&) {});  // complains
  const std::string options = to_json(settings);
  std::unique_lock lock(mutex_);
  if (leaving_.contains(name))
    throw Refusal(409, "leaving",
                  "the stream of this name is being deleted; try again in a moment");
  if (const auto found = streams_.find(name); found != streams_.end()) {
    const Stream stream = found->second;
    lock.unlock();
    if (stream->is_damaged())
      throw Refusal(409, "damaged", "there is a damaged stream of this name: " + stream->failure());
    const std::string there = to_json(stream->settings());
    if (there != options)
      throw Refusal(409, "other_options",
                    "there is a stream of this name with other options: " + there);
    return done(nullptr);
  }
  if (streams_.size() >= options_.max_streams)
    throw Refusal(507, "too_many_streams",
                  fmt::format("there are {} streams, and there may be no more; delete some, or "
                              "start the server with a larger --max-streams",
                              streams_.size()));
  if (const std::string folder = folder_of(name); !is_free(folder, system_))
    throw Refusal(409, "in_the_way",
                  folder + ": is there, and is no stream of this server; move it away");
  const Stream stream = add(name, std::move(settings), milliseconds_now());
  stream->open(/*is_new=*/true, [this, name, done = std::move(done)](const Refusal* refusal) {
    if (refusal != nullptr) forget(name);
    done(refusal);
  });
}

Service::Stream Service::find_or_make(const std::string& name) {
  if (Stream stream = find(name)) return stream;
  make(name, options_.defaults, [](const Refusal*) {});
  return find(name);
}

void Service::forget(const std::string& name) {
  const std::lock_guard lock(mutex_);
  streams_.erase(name);
  leaving_.erase(name);
}

void Service::remove(const std::string& name, ServedStream::Done done) {
  const Stream stream = find(name);
  if (!stream) throw Refusal(404, "not_found", "there is no stream of this name");
  {
    const std::lock_guard lock(mutex_);
    if (!leaving_.emplace(name, true).second)
      throw Refusal(409, "leaving", "the stream is being deleted already");
    streams_.erase(name);
  }
  stream->remove([this, name, stream, done = std::move(done)](const Refusal* refusal) {
    {
      const std::lock_guard lock(mutex_);
      leaving_.erase(name);
      if (refusal != nullptr) streams_[name] = stream;  // it is still there
    }
    done(refusal);
  });
}

// ---- All of them.

void Service::tick(bool a_second_has_passed) {
  for (const Stream& stream : streams()) stream->tick(a_second_has_passed);
}

void Service::ask_for_checkpoints() {
  for (const Stream& stream : streams()) stream->ask_for_checkpoint();
}

void Service::stop() {
  std::mutex mutex;
  std::condition_variable changed;
  const auto all = streams();
  std::size_t left = all.size();
  for (const Stream& stream : all)
    stream->close([&](const Refusal*) {
      const std::lock_guard lock(mutex);
      --left;
      changed.notify_all();
    });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return left == 0; });
}

}  // namespace kalstream::serve

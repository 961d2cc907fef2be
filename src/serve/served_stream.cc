#include "serve/served_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/envelope.h"
#include "kalstream/snapshot.h"
#include "learner/footprint.h"
#include "schema/dataset.h"
#include "schema/rules.h"
#include "serve/served_parts.h"
#include "serve/stream_folder.h"
#include "stores/file_store.h"
#include "stores/folder_store.h"

namespace kalstream::serve {
namespace {

using namespace std::chrono_literals;

constexpr int most_commits = 4;  // at a time: each has a thread
constexpr std::uint64_t longest_log = std::uint64_t{256} << 20;

/// A learner that would take more memory than there is left is refused before it is made.
EngineOptions limited(EngineOptions options, const StreamSurroundings& around) {
  const std::uint64_t memory = around.options.memory;
  options.max_models = around.options.max_models;
  options.memory = memory;
  options.recipe = [make = std::move(options.recipe), memory, &used = around.memory_used](
                       std::size_t inputs, std::size_t outputs) {
    Recipe recipe = make(inputs, outputs);
    recipe.options.validate();
    const double needed = footprint(recipe.options).bytes;
    const auto left = static_cast<double>(memory - std::min<std::uint64_t>(memory, used));
    if (memory != ModelLimits::none && needed > left)
      throw std::invalid_argument(
          fmt::format("the learner would take {:.0f} MiB, and {:.0f} MiB are left of --memory; "
                      "choose a smaller one, delete streams, or allow for more",
                      needed / 0x1p20, left / 0x1p20));
    return recipe;
  };
  return options;
}

std::unique_ptr<StateStore> open_store(const StreamSettings& settings, const std::string& folder,
                                       System& system) {
  if (settings.fields.key.empty())
    return std::make_unique<FileStore>(folder + "/state.kal", system);
  return std::make_unique<FolderStore>(folder + "/models", system);
}

}  // namespace

ServedStream::Parts::Parts(ServedStream& stream, const std::function<void(const std::string&)>& say)
    : log(stream.folder_, stream.around_.options.sync, stream.around_.system),
      source(stream.name()),
      position{source.name()},
      monitor({.say = say, .observer = &stream}, source, position),
      store(open_store(stream.settings_, stream.folder_, stream.around_.system)),
      engine(limited(engine_options(stream.settings_, say), stream.around_), store.get(),
             {&stream, &monitor}),
      session(engine, position, Session::Header::door),
      checkpoints(source, engine, *store, stream.around_.options.cadence) {
  source.board = [this, &board = stream.board_] { return board.state(ends, board_is_kept); };
}

void ServedStream::Parts::note_checkpoint(std::uint64_t entry) {
  kept.push_front(entry);
  kept.resize(std::min<std::size_t>(kept.size(), store->commits_to_previous() + 1));
  log.remove_before(kept.back());
}

ServedStream::ServedStream(std::string name, StreamSettings settings, std::int64_t created,
                           std::string folder, const StreamSurroundings& surroundings)
    : settings_(std::move(settings)),
      created_(created),
      folder_(std::move(folder)),
      around_(surroundings),
      board_(std::move(name), settings_, created, around_.options.board, around_.points),
      strand_(std::make_shared<Strand>(around_.threads)) {}

ServedStream::~ServedStream() = default;

std::string ServedStream::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

// ---- What is asked, in its order.

void ServedStream::run(Done done, std::function<void()> job) {
  strand_->post(
      [self = shared_from_this(), done = std::move(done), job = std::move(job)](Clock::time_point) {
        try {
          job();
          done(nullptr);
        } catch (const Refusal& refusal) {
          done(&refusal);
        } catch (const std::exception& error) {
          const Refusal refusal(500, "failed", error.what());
          done(&refusal);
        }
        return true;
      });
}

void ServedStream::open(bool is_new, Done done) {
  run(std::move(done), [this, is_new] {
    try {
      if (is_new) {
        make_folder(folder_, around_.system);
        write_description(folder_, name(), created_, settings_, around_.system);
        if (around_.options.sync) sync_folder(System::folder_of(folder_), around_.system);
      }
      start();
    } catch (const std::exception& error) {
      fail(error.what());
      if (is_new) remove_what_was_made();
      throw;
    }
  });
}

// It could not be made, and nobody has been told of it: what was asked of it meanwhile is refused.
void ServedStream::remove_what_was_made() {
  is_damaged_ = true;
  try {
    tell_left(remove_folder(folder_, around_.system));
  } catch (const std::exception& error) {
    say(error.what());
  }
}

void ServedStream::be_damaged(const std::string& why) {
  is_damaged_ = true;
  fail(why);
}

bool ServedStream::is_cheap(const Input& input) const {
  return !around_.options.sync && input.body.size() < 4096 &&
         work_per_sample_ * static_cast<float>(most_samples(input)) < cheap;
}

void ServedStream::take(Input input, std::shared_ptr<const void> owner, Answered answered) {
  auto work = std::make_shared<Work>();
  const bool at_once = is_cheap(input);
  work->input = std::move(input);
  work->owner = std::move(owner);
  work->answered = std::move(answered);
  auto job = [self = shared_from_this(), work](Clock::time_point until) {
    return self->step(*work, until);
  };
  if (at_once)
    strand_->run_or_post(std::move(job));
  else
    strand_->post(std::move(job));
}

void ServedStream::put_model(std::string key, std::string state, Done done) {
  run(std::move(done), [this, key = std::move(key), state = std::move(state)] {
    require_open();
    Parts& p = *parts_;
    if (!p.engine.settled())
      throw Refusal(409, "not_settled",
                    "the stream has no fields yet: a sample has to come before a snapshot");
    std::optional<Bytes> before;
    try {
      before = p.engine.state_of(key);
    } catch (const std::exception&) {  // what cannot be read may be replaced
    }
    try {
      p.engine.put_state(key, as_bytes(state));
    } catch (const SnapshotError& error) {
      throw Refusal(422, "bad_snapshot", error.what());
    }
    try {
      p.log.append({.kind = Input::Kind::put, .at = milliseconds_now(), .key = key, .body = state});
    } catch (const std::exception& error) {  // it must not be there, as it would not last
      before ? p.engine.put_state(key, *before) : static_cast<void>(p.engine.forget(key));
      throw Refusal(503, "not_stored", error.what());
    }
    p.source.entry = p.log.next();
    see_engine();
  });
}

void ServedStream::forget_model(std::string key, Done done) {
  run(std::move(done), [this, key = std::move(key)] {
    require_open();
    Parts& p = *parts_;
    if (!p.engine.knows(key)) throw Refusal(404, "no_model", "there is no model of this key");
    try {
      p.log.append({.kind = Input::Kind::forget, .at = milliseconds_now(), .key = key});
    } catch (const std::exception& error) {
      throw Refusal(503, "not_stored", error.what());
    }
    p.source.entry = p.log.next();
    p.engine.forget(key);
    board_.forget(key);
    see_engine();
  });
}

void ServedStream::snapshot(std::string key, Told told) {
  auto found = std::make_shared<std::optional<Bytes>>();
  run([found, told = std::move(told)](const Refusal* refusal) { told(std::move(*found), refusal); },
      [this, found, key = std::move(key)] {
        require_open();
        *found = parts_->engine.state_of(key);
        if (!*found) throw Refusal(404, "no_model", "there is no model of this key");
      });
}

void ServedStream::foresee(std::string key, std::size_t horizon, std::optional<Input> inputs,
                           std::shared_ptr<const void> owner, Foreseen foreseen) {
  auto found = std::make_shared<Foresight>();
  auto outputs = std::make_shared<std::size_t>(1);
  run([=, foreseen =
              std::move(foreseen)](const Refusal* refusal) { foreseen(*found, *outputs, refusal); },
      [this, found, outputs, horizon, inputs, owner = std::move(owner), key = std::move(key)] {
        require_open();
        std::vector<Record> records;
        if (inputs) {
          BodyRecords source(name());
          source.open(*inputs, Clock::now());
          std::vector<Arrival> arrivals;
          while (source.next(arrivals, 1, 0ms, nullptr) != Source::Event::end) {
            const Arrival& row = arrivals.front();
            if (row.is_problem)
              throw Refusal(422, "bad_inputs",
                            RecordPosition{name(), row.line}.text() + ": " + row.problem);
            if (records.size() < horizon) records.push_back(row.record);
          }
        }
        std::optional<Foresight> said;
        try {
          said = parts_->engine.foresee(key, horizon, records);
        } catch (const std::invalid_argument& error) {
          throw Refusal(422, "bad_inputs", error.what());
        }
        if (!said) throw Refusal(404, "no_model", "there is no model of this key");
        *outputs = parts_->engine.schema().outputs();
        *found = std::move(*said);
      });
}

void ServedStream::reset(Done done) {
  run(std::move(done), [this] {
    require_sound();
    mark_for_reset(folder_, around_.system);
    stop_parts(/*with_checkpoint=*/false);
    try {
      start();
    } catch (const std::exception& error) {  // it is, before anything else is done with it
      fail(error.what());
      throw Refusal(503, "unavailable",
                    "the stream will be reset once that can be finished: " + failure());
    }
  });
}

void ServedStream::close(Done done) {
  run(std::move(done), [this] { stop_parts(/*with_checkpoint=*/true); });
}

void ServedStream::remove(Done done) {
  run(std::move(done), [this] {
    require_sound();
    stop_parts(/*with_checkpoint=*/false);
    const std::string away = name_for_removal(folder_);
    if (around_.system.rename(folder_, away) != 0) {
      if (errno == ENOENT) return;  // somebody has removed it
      const std::string why = std::strerror(errno);
      try {
        start();
      } catch (const std::exception& error) {
        fail(error.what());
      }
      throw Refusal(503, "not_deleted",
                    folder_ + ": cannot be renamed: " + why + "; nothing was deleted");
    }
    try {
      if (around_.options.sync) sync_folder(System::folder_of(folder_), around_.system);
      tell_left(remove_folder(away, around_.system));
    } catch (const std::exception& error) {
      say(std::string(error.what()) + "; what is left is removed at the next start");
    }
  });
}

// ---- Beginning and end.

void ServedStream::require_sound() {
  if (is_damaged_)
    throw Refusal(409, "damaged", "the stream is damaged, and left as it is: " + failure());
}

// What has failed may be possible again: it goes on from what is on disk.
void ServedStream::require_open() {
  if (parts_) return;
  const std::string why = failure();
  if (why.empty()) throw Refusal(503, "closed", "the stream is closed");
  const auto now = Clock::now();
  if (!is_damaged_ && now >= try_again_) {
    try_again_ = now + 1s;
    try {
      start();
      return;
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }
  throw Refusal(503, "unavailable", "the stream cannot be used: " + failure());
}

void ServedStream::fail(const std::string& why) {
  say(why);
  board_.warned("failed_stream", why);
  board_.set_failure(why);
  parts_.reset();
  set_memory(0);
  set_committing(false);
  const std::lock_guard lock(mutex_);
  failure_ = why;
}

void ServedStream::say(const std::string& text) const { around_.options.say(name() + ": " + text); }

void ServedStream::tell_left(const std::vector<std::string>& paths) const {
  for (const std::string& path : paths) say(path + ": is left, since this program did not make it");
}

void ServedStream::start() {
  parts_.reset();
  if (is_marked_for_reset(folder_, around_.system))
    tell_left(remove_state(folder_, around_.system));
  parts_ = std::make_unique<Parts>(*this, [this](const std::string& text) { say(text); });
  Parts& p = *parts_;
  board_.clear();
  board_.settle(p.engine);
  p.checkpoints.resume();
  p.engine.go_on_without_check();
  see_engine();
  const auto damaged = [&](const std::string& remark) {
    say(remark);
    board_.warned("damaged", remark);
  };
  if (const std::string remark = p.store->remark(); !remark.empty()) damaged(remark);
  p.being_kept = p.source.written_entry = p.source.entry;
  p.kept = {p.source.entry};
  p.session.begin();
  for (const std::string& remark : kalstream::remarks(p.engine.schema()))
    p.monitor.remarked(remark);
  if (p.engine.has_keys()) board_.know(p.store->keys(around_.options.board.keys));
  p.board_is_kept = board_.restore(p.source.board_there);
  p.source.board_there = {};
  const auto remarks = p.log.replay(p.source.entry, [this](const Input& input) { replay(input); });
  p.source.entry = p.log.next();
  std::ranges::for_each(remarks, damaged);
  see_engine();
  board_.set_status(p.monitor.status(p.engine, &p.checkpoints));
  board_.set_failure("");
  const std::lock_guard lock(mutex_);
  failure_.clear();
}

void ServedStream::stop_parts(bool with_checkpoint) {
  if (!parts_) return;
  Parts& p = *parts_;
  p.engine.learn();
  const bool one_more = with_checkpoint && (p.source.entry != p.kept.front() || !p.board_is_kept);
  p.ends = true;
  p.checkpoints.finish(one_more);
  if (const std::string failure = p.checkpoints.failure(); !failure.empty())
    say("no checkpoint: " + failure);
  else if (one_more)
    p.note_checkpoint(p.source.entry);
  parts_.reset();
  set_memory(0);
  set_committing(false);
}

// ---- From time to time.

void ServedStream::set_committing(bool now) {
  if (committing_.exchange(now) != now) around_.commits += now ? 1 : -1;
}

void ServedStream::tick(bool a_second_has_passed) {
  if (a_second_has_passed) {
    const std::uint64_t changes = changes_;
    quiet_seconds_ = changes == std::exchange(seen_changes_, changes) ? quiet_seconds_ + 1 : 0;
  }
  constexpr int until_nothing_changes = 2;
  const bool due = a_second_has_passed && quiet_seconds_ <= until_nothing_changes;
  constexpr int look_again = 15;  // a checkpoint may have become due
  const bool now_and_then = a_second_has_passed && quiet_seconds_ % look_again == 0;
  if (!due && !now_and_then && !committing_ && !asked_) return;
  if (due || now_and_then) status_due_ = true;
  if (ticking_.exchange(true)) return;
  strand_->post([self = shared_from_this()](Clock::time_point until) {
    self->ticking_ = false;
    if (self->parts_) self->look_at_clock(until);
    return true;
  });
}

void ServedStream::look_at_clock(Clock::time_point until) {
  Parts& p = *parts_;
  try {
    const std::uint64_t own = memory_;
    const std::uint64_t all = around_.memory_used;
    if (p.engine.has_keys()) p.engine.set_memory_beside(all - std::min(all, own));
    if (committing_ || around_.commits < most_commits)
      p.checkpoints.look_at_clock(/*asked=*/asked_.exchange(false) || p.log.bytes() > longest_log,
                                  /*idle=*/true);
    while (p.checkpoints.patience() == 0ms && Clock::now() < until) p.checkpoints.go_on(true);
    if (p.source.written_entry != p.being_kept) {
      p.being_kept = p.source.written_entry;
      p.log.begin_file();
      set_committing(true);
    }
    if (const std::string failure = p.checkpoints.failure(); !failure.empty()) {
      set_committing(false);
      p.monitor.warn(Warning::failed_checkpoint, "no checkpoint: " + failure);
    }
    if (p.checkpoints.written() != p.checkpoints_seen) {
      p.checkpoints_seen = p.checkpoints.written();
      set_committing(false);
      p.note_checkpoint(p.being_kept);
    }
    const Models* models = p.engine.models();
    if (models != nullptr && models->store_failures() > p.store_failures) {
      p.store_failures = models->store_failures();
      p.monitor.warn(Warning::failed_checkpoint,
                     "models that should leave memory stay in it: " + models->store_failure());
    }
  } catch (const std::exception& error) {
    p.monitor.warn(Warning::failed_checkpoint, error.what());
  }
  if (!status_due_.exchange(false)) return;
  p.monitor.look_at_clock(p.engine, &p.checkpoints, /*now=*/true);
}

}  // namespace kalstream::serve

// What is done for a served stream from time to time.
#include <utility>

#include "serve/served_parts.h"

namespace kalstream::serve {
namespace {

using namespace std::chrono_literals;

constexpr int most_commits = 4;  // at a time: each has a thread
constexpr std::uint64_t longest_log = std::uint64_t{256} << 20;

}  // namespace

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
    const std::uint64_t own = p.engine.memory();
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
      // The one before may have to stand in for this one.
      p.kept_before = std::exchange(p.kept, p.being_kept);
      p.log.remove_before(p.kept_before);
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

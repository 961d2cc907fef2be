#include "stream/checkpoints.h"

#include <utility>

#include "stream/stream_state.h"

namespace kalstream {

Checkpoints::Checkpoints(Source& source, Engine& engine, StateStore& store, Cadence cadence)
    : source_(source), engine_(engine), store_(store), cadence_(cadence), committer_(store) {}

std::optional<std::string> Checkpoints::resume() {
  const auto bytes = store_.stream();
  if (!bytes) return {};
  restore(checkpoint_of(*bytes), source_, engine_);
  samples_ = engine_.counts().samples;
  const std::string where = source_.go_on();
  line_ = source_.line();
  return "going on after " + std::to_string(samples_) + " samples" + where;
}

bool Checkpoints::is_due() const {
  if (cadence_.samples > 0) return engine_.counts().samples - samples_ >= cadence_.samples;
  return source_.line() != line_ && Clock::now() - last_ >= cadence_.time;
}

void Checkpoints::look_at_clock(bool at_once) {
  see(committer_.result());
  if ((at_once || is_due()) && !committer_.is_busy()) start();
}

void Checkpoints::start() {
  engine_.learn();
  samples_ = engine_.counts().samples;
  line_ = source_.line();
  last_ = Clock::now();
  Bytes stream;
  try {
    stream = checkpoint_at(source_, engine_);
  } catch (const std::runtime_error& error) {  // the source cannot be looked at
    fail(error.what());
    return;
  }
  committer_.start(std::move(stream), engine_.changed_models());
}

// The stream goes on without one that failed; what was there before stays as it is.
void Checkpoints::see(const std::optional<std::string>& result) {
  if (!result) return;
  engine_.committed(result->empty());
  if (result->empty()) {
    ++written_;
    return;
  }
  fail(*result);
}

void Checkpoints::fail(std::string why) {
  ++failed_;
  failure_ = std::move(why);
}

std::string Checkpoints::failure() { return std::exchange(failure_, {}); }

void Checkpoints::finish(bool one_more) {
  see(committer_.wait());
  if (!one_more) return;
  failure_.clear();
  start();
  see(committer_.wait());
}

}  // namespace kalstream

#include "stream/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace kalstream {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_slice = 2ms;
constexpr int share_of_samples = 4;  // of five parts of the time, while they come

}  // namespace

Cadence cadence_of(const std::string& text) {
  Cadence cadence;
  double n = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, n);
  const std::string_view rest(unit, static_cast<std::size_t>(end - unit));
  const double seconds = rest == "s" ? 1 : rest == "m" ? 60 : rest == "h" ? 3600 : 0;
  const bool sound = error == std::errc() && n > 0 && n * std::max(seconds, 1.0) <= 1e9;
  if (sound && rest.empty() && n == std::floor(n))
    cadence.samples = static_cast<std::uint64_t>(n);
  else if (sound && seconds > 0)
    cadence.time = std::chrono::milliseconds(std::max(1L, std::lround(1000 * n * seconds)));
  else
    throw std::invalid_argument(
        fmt::format("--every {}: write a number of samples (5000) or a time (30s, 5m, 2h)", text));
  return cadence;
}

Checkpoints::Checkpoints(Source& source, Engine& engine, StateStore& store, Cadence cadence)
    : source_(source), engine_(engine), store_(store), cadence_(cadence), committer_(store) {}

std::optional<std::string> Checkpoints::resume() {
  const auto bytes = store_.stream();
  if (!bytes) return {};
  engine_.restore(checkpoint_of(*bytes), [this](Archive& place) { source_.exchange(place); });
  samples_ = engine_.counts().samples;
  const std::string where = source_.go_on();
  line_ = source_.line();
  return "going on after " + std::to_string(samples_) + " samples" + where;
}

bool Checkpoints::is_due() const {
  if (asked_) return true;
  if (cadence_.samples > 0) return engine_.counts().samples - samples_ >= cadence_.samples;
  return source_.line() != line_ && Clock::now() - last_ >= cadence_.time;
}

std::uint64_t Checkpoints::records_until_due() const {
  if (cadence_.samples == 0) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t since = engine_.counts().samples - samples_;
  return since < cadence_.samples ? cadence_.samples - since : 1;
}

void Checkpoints::look_at_clock(bool asked, bool idle) {
  asked_ |= asked;
  go_on(idle);
  if (is_due() && !committer_.is_busy() && prepare()) start(/*with_copy=*/true);
}

// A large model is copied into memory that has been touched before: to touch it for the first time
// takes longer than to copy it. So that is done beside the work, the first time.
bool Checkpoints::prepare() {
  const Recipe* recipe = engine_.large_recipe();
  if (is_prepared_ || recipe == nullptr) return true;
  is_prepared_ = true;
  committer_.run([this, recipe = *recipe] {
    try {
      copy_ = make_from(recipe);
    } catch (const std::bad_alloc&) {  // then without one
    }
  });
  return false;
}

void Checkpoints::start(bool with_copy) {
  engine_.learn();
  asked_ = false;
  samples_ = engine_.counts().samples;
  line_ = source_.line();
  last_ = last_slice_ = Clock::now();
  credit_ = {};
  Bytes stream;
  try {
    stream = engine_.stream_state([this](Archive& place) { source_.exchange(place); });
  } catch (const std::runtime_error& error) {  // the source cannot be looked at
    fail(error.what());
    return;
  }
  gives_ = true;
  committer_.start(engine_.image(std::move(stream), with_copy ? copy_ : nullptr));
  engine_.begin_commit([this](CheckpointImage model) {
    committer_.add(std::move(model));
    if (engine_.is_short_of_memory()) committer_.wait_for_room();
  });
}

void Checkpoints::go_on(bool idle) {
  see(committer_.result());
  if (!gives_) return;
  const auto begin = Clock::now();
  credit_ += (begin - last_slice_) / share_of_samples;
  credit_ = idle ? longest_slice : std::min<Clock::duration>(credit_, longest_slice);
  last_slice_ = begin;
  const auto end = begin + credit_;
  while (last_slice_ < end && gives_ && !committer_.is_full()) {
    gives_ = engine_.give_next();
    last_slice_ = Clock::now();
  }
  credit_ = end - last_slice_;
  if (!gives_) committer_.complete();
}

std::chrono::milliseconds Checkpoints::patience() const {
  if (!gives_) return 200ms;
  return committer_.is_full() ? 5ms : 0ms;
}

// The stream goes on without one that failed; what was there before stays as it is.
void Checkpoints::see(const std::optional<std::string>& result) {
  if (!result) return;
  gives_ = false;
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

void Checkpoints::give_all() {
  while (gives_ && engine_.give_next()) committer_.wait_for_room();
  gives_ = false;
  committer_.complete();
  see(committer_.wait());
}

void Checkpoints::finish(bool one_more) {
  give_all();
  if (!one_more) return;
  failure_.clear();
  start(/*with_copy=*/false);
  give_all();
}

}  // namespace kalstream

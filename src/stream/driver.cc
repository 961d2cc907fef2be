#include "stream/driver.h"

#include <algorithm>
#include <thread>

#include "data/dataset.h"
#include "schema/rules.h"

namespace kalstream {

using namespace std::chrono_literals;

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Driver::Driver(DriverOptions options, Source& source, StateStore* store, Signals& signals)
    : strict_(options.strict),
      source_(source),
      spot_(source),
      signals_(signals),
      monitor_(std::move(options.monitor), spot_),
      engine_(std::move(options.engine), store, &monitor_) {
  if (store != nullptr)
    checkpoints_ = std::make_unique<Checkpoints>(source, engine_, *store, options.cadence);
  const std::size_t threads = workers_for(options.jobs, options.jobs);
  if (threads > 1 && engine_.has_keys() && !strict_) workers_ = std::make_unique<Workers>(threads);
}

void Driver::resume() {
  const auto remark = checkpoints_->resume();
  if (remark) monitor_.say(*remark);
  if (engine_.settled()) monitor_.begin(engine_);
}

void Driver::run(Sink& sink) {
  try {
    loop(sink);
  } catch (const std::runtime_error&) {
    finish();
    throw;
  }
  finish();
  monitor_.look_at_clock(engine_, checkpoints_.get(), /*at_once=*/true);
  monitor_.finish();
  if (checkpoints_)
    if (const std::string failure = checkpoints_->failure(); !failure.empty())
      throw std::runtime_error("no checkpoint: " + failure);
  if (source_.line() > 0 && engine_.counts().samples == 0)
    throw DataError(source_.name() + ": there is not one sample in " +
                    std::to_string(source_.line()) + " lines");
}

void Driver::loop(Sink& sink) {
  monitor_.look_at_clock(engine_, checkpoints_.get(), /*at_once=*/true);
  while (!signals_.stop()) {
    const auto most = checkpoints_ ? checkpoints_->patience() : 200ms;
    const bool few = workers_ && engine_.takes_many();
    const auto event = few ? source_.next_few(arrivals_, most_at_once(), most, *workers_)
                           : source_.next(record_, most);
    if (event == Source::Event::end) return;
    const bool idle = event == Source::Event::idle;
    if (!idle) {
      const bool is_record = event == Source::Event::record;
      const bool gone =
          few ? handle_few(sink) : handle(is_record ? &record_ : nullptr, source_.problem(), sink);
      if (!gone) return;
    }
    look_at_clock(idle);
  }
}

// A store that cannot be read now may be later: until then the record waits, and all behind it. One
// that is damaged is mended by the next start.
template <class Take>
auto Driver::take_patiently(const Take& take) {
  for (bool again = false;; again = true) {
    try {
      return take();
    } catch (const StoreError& error) {
      if (!again) continue;
      if (signals_.stop() || dynamic_cast<const StoreDamaged*>(&error) != nullptr) throw;
      monitor_.warn(Warning::failed_checkpoint,
                    std::string("the stream waits for a model: ") + error.what());
      monitor_.look_at_clock(engine_, checkpoints_.get());
      std::this_thread::sleep_for(200ms);
    }
  }
}

// One record, or (nullptr) what could not be read as one. False if the stream was told to stop
// before the answer could go out.
bool Driver::handle(const Record* record, const std::string& problem, Sink& sink) {
  const auto begin = std::chrono::steady_clock::now();
  const bool was_settled = engine_.settled();
  delivered_ = false;
  const Answer* answer = record == nullptr ? engine_.refuse(problem)
                                           : take_patiently([&] { return engine_.take(*record); });
  if (!was_settled && engine_.settled()) {
    monitor_.begin(engine_);
    for (const std::string& remark : remarks(engine_.schema())) monitor_.say(remark);
  }
  for (const std::string& remark : engine_.take_remarks()) monitor_.say(remark);
  if (answer == nullptr) {
    delivered_ = true;
  } else {
    sink.write(placed(*answer));
    delivered_ = sink.flush([this] { wait_for_reader(); });
    monitor_.answered(placed_, engine_);
    monitor_.delivered(spot_.arrival());
  }
  engine_.learn();
  monitor_.worked(seconds_since(begin));
  return delivered_;
}

// So many that others are not kept waiting for long, and that a checkpoint begins where it would.
std::size_t Driver::most_at_once() const {
  constexpr double not_long = 0.01;  // seconds
  constexpr double at_first = 64;
  constexpr double most = 1024;
  const auto fewest = static_cast<double>(2 * workers_->size());
  const double records = seconds_per_record_ > 0 ? not_long / seconds_per_record_ : at_first;
  const auto wanted = static_cast<std::uint64_t>(std::clamp(records, fewest, most));
  return checkpoints_ ? std::min(wanted, checkpoints_->records_until_due()) : wanted;
}

// A single one is answered before it is learnt from.
bool Driver::handle_few(Sink& sink) {
  if (arrivals_.size() > 1) return handle_many(sink);
  const Arrival& one = arrivals_.front();
  return handle(one.is_problem ? nullptr : &one.record, one.problem, sink);
}

// What is taken after somebody said to stop is not answered, but it is taken: the source is behind
// it.
bool Driver::handle_many(Sink& sink) {
  delivered_ = false;
  bool gone = true;
  if (texts_.size() < arrivals_.size()) texts_.resize(arrivals_.size());
  for (std::span<const Arrival> left = arrivals_; !left.empty();) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t k = 0; k < left.size(); ++k) texts_[k].clear();
    const std::size_t count = take_patiently([&] {
      return engine_.take_many(left, *workers_, [&](std::size_t k, const Answer& answer) {
        sink.prepare(answer, texts_[k]);
      });
    });
    for (std::size_t k = 0; k < count; ++k) {
      spot_.look_at(&left[k]);
      const Answer* answer = engine_.tell(k);
      for (const std::string& remark : engine_.take_remarks()) monitor_.say(remark);
      if (answer != nullptr) {
        if (gone) sink.write_prepared(placed(*answer), texts_[k]);
        monitor_.answered(placed(*answer), engine_);
      }
      engine_.tell_learnt(k);
    }
    gone = gone && sink.flush([this] { wait_for_reader(); });
    spot_.look_at(nullptr);
    const double each = seconds_since(begin) / static_cast<double>(count);
    for (const Arrival& arrival : left.first(count)) {
      monitor_.delivered(arrival.since);
      monitor_.worked(each);
    }
    constexpr double share = 0.2;  // of the last ones
    seconds_per_record_ += (seconds_per_record_ == 0 ? 1 : share) * (each - seconds_per_record_);
    left = left.subspan(count);
  }
  delivered_ = gone;
  return gone;
}

// With where it is, if it is a refusal.
const Answer& Driver::placed(const Answer& answer) {
  placed_ = answer;
  if (answer.status != Answer::Status::refused) return placed_;
  reason_ = spot_.place() + ": " + std::string(answer.reason);
  if (strict_) throw DataError(reason_);
  placed_.reason = reason_;
  placed_.line = spot_.line();
  return placed_;
}

// No checkpoint can begin between a record and its answer.
void Driver::wait_for_reader() {
  if (checkpoints_) checkpoints_->go_on(/*idle=*/true);
  monitor_.look_at_clock(engine_, checkpoints_.get(), /*at_once=*/true);
}

void Driver::look_at_clock(bool idle) {
  const bool asked = signals_.take_hang_up();
  engine_.set_memory_beside(program_bytes_ + source_.memory() +
                            (checkpoints_ ? checkpoints_->memory() : 0));
  if (checkpoints_) {
    checkpoints_->look_at_clock(asked, idle);
    if (const std::string failure = checkpoints_->failure(); !failure.empty())
      monitor_.warn(Warning::failed_checkpoint, "no checkpoint: " + failure);
  }
  const Models* models = engine_.models();
  if (models != nullptr && models->store_failures() > store_failures_) {
    store_failures_ = models->store_failures();
    monitor_.warn(Warning::failed_checkpoint,
                  "models that should leave memory stay in it: " + models->store_failure());
  }
  monitor_.look_at_clock(engine_, checkpoints_.get());
}

// A record whose answer nobody took is to be taken again, if its source can go back to it: then
// what it has taught is not kept.
void Driver::finish() {
  if (checkpoints_) checkpoints_->finish(/*one_more=*/delivered_ || !source_.can_go_back());
}

}  // namespace kalstream

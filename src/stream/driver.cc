#include "stream/driver.h"

#include <thread>

#include "data/dataset.h"
#include "schema/rules.h"

namespace kalstream {

using namespace std::chrono_literals;

Driver::Driver(DriverOptions options, Source& source, StateStore* store, Signals& signals)
    : strict_(options.strict),
      source_(source),
      signals_(signals),
      monitor_(std::move(options.monitor), source),
      engine_(std::move(options.engine), store, &monitor_) {
  if (store != nullptr)
    checkpoints_ = std::make_unique<Checkpoints>(source, engine_, *store, options.cadence);
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
    const auto event = source_.next(record_, checkpoints_ ? checkpoints_->patience() : 200ms);
    if (event == Source::Event::end || !handle(event, sink)) return;
    look_at_clock(/*idle=*/event == Source::Event::idle);
  }
}

// False if the stream was told to stop before the answer could go out.
bool Driver::handle(Source::Event event, Sink& sink) {
  if (event == Source::Event::idle) return true;
  const auto begin = std::chrono::steady_clock::now();
  const bool was_settled = engine_.settled();
  delivered_ = false;
  const Answer* answer =
      event == Source::Event::problem ? engine_.refuse(source_.problem()) : take();
  if (!was_settled && engine_.settled()) {
    monitor_.begin(engine_);
    for (const std::string& remark : remarks(engine_.schema())) monitor_.say(remark);
  }
  delivered_ = answer == nullptr || deliver(*answer, sink);
  engine_.learn();
  monitor_.worked(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return delivered_;
}

// A store that cannot be read now may be later: until then the record waits, and all behind it. One
// that is damaged is mended by the next start.
const Answer* Driver::take() {
  for (bool again = false;; again = true) {
    try {
      return engine_.take(record_);
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

bool Driver::deliver(const Answer& answer, Sink& sink) {
  Answer placed = answer;
  std::string reason;
  if (answer.status == Answer::Status::refused) {
    reason = source_.place() + ": " + std::string(answer.reason);
    if (strict_) throw DataError(reason);
    placed.reason = reason;
    placed.line = source_.line();
  }
  sink.write(placed);
  const bool gone = sink.flush([this] { wait_for_reader(); });
  monitor_.answered(placed, engine_);
  return gone;
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

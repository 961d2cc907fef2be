#include "stream/driver.h"

#include <algorithm>
#include <thread>

#include "schema/dataset.h"

namespace kalstream {

using namespace std::chrono_literals;

namespace {

Engine::Listeners listeners_of(const DriverOptions& options, StreamListener& driver,
                               StreamListener& monitor) {
  Engine::Listeners all{&driver, &monitor};
  all.insert(all.end(), options.listeners.begin(), options.listeners.end());
  return all;
}

}  // namespace

Driver::Driver(DriverOptions options, Source& source, StateStore* store, Signals& signals)
    : json_(options.json),
      strict_(options.strict),
      source_(source),
      signals_(signals),
      position_{source.name()},
      monitor_(std::move(options.monitor), source, position_),
      engine_(std::move(options.engine), store, listeners_of(options, *this, monitor_)),
      session_(engine_, position_, Session::Header::session) {
  if (store != nullptr)
    checkpoints_ = std::make_unique<Checkpoints>(source, engine_, *store, options.cadence);
  const std::size_t threads = workers_for(options.jobs, options.jobs);
  if (threads > 1 && engine_.has_keys() && !strict_) workers_ = std::make_unique<Workers>(threads);
}

void Driver::resume() {
  const auto remark = checkpoints_->resume();
  if (remark) monitor_.remarked(*remark);
  session_.begin();
}

void Driver::run(LineOutput& output) {
  output_ = &output;
  try {
    loop();
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

void Driver::loop() {
  monitor_.look_at_clock(engine_, checkpoints_.get(), /*at_once=*/true);
  while (!signals_.stop()) {
    const auto longest = checkpoints_ ? checkpoints_->patience() : 200ms;
    const std::size_t most = workers_ && engine_.takes_many() ? most_at_once() : 1;
    const auto event = source_.next(arrivals_, most, longest, workers_.get());
    if (event == Source::Event::end) return;
    if (event == Source::Event::records) take();
    if (!gone_) return;
    look_at_clock(/*idle=*/event == Source::Event::idle);
  }
}

// What is taken after somebody said to stop is not answered, but it is taken: the source is behind
// it.
void Driver::take() {
  const auto begin = std::chrono::steady_clock::now();
  const AnswerFormat format =
      json_.value_or(source_.is_json()) ? AnswerFormat::json : AnswerFormat::csv;
  delivered_ = false;
  session_.take(arrivals_, format, workers_.get());
  if (arrivals_.size() > 1) flush();
  delivered_ = gone_;
  for (const Arrival& arrival : arrivals_) monitor_.delivered(arrival.since);
  session_.learn();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  const double each = seconds.count() / static_cast<double>(arrivals_.size());
  for (std::size_t k = 0; k < arrivals_.size(); ++k) monitor_.worked(each);
  if (arrivals_.size() == 1) return;
  constexpr double share = 0.2;  // of the last ones
  seconds_per_record_ += (seconds_per_record_ == 0 ? 1 : share) * (each - seconds_per_record_);
}

// The answer to a single record goes out before anything else is done.
void Driver::answered(const Answer& answer, std::string_view text) {
  if (strict_ && answer.status == Answer::Status::refused)
    throw DataError(position_.text() + ": " + std::string(answer.reason));
  output_->write(text);
  if (arrivals_.size() == 1) flush();
}

// A store that is damaged is mended by the next start.
bool Driver::store_failed(const StoreError& error, int times) {
  if (times == 1) return true;
  if (signals_.stop() || dynamic_cast<const StoreDamaged*>(&error) != nullptr) return false;
  monitor_.warn(Warning::failed_checkpoint,
                std::string("the stream waits for a model: ") + error.what());
  monitor_.look_at_clock(engine_, checkpoints_.get());
  std::this_thread::sleep_for(200ms);
  return true;
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

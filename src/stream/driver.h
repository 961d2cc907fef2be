// Runs a stream of lines: from a source through a session to an output.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/workers.h"
#include "engine/engine.h"
#include "engine/ports.h"
#include "schema/arrival.h"
#include "session/session.h"
#include "stream/checkpoints.h"
#include "stream/line_output.h"
#include "stream/signals.h"
#include "stream/stream_monitor.h"

namespace kalstream {

struct DriverOptions {
  EngineOptions engine;
  Cadence cadence;  ///< of checkpoints
  MonitorOptions monitor;
  std::optional<bool> json;  ///< answers are; unset: as the records are written
  bool strict = false;       ///< the first record that cannot be used ends the stream
  /// Threads that share the models of a stream with keys. Where records come one by one, or it is
  /// strict, there is nothing to share.
  std::size_t jobs = 1;
  Engine::Listeners listeners = {};  ///< besides the driver and its monitor
};

/// Takes, answers and learns until the end of the stream, SIGTERM or SIGINT, with checkpoints at
/// intervals, at SIGHUP and at the end. What is in a checkpoint is what the records up to there
/// have made, and nothing else: to go on from one is never to have stopped.
class Driver final : private StreamListener {
 public:
  /// `store` may be nullptr. Throws std::runtime_error for a metrics file or port that cannot be
  /// used.
  Driver(DriverOptions options, Source& source, StateStore* store, Signals& signals);

  /// Goes on from what the store holds, if it holds something. Throws as restore() does.
  void resume();

  /// Throws DataError in strict mode and when there was not a single sample, std::runtime_error
  /// when answers or the last checkpoint cannot be written.
  void run(LineOutput& output);

  const Engine& engine() const { return engine_; }
  StreamStatus status() const { return monitor_.status(engine_, checkpoints_.get()); }
  std::uint16_t metrics_port() const { return monitor_.metrics_port(); }

 private:
  void loop();
  void take();
  void answered(const Answer& answer, std::string_view text) override;
  bool store_failed(const StoreError& error, int times) override;
  std::size_t most_at_once() const;
  void flush() {
    gone_ = output_->flush([this] { wait_for_reader(); });
  }
  void wait_for_reader();
  void look_at_clock(bool idle);
  void finish();

  std::optional<bool> json_;
  bool strict_;
  Source& source_;
  Signals& signals_;
  RecordPosition position_;
  StreamMonitor monitor_;
  Engine engine_;
  Session session_;
  LineOutput* output_ = nullptr;              // while it runs
  std::unique_ptr<Checkpoints> checkpoints_;  // if there is a store
  std::unique_ptr<Workers> workers_;          // if there are several
  std::vector<Arrival> arrivals_;             // being taken
  double seconds_per_record_ = 0;             // of a batch, lately
  bool gone_ = true;                          // all answers; false: it was told to stop
  bool delivered_ = true;                     // the answers to all records that were taken
  std::uint64_t store_failures_ = 0;          // told of
  const std::uint64_t program_bytes_ = resident_bytes();  // before there were models
};

}  // namespace kalstream

// Runs a stream: from a source through an engine to a sink.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "ports/ports.h"
#include "stream/checkpoints.h"
#include "stream/signals.h"
#include "stream/stream_monitor.h"

namespace kalstream {

struct DriverOptions {
  EngineOptions engine;
  Cadence cadence;  ///< of checkpoints
  MonitorOptions monitor;
  bool strict = false;  ///< the first record that cannot be used ends the stream
};

/// Takes, answers and learns until the end of the stream, SIGTERM or SIGINT, with checkpoints at
/// intervals, at SIGHUP and at the end. What is in a checkpoint is what the records up to there
/// have made, and nothing else: to go on from one is never to have stopped.
class Driver {
 public:
  /// `store` may be nullptr. Throws std::runtime_error for a metrics file or port that cannot be
  /// used.
  Driver(DriverOptions options, Source& source, StateStore* store, Signals& signals);

  /// Goes on from what the store holds, if it holds something. Throws as restore() does.
  void resume();

  /// Throws DataError in strict mode and when there was not a single sample, std::runtime_error
  /// when answers or the last checkpoint cannot be written.
  void run(Sink& sink);

  const Engine& engine() const { return engine_; }
  StreamStatus status() const { return monitor_.status(engine_, checkpoints_.get()); }
  std::uint16_t metrics_port() const { return monitor_.metrics_port(); }

 private:
  void loop(Sink& sink);
  bool handle(Source::Event event, Sink& sink);
  const Answer* take();
  bool deliver(const Answer& answer, Sink& sink);
  void wait_for_reader();
  void look_at_clock(bool idle);
  void finish();

  bool strict_;
  Source& source_;
  Signals& signals_;
  StreamMonitor monitor_;
  Engine engine_;
  std::unique_ptr<Checkpoints> checkpoints_;  // if there is a store
  Record record_;
  bool delivered_ = true;                                 // the last answer has gone out
  std::uint64_t store_failures_ = 0;                      // told of
  const std::uint64_t program_bytes_ = resident_bytes();  // before there were models
};

}  // namespace kalstream

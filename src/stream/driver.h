// Runs a stream: from a source through an engine to a sink.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/workers.h"
#include "engine/engine.h"
#include "ports/arrival.h"
#include "ports/ports.h"
#include "stream/checkpoints.h"
#include "stream/signals.h"
#include "stream/spot.h"
#include "stream/stream_monitor.h"

namespace kalstream {

struct DriverOptions {
  EngineOptions engine;
  Cadence cadence;  ///< of checkpoints
  MonitorOptions monitor;
  bool strict = false;  ///< the first record that cannot be used ends the stream
  /// Threads that share the models of a stream with keys. Where records come one by one, or it is
  /// strict, there is nothing to share.
  std::size_t jobs = 1;
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
  bool handle(const Record* record, const std::string& problem, Sink& sink);
  bool handle_few(Sink& sink);
  bool handle_many(Sink& sink);
  std::size_t most_at_once() const;
  template <class Take>
  auto take_patiently(const Take& take);
  const Answer& placed(const Answer& answer);
  void wait_for_reader();
  void look_at_clock(bool idle);
  void finish();

  bool strict_;
  Source& source_;
  Spot spot_;
  Signals& signals_;
  StreamMonitor monitor_;
  Engine engine_;
  std::unique_ptr<Checkpoints> checkpoints_;  // if there is a store
  std::unique_ptr<Workers> workers_;          // if there are several
  Record record_;
  std::vector<Arrival> arrivals_;   // where there are several,
  std::vector<std::string> texts_;  // their answers,
  double seconds_per_record_ = 0;   // and how long they have taken lately
  Answer placed_;
  std::string reason_;                                    // of a refusal, with its place
  bool delivered_ = true;                                 // the last answer has gone out
  std::uint64_t store_failures_ = 0;                      // told of
  const std::uint64_t program_bytes_ = resident_bytes();  // before there were models
};

}  // namespace kalstream

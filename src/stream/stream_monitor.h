// Looks after a running stream: warns of what is wrong with it, and tells how it is doing.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "monitor/latency.h"
#include "monitor/metrics_server.h"
#include "monitor/notices.h"
#include "monitor/status.h"
#include "monitor/watch.h"
#include "ports/ports.h"

namespace kalstream {

class Checkpoints;

/// Sees all that can be seen of a stream, besides its monitor.
class StreamObserver {
 public:
  virtual ~StreamObserver() = default;
  /// Its fields are known.
  virtual void began(const Engine& engine) = 0;
  virtual void answered(const Answer& answer, const Engine& engine) = 0;
  /// About once a second.
  virtual void looked(const Engine& engine, const StreamStatus& status) = 0;
  virtual void warned(Warning kind, const std::string& text) = 0;
};

struct MonitorOptions {
  std::filesystem::path metrics_file;  ///< empty: none
  std::optional<std::uint16_t> metrics_port;
  /// Takes what a person should read, a line without its end.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  StreamObserver* observer = nullptr;
};

class StreamMonitor final : public EngineListener {
 public:
  /// Throws std::runtime_error for a metrics file or port that cannot be used.
  StreamMonitor(MonitorOptions options, const Origin& source);

  /// The stream is settled.
  void begin(const Engine& engine);

  /// How long it took to answer a record and to learn from it, without the time it had waited.
  void worked(double seconds) { work_.record(seconds); }
  /// A record is answered; …
  void answered(const Answer& answer, const Engine& engine);
  /// … and the answer to one that came then has gone out.
  void delivered(std::chrono::steady_clock::time_point arrival);
  void took(std::span<const double> x) override;
  void scored(std::span<const double> d_hat, std::span<const Interval> interval,
              std::span<const double> d) override;
  void stepped(const StepReport& report) override;
  void warn(Warning kind, std::string_view text);
  void say(const std::string& text) const { options_.say(text); }

  /// Publishes metrics once a second, or `now`, and says what was held back.
  void look_at_clock(const Engine& engine, const Checkpoints* checkpoints, bool now = false);
  /// What is left to say.
  void finish();

  StreamStatus status(const Engine& engine, const Checkpoints* checkpoints) const;
  std::uint16_t metrics_port() const { return server_ ? server_->port() : 0; }

 private:
  using Clock = std::chrono::steady_clock;

  void warn(Watch::Findings findings);
  void publish(const StreamStatus& status);

  MonitorOptions options_;
  const Origin& source_;
  std::optional<Watch> watch_;  // of the only model
  Notices notices_;
  LatencyHistogram latency_;
  LatencyHistogram work_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_publication_ = started_;
  std::uint64_t samples_at_publication_ = 0;
  double samples_per_second_ = StreamStatus::unknown;
  std::unique_ptr<MetricsServer> server_;
};

}  // namespace kalstream

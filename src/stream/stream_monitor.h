// Looks after a running stream: warns of what is wrong with it, and tells how it is doing.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/ports.h"
#include "monitor/latency.h"
#include "monitor/metrics_server.h"
#include "monitor/notices.h"
#include "monitor/status.h"
#include "monitor/watch.h"
#include "session/session.h"

namespace kalstream {

class Checkpoints;

struct MonitorOptions {
  std::filesystem::path metrics_file;  ///< empty: none
  std::optional<std::uint16_t> metrics_port;
  /// Takes what a person should read, a line without its end.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Is told of warnings and of the status.
  StreamListener* observer = nullptr;
};

class StreamMonitor final : public StreamListener {
 public:
  /// `position` is that of the record being processed. Throws std::runtime_error for a metrics file
  /// or port that cannot be used.
  StreamMonitor(MonitorOptions options, const Source& source, const RecordPosition& position);

  /// How long it took to answer a record and to learn from it, without the time it had waited.
  void worked(double seconds) { work_.record(seconds); }
  /// The answer to a record that came then has gone out.
  void delivered(std::chrono::steady_clock::time_point since);

  void began(const Engine& engine) override;
  void took(std::span<const double> x) override;
  void scored(std::uint64_t sample, std::span<const double> d_hat,
              std::span<const Interval> interval, std::span<const double> d) override;
  void stepped(std::uint64_t sample, const StepReport& report) override;
  void answered(const Answer& answer, std::string_view text) override;
  void remarked(const std::string& text) override { options_.say(text); }
  void warn(Warning kind, std::string_view text);

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
  const Source& source_;
  const RecordPosition& position_;
  std::size_t max_delay_ = 0;   // of the stream
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

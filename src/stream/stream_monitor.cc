#include "stream/stream_monitor.h"

#include <fmt/format.h>

#include <cmath>

#include "io/atomic_file.h"
#include "kalstream/settings.h"
#include "kalstream/version.h"
#include "schema/rules.h"
#include "stream/checkpoints.h"

namespace kalstream {

StreamMonitor::StreamMonitor(MonitorOptions options, const Source& source,
                             const RecordPosition& position)
    : options_(std::move(options)), source_(source), position_(position) {
  if (options_.metrics_port) server_ = std::make_unique<MetricsServer>(*options_.metrics_port);
  if (!options_.metrics_file.empty()) require_writable(options_.metrics_file);
}

void StreamMonitor::began(const Engine& engine) {
  const double coverage = engine.options().model.coverage;
  WatchOptions watching;
  if (coverage > 0) watching.nominal_coverage = coverage;
  if (!engine.has_keys()) watch_.emplace(engine.schema().input_names(), watching);
  samples_at_publication_ = engine.counts().samples;
  max_delay_ = engine.options().model.max_delay;
}

void StreamMonitor::answered(const Answer& answer, std::string_view) {
  if (answer.status == Answer::Status::refused)
    warn(Warning::refused_line, fmt::format("{}: {}", position_.text(), answer.reason));
  else if (!answer.reason.empty())
    warn(Warning::untimely_sample,
         fmt::format("{}: {} is not learnt: {}", position_.text(), answer.time, answer.reason));
  else if (answer.status == Answer::Status::late)
    warn(
        Warning::late_label,
        fmt::format("{}: no sample {} waits for a target: it is unknown, has one, or is older than "
                    "--max-delay {}",
                    position_.text(), answer.id, max_delay_));
}

void StreamMonitor::delivered(Clock::time_point since) {
  latency_.record(std::chrono::duration<double>(Clock::now() - since).count());
}

void StreamMonitor::took(std::span<const double> x) {
  if (watch_) warn(watch_->look_at_inputs(x));
}

void StreamMonitor::scored(std::uint64_t, std::span<const double> d_hat,
                           std::span<const Interval> interval, std::span<const double> d) {
  if (!watch_) return;
  warn(watch_->look_at_error(d_hat, d));
  for (std::size_t k = 0; k < interval.size(); ++k)
    if (!std::isnan(interval[k].low)) warn(watch_->look_at_interval(interval[k].holds(d[k])));
}

void StreamMonitor::stepped(std::uint64_t, const StepReport& report) {
  if (!is_rejected(report.status)) return;
  warn(Warning::rejected_update, fmt::format("{}: the learner could not use the sample: {}",
                                             position_.text(), to_string(report.status)));
}

void StreamMonitor::warn(Warning kind, std::string_view text) {
  const auto line = notices_.add(kind, text, Clock::now());
  if (!line) return;
  options_.say(*line);
  if (options_.observer != nullptr) options_.observer->warned(to_string(kind), *line);
}

void StreamMonitor::warn(Watch::Findings findings) {
  for (const Finding& f : findings) warn(f.kind, fmt::format("{}: {}", position_.text(), f.text));
}

void StreamMonitor::look_at_clock(const Engine& engine, const Checkpoints* checkpoints,
                                  bool at_once) {
  using namespace std::chrono_literals;
  const auto now = Clock::now();
  const auto passed = now - last_publication_;
  if (passed < 1s && !at_once) return;
  const std::uint64_t samples = engine.counts().samples;
  const double seconds = std::chrono::duration<double>(passed).count();
  if (seconds > 0)
    samples_per_second_ = static_cast<double>(samples - samples_at_publication_) / seconds;
  last_publication_ = now;
  samples_at_publication_ = samples;
  if (server_ || !options_.metrics_file.empty()) publish(status(engine, checkpoints));
  if (options_.observer != nullptr) options_.observer->looked(engine, status(engine, checkpoints));
  if (const std::string text = notices_.due(now); !text.empty())
    options_.say(text.substr(0, text.size() - 1));
}

void StreamMonitor::publish(const StreamStatus& status) {
  std::string text = prometheus_text(status);
  if (!options_.metrics_file.empty()) {
    try {
      replace_file(options_.metrics_file, text);
    } catch (const std::exception& error) {
      warn(Warning::failed_metrics, error.what());
    }
  }
  if (server_) server_->publish(std::move(text));
}

void StreamMonitor::finish() {
  if (const std::string rest = notices_.rest(); !rest.empty())
    options_.say(rest.substr(0, rest.size() - 1));
}

StreamStatus StreamMonitor::status(const Engine& engine, const Checkpoints* checkpoints) const {
  const auto seconds_since = [now = Clock::now()](Clock::time_point t) {
    return std::chrono::duration<double>(now - t).count();
  };
  StreamStatus s;
  s.version = version();
  s.uptime_seconds = seconds_since(started_);
  s.lines_read = source_.line();
  s.counts = engine.counts();
  if (checkpoints != nullptr) {
    s.checkpoints_written = checkpoints->written();
    s.checkpoint_failures = checkpoints->failed();
    if (s.checkpoints_written > 0) s.seconds_since_checkpoint = seconds_since(checkpoints->last());
  }
  const double nominal = engine.options().model.coverage;
  if (nominal > 0) s.coverage_nominal = nominal;
  if (const Scores* scores = engine.scores(); scores != nullptr) {
    s.errors = scores->errors().all();
    s.recent_errors = scores->errors().recent();
    if (scores->classes() != nullptr) s.classes = scores->classes()->errors();
    if (nominal > 0 && scores->intervals() > 0) {
      s.coverage = scores->coverage();
      s.coverage_recent = scores->recent_coverage();
    }
  }
  s.latency = latency_.summary();
  s.work = work_.summary();
  s.samples_per_second = samples_per_second_;
  s.covariance_trace = engine.last_step().covariance_trace;
  s.resident_bytes = resident_bytes();
  s.memory_bytes = engine.memory();
  if (engine.options().memory != ModelLimits::none)
    s.memory_limit = static_cast<double>(engine.options().memory);
  s.warnings = notices_.counts();
  const Models* models = engine.models();
  if (models == nullptr) return s;
  s.labels_pending = models->pending();
  s.models_in_memory = models->in_memory();
  s.models_packed = models->packed();
  s.models_on_disk = models->stored();
  s.evictions = models->evictions();
  const StreamModel* model = models->only();
  if (model == nullptr) return s;
  const LearnerOptions& learner = model->learner().recipe()->options;
  s.learner = name_of(learner.rule);
  if (!engine.has_keys()) {
    if (model->clock().has_started()) s.step = model->clock().text();
    const auto periods = model->learner().periods();
    s.periods.assign(periods.begin(), periods.end());
    s.expert_names = expert_names(learner);
    s.expert_weights = model->expert_weights();
  }
  return s;
}

}  // namespace kalstream

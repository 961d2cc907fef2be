// A stream from its first line to its last, and from one process to the next.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "data/sample_reader.h"
#include "monitor/latency.h"
#include "monitor/metrics_server.h"
#include "monitor/notices.h"
#include "monitor/running_score.h"
#include "monitor/status.h"
#include "monitor/watch.h"
#include "stream/answers.h"
#include "stream/checkpoint.h"
#include "stream/line_source.h"
#include "stream/models.h"
#include "stream/signals.h"

namespace kalstream {

struct StreamOptions {
  std::string follow;  ///< a file that grows; empty: the descriptor `in`
  int in = 0;
  int out = 1;
  SampleFields fields;
  /// Makes a learner for so many inputs and outputs; throws std::invalid_argument.
  std::function<std::unique_ptr<Learner>(std::size_t inputs, std::size_t outputs)> make;
  ModelOptions model;
  std::size_t max_models = 10'000;
  bool strict = false;               ///< the first line that cannot be used ends the stream
  std::optional<bool> json_answers;  ///< unset: as the stream is written

  std::filesystem::path checkpoint;  ///< a file, or with keys a folder; empty: none
  std::uint64_t every_samples = 0;   ///< 0: by time
  std::chrono::milliseconds every{30'000};
  bool resume = false;  ///< goes on from the checkpoint, if there is one
  bool replay = false;  ///< the stream begins again with its first line: known ones are passed over

  std::filesystem::path metrics_file;
  std::optional<std::uint16_t> metrics_port;

  /// Takes what a person should read, a line without its end.
  std::function<void(const std::string&)> say = [](const std::string&) {};
};

/// Reads, answers and learns until the end of the stream, SIGTERM or SIGINT, with checkpoints at
/// intervals, at SIGHUP and at the end. What is in a checkpoint is what the lines up to there have
/// made, and nothing else: to go on from one is never to have stopped.
class StreamSession final : private ModelListener {
 public:
  /// Throws SnapshotError for a checkpoint that cannot be used, std::invalid_argument for one that
  /// may not be overwritten, std::runtime_error for files and ports that cannot be used.
  explicit StreamSession(StreamOptions options);

  /// Throws DataError in strict mode and when there was not a single sample, std::runtime_error
  /// when answers or the last checkpoint cannot be written; there is a checkpoint by then.
  void run();

  StreamStatus status() const;
  const StreamCounts& counts() const { return counts_; }
  std::uint16_t metrics_port() const { return server_ ? server_->port() : 0; }

 private:
  using Clock = std::chrono::steady_clock;

  bool has_keys() const { return !options_.fields.key.empty(); }
  std::filesystem::path stream_file() const;
  void go_on();
  void begin();
  void loop();
  void take(std::string_view line);
  bool is_known(const StreamModel& model) const;
  void refuse(const std::string& reason);
  void write_out(std::string_view text);
  const std::string& recipe_text();
  void look_at_clock();
  void write_checkpoint();
  void try_checkpoint();
  void note_checkpoint();
  void exchange(Archive& archive);
  void publish();
  void warn(Warning kind, std::string_view text);
  void warn(Watch::Findings findings);

  void answered(const Answer& answer) override;
  void scored(std::span<const double> d_hat, std::span<const Interval> interval,
              std::span<const double> d) override;
  void stepped(const StepReport& report) override;

  StreamOptions options_;
  Signals signals_;
  LineSource source_;
  std::string source_name_;
  SampleReader reader_;
  std::string recipe_text_;       // once the reader has settled what a sample is
  std::optional<Models> models_;  // from the first sample on
  AnswerWriter answers_;
  StreamCounts counts_;
  std::uint64_t lines_to_pass_ = 0;  // of a replay, known to all models
  bool replays_ = false;             // lines may come that some models know

  std::optional<RunningScore> score_;
  std::uint64_t intervals_ = 0;  // scored …
  std::uint64_t held_ = 0;       // … and of them, with the target inside
  double recent_held_ = 0;       // a running mean
  std::optional<Watch> watch_;   // of the only model
  Notices notices_;
  LatencyHistogram latency_;
  double covariance_trace_ = 0;
  Sample* sample_ = nullptr;    // being answered
  std::string output_failure_;  // why no more answers can be written

  Clock::time_point started_ = Clock::now();
  Clock::time_point last_checkpoint_ = started_;
  Clock::time_point last_publication_ = started_;
  std::uint64_t samples_at_checkpoint_ = 0;
  std::uint64_t lines_at_checkpoint_ = 0;
  std::uint64_t samples_at_publication_ = 0;
  double samples_per_second_ = StreamStatus::unknown;
  std::uint64_t checkpoints_ = 0;
  std::uint64_t failed_checkpoints_ = 0;
  std::unique_ptr<MetricsServer> server_;
};

}  // namespace kalstream

// All numbers about a running stream, and their way to Prometheus and back.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/scores.h"
#include "monitor/latency.h"
#include "monitor/notices.h"

namespace kalstream {

/// NaN: unknown, or not there.
struct StreamStatus {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::string learner;
  std::string version;
  double uptime_seconds = unknown;

  std::uint64_t lines_read = 0;
  Counts counts;
  std::uint64_t labels_pending = 0;  ///< samples still waiting for their target

  std::uint64_t checkpoints_written = 0;
  std::uint64_t checkpoint_failures = 0;
  double seconds_since_checkpoint = unknown;

  std::uint64_t models_in_memory = 0;
  std::uint64_t models_packed = 0;  ///< of those in memory
  std::uint64_t models_on_disk = 0;
  std::uint64_t evictions = 0;  ///< models moved from memory to disk

  Errors errors;         ///< over all scored samples
  Errors recent_errors;  ///< over about the last thousand
  ClassErrors classes;   ///< where the target is a class

  double coverage_nominal = unknown;  ///< how often intervals should hold the target
  double coverage = unknown;          ///< how often they did
  double coverage_recent = unknown;

  LatencySummary latency;  ///< from a line's arrival to its answer, the time it waited included
  LatencySummary work;     ///< of taking a line and learning from it, without that
  double samples_per_second = unknown;

  double covariance_trace = unknown;
  std::uint64_t resident_bytes = 0;  ///< 0: unknown
  std::uint64_t memory_bytes = 0;    ///< counted against the limit
  double memory_limit = unknown;     ///< in bytes

  std::string step;             ///< between samples, of the only model; empty: no times
  std::vector<double> periods;  ///< that its learner reckons with

  std::vector<std::string> expert_names;
  std::vector<double> expert_weights;  ///< as many, or fewer: those that are missing are unknown

  std::array<std::uint64_t, warning_kinds> warnings{};  ///< in the order of Warning
};

/// In Prometheus' text exposition format, version 0.0.4, every name with the prefix kalstream_
/// (docs/monitoring.md lists them). What is unknown is left out.
std::string prometheus_text(const StreamStatus& status);

/// The same of several streams, each with its name as the label `stream`.
std::string prometheus_text_of_all(
    const std::vector<std::pair<std::string, StreamStatus>>& streams);

/// Of metrics: all series of a family follow one after the other.
struct MetricFamily {
  std::string_view type;
  std::string_view name;
  std::string_view help;
};

/// Writes metrics in that format, in whatever order their series come.
class MetricsWriter {
 public:
  /// `prefix` comes before every name.
  explicit MetricsWriter(std::string_view prefix) : prefix_(prefix) {}

  /// Those that follow are of this stream; empty: of the only one.
  void set_stream(std::string_view name);
  /// `rest` follows the name: labels, or "_sum". What is NaN is left out.
  void add(const MetricFamily& family, std::string_view rest, double value);
  void add(const MetricFamily& family, std::string_view rest, std::integral auto value) {
    add_text(family, rest, std::to_string(value));
  }
  std::string text() const;

 private:
  void add_text(const MetricFamily& family, std::string_view rest, const std::string& value);

  std::string prefix_;
  std::string label_;
  std::map<std::string_view, std::size_t> places_;  // of families in …
  std::vector<std::string> texts_;
};

/// A text as it stands in a label.
std::string escaped_label(std::string_view label);

/// Metrics in that format by series, labels included: `kalstream_nse{window="all"}`.
using Metrics = std::map<std::string, double, std::less<>>;

/// Text that is not metrics, or too much of it.
class MetricsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// At most this much text, and as many series, are read.
inline constexpr std::size_t largest_metrics_text = std::size_t{1} << 20;
inline constexpr std::size_t most_metrics = 20000;

/// Reads text from anywhere. Labels come without blanks between them; a series that comes twice
/// keeps its last value, timestamps are ignored. Throws MetricsError, naming the line, and nothing
/// else but std::bad_alloc.
Metrics parse_prometheus(std::string_view text);

/// By name the streams that prometheus_text_of_all wrote.
std::vector<std::string> streams_in(const Metrics& metrics);
/// What it wrote of one of them, as prometheus_text would have.
Metrics metrics_of(const Metrics& all, std::string_view stream);

/// The status that prometheus_text wrote, experts by name; what is missing stays unknown or 0.
StreamStatus status_of(const Metrics& metrics);

/// Memory this process has in use, as the system counts it; 0 where that is not known.
std::uint64_t resident_bytes();

}  // namespace kalstream

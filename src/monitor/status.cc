#include "monitor/status.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace kalstream {
namespace {

using Family = MetricFamily;

constexpr std::string_view prefix = "kalstream_";
constexpr std::string_view counter = "counter";
constexpr std::string_view gauge = "gauge";
constexpr std::string_view summary = "summary";

/// Every metric that is one number in a known place, once for both ways:
/// visit(family, what follows the name, the number).
template <class Status, class Visit>
void each_number(Status& s, const Visit& visit) {
  const auto count = [&](std::string_view name, std::string_view help, auto& value) {
    visit({counter, name, help}, "", value);
  };
  const auto level = [&](std::string_view name, std::string_view help, auto& value) {
    visit({gauge, name, help}, "", value);
  };
  level("uptime_seconds", "Seconds since the stream was opened.", s.uptime_seconds);
  count("lines_read_total", "Lines read.", s.lines_read);
  count("lines_refused_total", "Lines that could not be used.", s.counts.refused);
  count("samples_predicted_total", "Samples predicted.", s.counts.samples);
  count("targets_learnt_total", "Targets learnt.", s.counts.learnt);
  count("targets_missing_total", "Samples passed without a target.", s.counts.missing);
  level("labels_pending", "Samples waiting for their target.", s.labels_pending);
  count("labels_late_total", "Targets that came too late to be learnt.", s.counts.late);
  count("updates_gated_total", "Updates the rule chose not to make.", s.counts.gated);
  count("updates_rejected_total", "Updates the learner's own guard refused.", s.counts.rejected);
  count("inputs_held_total", "Missing inputs that the last value stood in for.", s.counts.held);
  count("anomalies_total", "Targets so strange that they were told.", s.counts.anomalies);
  count("alarms_total", "Alarms that have begun.", s.counts.alarms);
  count("samples_late_total", "Samples whose time had passed.", s.counts.untimely);
  count("samples_repeated_total", "Samples of the time of the one before.", s.counts.repeated);
  count("samples_passed_total", "Samples that never came, as times tell.", s.counts.passed);
  count("checkpoints_written_total", "Checkpoints written.", s.checkpoints_written);
  count("checkpoint_failures_total", "Checkpoints that could not be written.",
        s.checkpoint_failures);
  level("checkpoint_age_seconds", "Seconds since the last checkpoint.", s.seconds_since_checkpoint);
  level("models_in_memory", "Models in memory.", s.models_in_memory);
  level("models_packed", "Models in memory that wait there packed.", s.models_packed);
  level("models_on_disk", "Models on disk.", s.models_on_disk);
  count("evictions_total", "Models moved from memory to disk.", s.evictions);

  level("memory_bytes", "Memory that counts against the limit.", s.memory_bytes);
  level("memory_limit_bytes", "Memory that may be used.", s.memory_limit);

  const auto both = [&](std::string_view name, std::string_view help, auto& all, auto& recent) {
    visit({gauge, name, help}, "{window=\"all\"}", all);
    visit({gauge, name, help}, "{window=\"recent\"}", recent);
  };
  both("nse", "Mean squared error over the variance of the target.", s.errors.nse,
       s.recent_errors.nse);
  both("rmse", "Root of the mean squared error, in units of the target.", s.errors.rmse,
       s.recent_errors.rmse);
  both("mae", "Mean absolute error, in units of the target.", s.errors.mae, s.recent_errors.mae);
  both("log_loss", "Mean of minus ln p of the class that came.", s.classes.log_loss,
       s.classes.recent_log_loss);
  both("accuracy_ratio", "How often the most probable class came.", s.classes.accuracy,
       s.classes.recent_accuracy);
  level("kappa", "Accuracy beyond chance, Cohen's kappa.", s.classes.kappa);
  level("auc", "Area under the curve, the mean over classes.", s.classes.auc);
  visit({gauge, "f1", "F1 score, the mean over classes."}, "", s.classes.f1);
  level("calibration_error", "How far probabilities are from frequencies, ten bins.",
        s.classes.calibration);
  level("coverage_nominal_ratio", "How often intervals should hold the target.",
        s.coverage_nominal);
  both("coverage_ratio", "How often intervals held the target.", s.coverage, s.coverage_recent);

  const Family latency = {summary, "latency_seconds", "Time a sample took."};
  visit(latency, "{quantile=\"0.5\"}", s.latency.p50);
  visit(latency, "{quantile=\"0.9\"}", s.latency.p90);
  visit(latency, "{quantile=\"0.99\"}", s.latency.p99);
  visit(latency, "{quantile=\"0.999\"}", s.latency.p999);
  visit(latency, "_sum", s.latency.sum);
  visit(latency, "_count", s.latency.count);
  level("latency_max_seconds", "The longest time a sample took.", s.latency.max);
  level("samples_per_second", "Samples per second, lately.", s.samples_per_second);
  level("covariance_trace", "Sum of the traces of all covariances.", s.covariance_trace);

  for (std::size_t k = 0; k < warning_kinds; ++k)
    visit({counter, "warnings_total", "Warnings, by kind."},
          fmt::format("{{kind=\"{}\"}}", to_string(static_cast<Warning>(k))), s.warnings[k]);
}

constexpr Family info = {gauge, "info", "What is running; always 1."};
constexpr Family memory = {gauge, "resident_memory_bytes", "Memory in use."};
constexpr Family expert_weight = {gauge, "expert_weight",
                                  "How much each expert of a mixture counts."};

/// What `escaped_label` made of a label, from the place after its first quote to the last.
std::string unescaped(std::string_view text) {
  std::string label;
  for (std::size_t i = 0; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      label += text[i];
      continue;
    }
    const char c = text[++i];
    label += c == 'n' ? '\n' : c;
  }
  return label;
}

void set(double& to, double value) { to = value; }
void set(std::uint64_t& to, double value) {
  constexpr double most = 0x1p63;
  to = value >= 0 && value <= most ? static_cast<std::uint64_t>(value) : 0;
}

// A line of metrics is taken from its front.
constexpr std::string_view blanks = " \t";
constexpr std::string_view name_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:0123456789";

std::string_view take(std::string_view& line, std::size_t n) {
  const std::string_view part = line.substr(0, n);
  line.remove_prefix(part.size());
  return part;
}
std::string_view take_any_of(std::string_view& line, std::string_view characters) {
  return take(line, line.find_first_not_of(characters));
}
bool take_character(std::string_view& line, char c) {
  take_any_of(line, blanks);
  return line.starts_with(c) && !take(line, 1).empty();
}

/// Empty: there is none.
std::string_view take_name(std::string_view& line) {
  take_any_of(line, blanks);
  const bool begins = !line.empty() && (line[0] < '0' || line[0] > '9');
  return begins ? take_any_of(line, name_characters) : "";
}

/// Between quotes, escapes left as they are.
std::optional<std::string_view> take_quoted(std::string_view& line) {
  if (!take_character(line, '"')) return std::nullopt;
  std::size_t n = 0;
  while (n < line.size() && line[n] != '"') n += line[n] == '\\' ? 2 : 1;
  if (n >= line.size()) return std::nullopt;
  return take(line, n + 1).substr(0, n);
}

std::optional<double> take_number(std::string_view& line) {
  take_any_of(line, blanks);
  std::string_view word = take(line, line.find_first_of(blanks));
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// {a="x",b="y"} after the name, to the end of `series`; false where it is none of that.
bool take_labels(std::string_view& line, std::string& series) {
  series += '{';
  for (bool first = true; !take_character(line, '}'); first = false) {
    const bool follows = first || series.ends_with(',');
    const auto label = follows ? take_name(line) : "";
    if (label.empty() || !take_character(line, '=')) return false;
    const auto value = take_quoted(line);
    if (!value) return false;
    series.append(label).append("=\"").append(*value).append("\"");
    if (take_character(line, ',')) series += ',';
  }
  if (series.ends_with(',')) series.pop_back();
  series += '}';
  return true;
}

/// Nothing where it is not as it should be.
std::optional<std::pair<std::string, double>> take_sample(std::string_view line) {
  std::string series(take_name(line));
  if (series.empty()) return std::nullopt;
  if (take_character(line, '{') && !take_labels(line, series)) return std::nullopt;
  const auto value = take_number(line);
  take_any_of(line, blanks);
  if (!value || (!line.empty() && !take_number(line))) return std::nullopt;  // a time may follow
  take_any_of(line, blanks);
  if (!line.empty()) return std::nullopt;
  return std::pair(std::move(series), *value);
}

void write(MetricsWriter& writer, const StreamStatus& status) {
  writer.add(info,
             fmt::format("{{learner=\"{}\",version=\"{}\"}}", escaped_label(status.learner),
                         escaped_label(status.version)),
             1);
  each_number(status, [&](const Family& family, std::string_view rest, auto value) {
    writer.add(family, rest, value);
  });
  if (status.resident_bytes > 0) writer.add(memory, "", status.resident_bytes);
  const std::size_t n = std::min(status.expert_names.size(), status.expert_weights.size());
  std::map<std::string_view, std::size_t> seen;  // one name twice would be one series twice
  for (std::size_t k = 0; k < n; ++k) {
    std::string label = escaped_label(status.expert_names[k]);
    if (const std::size_t times = ++seen[status.expert_names[k]]; times > 1)
      label += fmt::format(" ({})", times);
    writer.add(expert_weight, fmt::format("{{expert=\"{}\"}}", label), status.expert_weights[k]);
  }
}

}  // namespace

std::string escaped_label(std::string_view label) {
  std::string text;
  for (const char c : label) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? "\\n" : std::string(1, c);
  }
  return text;
}

void MetricsWriter::set_stream(std::string_view name) {
  label_ = name.empty() ? "" : fmt::format("stream=\"{}\"", escaped_label(name));
}

void MetricsWriter::add_text(const MetricFamily& family, std::string_view rest,
                             const std::string& value) {
  const auto [found, is_new] = places_.try_emplace(family.name, texts_.size());
  if (is_new)
    texts_.push_back(fmt::format("# HELP {0}{1} {2}\n# TYPE {0}{1} {3}\n", prefix_, family.name,
                                 family.help, family.type));
  std::string series(rest);
  if (!label_.empty())
    series = rest.starts_with('{') ? fmt::format("{{{},{}", label_, rest.substr(1))
                                   : fmt::format("{}{{{}}}", rest, label_);
  texts_[found->second] += fmt::format("{}{}{} {}\n", prefix_, family.name, series, value);
}

void MetricsWriter::add(const MetricFamily& family, std::string_view rest, double value) {
  if (std::isnan(value)) return;
  add_text(family, rest,
           std::isinf(value) ? (value > 0 ? "+Inf" : "-Inf") : fmt::format("{}", value));
}

std::string MetricsWriter::text() const {
  std::string all;
  for (const std::string& text : texts_) all += text;
  return all;
}

std::string prometheus_text(const StreamStatus& status) {
  MetricsWriter writer(prefix);
  write(writer, status);
  return writer.text();
}

std::string prometheus_text_of_all(
    const std::vector<std::pair<std::string, StreamStatus>>& streams) {
  MetricsWriter writer(prefix);
  for (const auto& [name, status] : streams) {
    writer.set_stream(name);
    write(writer, status);
  }
  return writer.text();
}

Metrics parse_prometheus(std::string_view text) {
  if (text.size() > largest_metrics_text)
    throw MetricsError(fmt::format("more than {} bytes are no metrics", largest_metrics_text));
  Metrics metrics;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take_any_of(line, blanks);
    if (line.empty() || line[0] == '#') continue;
    auto sample = take_sample(line);
    if (!sample) throw MetricsError(fmt::format("line {} is no metric", number));
    if (metrics.size() == most_metrics)
      throw MetricsError(fmt::format("there are more than {} metrics", most_metrics));
    metrics.insert_or_assign(std::move(sample->first), sample->second);
  }
  return metrics;
}

std::vector<std::string> streams_in(const Metrics& metrics) {
  const std::string start = fmt::format("{}lines_read_total{{stream=\"", prefix);
  std::vector<std::string> names;
  for (auto it = metrics.lower_bound(start); it != metrics.end() && it->first.starts_with(start);
       ++it)
    names.push_back(unescaped(std::string_view(it->first).substr(start.size())));
  return names;
}

// The name is always the first label.
Metrics metrics_of(const Metrics& all, std::string_view stream) {
  const std::string label = fmt::format("{{stream=\"{}\"", escaped_label(stream));
  Metrics those;
  for (const auto& [series, value] : all) {
    const std::size_t at = series.find('{');
    if (at == std::string::npos) {
      those.emplace(series, value);  // of the whole process
      continue;
    }
    if (series.compare(at, label.size(), label) != 0) continue;
    const std::string_view rest = std::string_view(series).substr(at + label.size());
    if (rest == "}")
      those.insert_or_assign(series.substr(0, at), value);
    else if (rest.starts_with(','))
      those.insert_or_assign(fmt::format("{}{{{}", series.substr(0, at), rest.substr(1)), value);
  }
  return those;
}

StreamStatus status_of(const Metrics& metrics) {
  StreamStatus status;
  const auto read = [&](const Family& family, std::string_view rest, auto& value) {
    const auto found = metrics.find(fmt::format("{}{}{}", prefix, family.name, rest));
    if (found != metrics.end()) set(value, found->second);
  };
  each_number(status, read);
  read(memory, "", status.resident_bytes);
  // Series of one name with one label lie together.
  const auto each_of = [&](const std::string& start, const auto& visit) {
    for (auto it = metrics.lower_bound(start); it != metrics.end() && it->first.starts_with(start);
         ++it)
      visit(std::string_view(it->first).substr(start.size()), it->second);
  };
  each_of(fmt::format("{}{}{{expert=\"", prefix, expert_weight.name),
          [&](std::string_view label, double value) {
            status.expert_names.push_back(unescaped(label));
            status.expert_weights.push_back(value);
          });
  each_of(fmt::format("{}{}{{learner=\"", prefix, info.name), [&](std::string_view label, double) {
    constexpr std::string_view version = "\",version=\"";
    status.learner = unescaped(label);
    if (const auto at = label.find(version); at != std::string_view::npos)
      status.version = unescaped(label.substr(at + version.size()));
  });
  return status;
}

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  if (!(in >> all >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace kalstream

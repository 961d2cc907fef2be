#include "stream_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/results.h"
#include "view/table.h"

namespace kalstream::cli {

using view::format_number;

std::string period_text(const std::vector<double>& periods) {
  return periods.empty() ? "none" : fmt::format("{:.6g}", fmt::join(periods, ", "));
}

std::string time_report(const TimeChoice& a, const RunResult& run) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  const bool is_one = run.timelines.size() == 1;
  const StreamClock clock = is_one ? run.timelines.front().clock : StreamClock();
  if (clock.has_started()) add("step: " + clock.text());
  const auto count = [&](std::size_t n, const char* what) {
    if (n > 0) add(fmt::format("{} {}", n, what));
  };
  count(run.passed_steps, "missing steps were passed");
  count(run.late_rows, "late rows were left out");
  count(run.repeated_rows, "rows of a time that was there were left out");
  count(run.ahead_rows, "rows are ahead of their time");
  if (!is_one) return text;
  const std::vector<double>& found = run.periods;
  const auto told = periods_of(a);
  const std::vector<double> by_times = clock.periods();
  if (told)
    add(fmt::format("periods: {} (--period)", period_text(*told)));
  else if (!by_times.empty())
    add(fmt::format("periods: {} (told by the times)", period_text(by_times)));
  if (!found.empty() && !told && by_times.empty())
    add(fmt::format("periods: {} (found)", period_text(found)));
  else if (!found.empty() && found != (told ? *told : by_times))
    add(fmt::format("the learner reckons with {}", period_text(found)));
  return text;
}

std::string class_summary(const ClassErrors& e) {
  return fmt::format("log loss {}, accuracy {}, kappa {}, AUC {}, F1 {}, calibration error {}",
                     format_number(e.log_loss), format_number(e.accuracy), format_number(e.kappa),
                     format_number(e.auc), format_number(e.f1), format_number(e.calibration));
}

std::string summary(const StreamStatus& s) {
  const auto time = [](double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.3g} µs", 1e6 * seconds)
                          : fmt::format("{:.3g} ms", 1e3 * seconds);
  };
  std::string text = fmt::format("{} samples predicted, {} targets learnt, {} missing",
                                 s.counts.samples, s.counts.learnt, s.counts.missing);
  const auto also = [&](std::uint64_t n, const char* what) {
    if (n > 0) text += fmt::format(", {} {}", n, what);
  };
  also(s.labels_pending, "still waiting for a target");
  also(s.counts.late, "targets too late");
  also(s.counts.held, "inputs held");
  also(s.counts.anomalies, "anomalies");
  also(s.counts.alarms, "alarms");
  also(s.counts.passed, "never came");
  also(s.counts.untimely, "too late");
  also(s.counts.repeated, "repeated");
  also(s.counts.refused, "lines refused");
  also(s.counts.rejected, "updates rejected");
  also(s.models_in_memory + s.models_on_disk > 1 ? s.models_in_memory + s.models_on_disk : 0,
       "models");
  if (!s.step.empty()) text += "\nstep: " + s.step;
  if (!s.periods.empty())
    text += fmt::format("{}periods: {}", s.step.empty() ? "\n" : "; ", period_text(s.periods));
  if (!std::isnan(s.errors.rmse)) {
    text += fmt::format("\nRMSE {}, MAE {}, NSE {}", format_number(s.errors.rmse),
                        format_number(s.errors.mae), format_number(s.errors.nse));
    if (s.counts.samples > 2000)
      text += fmt::format("; NSE of the last thousand {}", format_number(s.recent_errors.nse));
  }
  if (!std::isnan(s.classes.log_loss)) {
    text += "\n" + class_summary(s.classes);
    if (s.counts.samples > 2000)
      text += fmt::format("; log loss of the last thousand {}",
                          format_number(s.classes.recent_log_loss));
  }
  if (!std::isnan(s.coverage))
    text += fmt::format("\nintervals held {:.1f} % of the targets ({:.0f} % wanted)",
                        100 * s.coverage, 100 * s.coverage_nominal);
  if (s.latency.count > 0)
    text += fmt::format("\nlatency per sample: median {}, 99 % within {}, longest {}",
                        time(s.latency.p50), time(s.latency.p99), time(s.latency.max));
  constexpr double queue = 5;  // times what a line takes
  if (s.latency.p50 > queue * s.work.p50)
    text += fmt::format("; lines came faster and had to wait: each takes {}", time(s.work.p50));
  const auto size = [](double bytes) {
    return bytes < 0x1p30 ? fmt::format("{:.1f} MiB", bytes / 0x1p20)
                          : fmt::format("{:.2f} GiB", bytes / 0x1p30);
  };
  text += "\nmemory: " + size(static_cast<double>(s.memory_bytes));
  if (!std::isnan(s.memory_limit)) text += " of " + size(s.memory_limit) + " allowed";
  if (s.resident_bytes > 0)
    text += ", " + size(static_cast<double>(s.resident_bytes)) + " resident";
  if (s.models_on_disk > 0) text += fmt::format("; {} models on disk", s.models_on_disk);
  return text;
}

std::string summary_json(const StreamStatus& s) {
  const auto times = [](const LatencySummary& l) {
    return nlohmann::ordered_json{
        {"median", json_number(1e6 * l.p50)},
        {"p99", json_number(1e6 * l.p99)},
        {"p999", json_number(1e6 * l.p999)},
        {"max", json_number(1e6 * l.max)},
        {"mean", json_number(1e6 * l.sum / static_cast<double>(l.count))}};
  };
  nlohmann::ordered_json json{{"learner", s.learner},
                              {"samples", s.counts.samples},
                              {"learnt", s.counts.learnt},
                              {"missing", s.counts.missing},
                              {"pending", s.labels_pending},
                              {"late", s.counts.late},
                              {"held", s.counts.held},
                              {"anomalies", s.counts.anomalies},
                              {"alarms", s.counts.alarms},
                              {"never_came", s.counts.passed},
                              {"too_late", s.counts.untimely},
                              {"repeated", s.counts.repeated},
                              {"step", s.step},
                              {"periods", s.periods},
                              {"lines", s.lines_read},
                              {"refused", s.counts.refused},
                              {"gated", s.counts.gated},
                              {"rejected", s.counts.rejected},
                              {"models", s.models_in_memory + s.models_on_disk},
                              {"models_packed", s.models_packed},
                              {"models_on_disk", s.models_on_disk},
                              {"checkpoints", s.checkpoints_written},
                              {"failed_checkpoints", s.checkpoint_failures},
                              {"nse", json_number(s.errors.nse)},
                              {"rmse", json_number(s.errors.rmse)},
                              {"mae", json_number(s.errors.mae)},
                              {"nominal_coverage", json_number(s.coverage_nominal)},
                              {"coverage", json_number(s.coverage)},
                              {"seconds", json_number(s.uptime_seconds)},
                              {"latency_us", times(s.latency)},
                              {"work_us", times(s.work)},
                              {"resident_bytes", s.resident_bytes},
                              {"memory_bytes", s.memory_bytes},
                              {"memory_limit_bytes", json_number(s.memory_limit)}};
  if (!std::isnan(s.classes.log_loss)) json["classes"] = class_json(s.classes);
  return json.dump(2) + "\n";
}

}  // namespace kalstream::cli

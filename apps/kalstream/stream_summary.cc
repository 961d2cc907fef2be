#include "stream_summary.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/results.h"
#include "time_options.h"
#include "view/table.h"

namespace kalstream::cli {

std::string class_summary(const ClassErrors& e) {
  const auto number = [](double v) { return view::format_number(v, 4); };
  return fmt::format("log loss {}, accuracy {}, kappa {}, AUC {}, F1 {}, calibration error {}",
                     number(e.log_loss), number(e.accuracy), number(e.kappa), number(e.auc),
                     number(e.f1), number(e.calibration));
}

std::string summary(const StreamStatus& s) {
  const auto number = [](double v) { return view::format_number(v, 4); };
  const auto time = [](double seconds) {
    return seconds < 1e-3 ? fmt::format("{:.3g} µs", 1e6 * seconds)
                          : fmt::format("{:.3g} ms", 1e3 * seconds);
  };
  std::string text = fmt::format("{} samples predicted, {} targets learnt, {} missing",
                                 s.samples_predicted, s.targets_learnt, s.targets_missing);
  const auto also = [&](std::uint64_t n, const char* what) {
    if (n > 0) text += fmt::format(", {} {}", n, what);
  };
  also(s.labels_pending, "still waiting for a target");
  also(s.labels_late, "targets too late");
  also(s.inputs_held, "inputs held");
  also(s.anomalies, "anomalies");
  also(s.samples_passed, "never came");
  also(s.samples_late, "too late");
  also(s.samples_repeated, "repeated");
  also(s.lines_refused, "lines refused");
  also(s.updates_rejected, "updates rejected");
  also(s.models_in_memory + s.models_on_disk > 1 ? s.models_in_memory + s.models_on_disk : 0,
       "models");
  if (!s.step.empty()) text += "\nstep: " + s.step;
  if (!s.periods.empty())
    text += fmt::format("{}periods: {}", s.step.empty() ? "\n" : "; ", period_text(s.periods));
  if (!std::isnan(s.errors.rmse)) {
    text += fmt::format("\nRMSE {}, MAE {}, NSE {}", number(s.errors.rmse), number(s.errors.mae),
                        number(s.errors.nse));
    if (s.samples_predicted > 2000)
      text += fmt::format("; NSE of the last thousand {}", number(s.recent_errors.nse));
  }
  if (!std::isnan(s.classes.log_loss)) {
    text += "\n" + class_summary(s.classes);
    if (s.samples_predicted > 2000)
      text += fmt::format("; log loss of the last thousand {}", number(s.classes.recent_log_loss));
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
  const auto number = [](double v) {
    return std::isfinite(v) ? nlohmann::ordered_json(v) : nlohmann::ordered_json();
  };
  const auto times = [&](const LatencySummary& l) {
    return nlohmann::ordered_json{{"median", number(1e6 * l.p50)},
                                  {"p99", number(1e6 * l.p99)},
                                  {"p999", number(1e6 * l.p999)},
                                  {"max", number(1e6 * l.max)},
                                  {"mean", number(1e6 * l.sum / static_cast<double>(l.count))}};
  };
  nlohmann::ordered_json json{{"learner", s.learner},
                              {"samples", s.samples_predicted},
                              {"learnt", s.targets_learnt},
                              {"missing", s.targets_missing},
                              {"pending", s.labels_pending},
                              {"late", s.labels_late},
                              {"held", s.inputs_held},
                              {"anomalies", s.anomalies},
                              {"never_came", s.samples_passed},
                              {"too_late", s.samples_late},
                              {"repeated", s.samples_repeated},
                              {"step", s.step},
                              {"periods", s.periods},
                              {"lines", s.lines_read},
                              {"refused", s.lines_refused},
                              {"gated", s.updates_gated},
                              {"rejected", s.updates_rejected},
                              {"models", s.models_in_memory + s.models_on_disk},
                              {"models_packed", s.models_packed},
                              {"models_on_disk", s.models_on_disk},
                              {"checkpoints", s.checkpoints_written},
                              {"failed_checkpoints", s.checkpoint_failures},
                              {"nse", number(s.errors.nse)},
                              {"rmse", number(s.errors.rmse)},
                              {"mae", number(s.errors.mae)},
                              {"nominal_coverage", number(s.coverage_nominal)},
                              {"coverage", number(s.coverage)},
                              {"seconds", number(s.uptime_seconds)},
                              {"latency_us", times(s.latency)},
                              {"work_us", times(s.work)},
                              {"resident_bytes", s.resident_bytes},
                              {"memory_bytes", s.memory_bytes},
                              {"memory_limit_bytes", number(s.memory_limit)}};
  if (!std::isnan(s.classes.log_loss)) json["classes"] = class_json(s.classes);
  return json.dump(2) + "\n";
}

}  // namespace kalstream::cli

#include "io/results.h"

#include <fmt/chrono.h>

#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "kalstream/settings.h"
#include "kalstream/version.h"

namespace kalstream {
namespace {

using Json = nlohmann::ordered_json;

// Nothing without bounds.
void add_bounds(Json& to, const BoundsScore& bounds, double nominal) {
  if (!(nominal > 0)) return;
  to["nominal_coverage"] = nominal;
  to["coverage"] = json_number(bounds.coverage);
  to["width_mean"] = json_number(bounds.mean_width);
  to["width_median"] = json_number(bounds.median_width);
}

Json targets_json(const Dataset& data, const std::vector<TargetScore>& scores, double nominal) {
  Json targets = Json::array();
  for (std::size_t k = 0; k < scores.size(); ++k) {
    targets.push_back({{"name", data.target_names[k]},
                       {"nse", json_number(scores[k].nse)},
                       {"rmse", json_number(scores[k].rmse)},
                       {"mae", json_number(scores[k].mae)}});
    add_bounds(targets.back(), scores[k].bounds, nominal);
  }
  return targets;
}

Json summary_json(const Summary& s) {
  return {{"learner", s.learner},
          {"seeds", s.seeds},
          {"steps", s.steps},
          {"nse_mean", json_number(s.nse_mean)},
          {"nse_median", json_number(s.nse_median)},
          {"nse_p05", json_number(s.nse_p05)},
          {"nse_p95", json_number(s.nse_p95)},
          {"nse_deviation", json_number(s.nse_deviation)},
          {"nse_band_middle", json_number(s.nse_band_middle)},
          {"nse_band_half", json_number(s.nse_band_half)},
          {"rmse_mean", json_number(s.rmse_mean)},
          {"mae_mean", json_number(s.mae_mean)},
          {"knse_mean", json_number(s.knse_mean)},
          {"knse_band_middle", json_number(s.knse_band_middle)},
          {"knse_band_half", json_number(s.knse_band_half)},
          {"log_loss_mean", json_number(s.log_loss_mean)},
          {"accuracy_mean", json_number(s.accuracy_mean)},
          {"update_fraction", json_number(s.update_fraction)},
          {"us_per_step", json_number(s.us_per_step)},
          {"sustained_median", json_number(s.sustained_median)},
          {"rejected_updates", s.rejected_updates}};
}

Json run_json(const std::string& learner, std::uint64_t seed, const RunResult& run) {
  return {{"learner", learner},
          {"seed", seed},
          {"nse", json_number(run.nse)},
          {"rmse", json_number(run.rmse)},
          {"mae", json_number(run.mae)},
          {"knse", json_number(run.knse)},
          {"seconds", run.seconds},
          {"sustained_at", run.sustained_at ? Json(*run.sustained_at) : Json(nullptr)},
          {"steps", run.steps},
          {"scored", run.scored},
          {"missing_targets", run.missing_targets},
          {"skipped_rows", run.skipped_rows},
          {"rejected_updates", run.rejected_updates},
          {"update_fraction", run.update_fraction}};
}

Json time_json(const RunResult& run) {
  Json time = Json::object();
  if (run.timelines.size() == 1) {
    time["step"] = run.timelines.front().clock.text();
    time["periods"] = run.timelines.front().clock.periods();
  }
  time["missing_steps"] = run.passed_steps;
  time["late"] = run.late_rows;
  time["repeated"] = run.repeated_rows;
  time["ahead"] = run.ahead_rows;
  return time;
}

Json reliability_json(const ClassScores& scores) {
  Json json = Json::array();
  for (const ReliabilityBin& bin : scores.reliability())
    json.push_back(
        {{"count", bin.count}, {"confidence", bin.confidence}, {"accuracy", bin.accuracy}});
  return json;
}

// As --set takes them.
Json settings_json(const LearnerOptions& options) {
  Json settings = Json::object();
  for (const Setting& s : settings_of(options)) settings[s.key] = s.value;
  return settings;
}

Json experts_json(const LearnerOptions& options, const std::vector<double>& weights) {
  Json experts = Json::array();
  const auto names = expert_names(options);
  for (std::size_t j = 0; j < names.size(); ++j)
    experts.push_back({{"name", names[j]}, {"weight", json_number(weights[j])}});
  return experts;
}

}  // namespace

Json json_number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

Json class_json(const ClassErrors& e) {
  return {{"log_loss", json_number(e.log_loss)},
          {"accuracy", json_number(e.accuracy)},
          {"kappa", json_number(e.kappa)},
          {"auc", json_number(e.auc)},
          {"f1", json_number(e.f1)},
          {"calibration_error", json_number(e.calibration)},
          {"recent_log_loss", json_number(e.recent_log_loss)},
          {"recent_accuracy", json_number(e.recent_accuracy)}};
}

// Rows are counted from 1.
Json alarms_json(const Dataset& data, const RunResult& run) {
  Json all = Json::array();
  for (const RunAlarm& a : run.alarms) {
    Json one{{"kind", to_string(a.alarm.kind)}};
    if (!data.keys.empty()) one["key"] = a.key;
    const auto row = [&](const char* name, std::size_t t) {
      one[name] = t == RunAlarm::none ? Json(nullptr) : Json(t + 1);
      if (!data.times.empty() && t != RunAlarm::none)
        one[std::string(name) + "_time"] = data.times[t];
    };
    row("start", a.start);
    row("end", a.end);
    if (data.n_targets() > 1) one["target"] = data.target_names[a.alarm.output];
    one["value"] = json_number(a.alarm.value);
    one["severity"] = json_number(a.alarm.severity);
    all.push_back(std::move(one));
  }
  return all;
}

std::string results_json(const Dataset& data, const std::vector<Contender>& contenders,
                         double nominal, const std::vector<Outcome>& outcomes) {
  Json root{{"data",
             {{"source", data.source},
              {"rows", data.rows()},
              {"inputs", data.input_names},
              {"targets", data.target_names}}},
            {"version", version()},
            {"summary", Json::array()},
            {"runs", Json::array()}};
  const RunResult& first = outcomes.front().runs.front();
  if (!data.keys.empty()) root["data"]["keys"] = first.timelines.size();
  if (!data.times.empty()) root["data"]["time"] = time_json(first);
  for (std::size_t c = 0; c < outcomes.size(); ++c) {
    const Outcome& outcome = outcomes[c];
    const LearnerOptions options = options_on(contenders[c], data);
    const Summary summary = summarise(outcome);
    root["summary"].push_back(summary_json(summary));
    add_bounds(root["summary"].back(), summary.bounds, nominal);
    root["summary"].back()["targets"] = targets_json(data, summarise_targets(outcome), nominal);
    root["summary"].back()["settings"] = settings_json(options);
    for (std::size_t s = 0; s < outcome.seeds.size(); ++s) {
      const RunResult& run = outcome.runs[s];
      root["runs"].push_back(run_json(outcome.name, outcome.seeds[s], run));
      Json& last = root["runs"].back();
      if (!run.held.empty())
        last["held"] = std::accumulate(run.held.begin(), run.held.end(), std::size_t{0});
      if (run.late_labels > 0) last["late_labels"] = run.late_labels;
      if (run.alarm_rate > 0) last["anomalies"] = run.anomalies;
      if (run.has_alarms) last["alarms"] = alarms_json(data, run);
      add_bounds(last, run.bounds, nominal);
      last["targets"] = targets_json(data, run.targets, nominal);
      if (run.classes) {
        last["classes"] = run.classes->names;
        last["scores"] = class_json(run.classes->scores.errors());
        last["reliability"] = reliability_json(run.classes->scores);
      }
      if (!run.periods.empty()) last["periods"] = run.periods;
      if (!run.weights.empty()) last["experts"] = experts_json(options, run.weights);
    }
  }
  // Names come from files: bytes that are not UTF-8 are replaced rather than thrown over.
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string machine_name() {
  std::string name = "unknown processor";
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) name = line.substr(colon + 2);
    break;
  }
  const unsigned cores = std::thread::hardware_concurrency();
  return fmt::format("{}, {} core{}", name, cores, cores == 1 ? "" : "s");
}

std::string today() { return fmt::format("{:%F}", fmt::gmtime(std::time(nullptr))); }

}  // namespace kalstream

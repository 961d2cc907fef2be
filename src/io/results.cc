#include "io/results.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/csv_writer.h"
#include "kalstream/settings.h"
#include "kalstream/version.h"

namespace kalstream {
namespace {

using Json = nlohmann::ordered_json;

Json number(double v) { return std::isfinite(v) ? Json(v) : Json(nullptr); }

Json summary_json(const Summary& s) {
  return {{"learner", s.learner},
          {"seeds", s.seeds},
          {"steps", s.steps},
          {"nse_mean", number(s.nse_mean)},
          {"nse_median", number(s.nse_median)},
          {"nse_p05", number(s.nse_p05)},
          {"nse_p95", number(s.nse_p95)},
          {"nse_deviation", number(s.nse_deviation)},
          {"nse_band_middle", number(s.nse_band_middle)},
          {"nse_band_half", number(s.nse_band_half)},
          {"knse_mean", number(s.knse_mean)},
          {"knse_band_middle", number(s.knse_band_middle)},
          {"knse_band_half", number(s.knse_band_half)},
          {"update_fraction", number(s.update_fraction)},
          {"us_per_step", number(s.us_per_step)},
          {"sustained_median", number(s.sustained_median)},
          {"rejected_updates", s.rejected_updates}};
}

Json run_json(const std::string& learner, std::uint64_t seed, const RunResult& run) {
  return {{"learner", learner},
          {"seed", seed},
          {"nse", number(run.nse)},
          {"knse", number(run.knse)},
          {"seconds", run.seconds},
          {"sustained_at", run.sustained_at ? Json(*run.sustained_at) : Json(nullptr)},
          {"steps", run.steps},
          {"scored", run.scored},
          {"missing_targets", run.missing_targets},
          {"skipped_rows", run.skipped_rows},
          {"rejected_updates", run.rejected_updates},
          {"update_fraction", run.update_fraction}};
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
    experts.push_back({{"name", names[j]}, {"weight", number(weights[j])}});
  return experts;
}

}  // namespace

std::string results_json(const Dataset& data, const std::vector<Contender>& contenders,
                         const std::vector<Outcome>& outcomes) {
  Json root{{"data",
             {{"source", data.source},
              {"rows", data.rows()},
              {"inputs", data.input_names},
              {"targets", data.target_names}}},
            {"version", version()},
            {"summary", Json::array()},
            {"runs", Json::array()}};
  for (std::size_t c = 0; c < outcomes.size(); ++c) {
    const Outcome& outcome = outcomes[c];
    const LearnerOptions options = options_on(contenders[c], data);
    root["summary"].push_back(summary_json(summarise(outcome)));
    root["summary"].back()["settings"] = settings_json(options);
    for (std::size_t s = 0; s < outcome.seeds.size(); ++s) {
      root["runs"].push_back(run_json(outcome.name, outcome.seeds[s], outcome.runs[s]));
      if (!outcome.runs[s].weights.empty())
        root["runs"].back()["experts"] = experts_json(options, outcome.runs[s].weights);
    }
  }
  // Names come from files: bytes that are not UTF-8 are replaced rather than thrown over.
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string predictions_csv(const Dataset& data, const std::vector<Outcome>& outcomes) {
  fmt::memory_buffer out;
  const auto append = std::back_inserter(out);
  fmt::format_to(append, "learner,seed,step");
  for (const auto& name : data.target_names)
    fmt::format_to(append, ",{},{}", csv_field(name), csv_field(name + "_predicted"));
  fmt::format_to(append, "\n");
  const auto cell = [&](double v) {
    std::isnan(v) ? fmt::format_to(append, ",") : fmt::format_to(append, ",{}", v);
  };
  const std::size_t n_d = data.n_targets();
  for (const Outcome& outcome : outcomes)
    for (std::size_t s = 0; s < outcome.seeds.size(); ++s)
      for (std::size_t t = 0; t < outcome.runs[s].steps; ++t) {
        fmt::format_to(append, "{},{},{}", outcome.name, outcome.seeds[s], t + 1);
        for (std::size_t k = 0; k < n_d; ++k) {
          cell(data.d(t)[k]);
          cell(outcome.runs[s].prediction[t * n_d + k]);
        }
        fmt::format_to(append, "\n");
      }
  return fmt::to_string(out);
}

}  // namespace kalstream

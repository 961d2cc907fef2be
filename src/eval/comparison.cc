#include "eval/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

#include "eval/parallel.h"
#include "eval/statistics.h"

namespace kalstream {

bool takes_gaps(MissingInputs missing, const std::vector<Contender>& contenders) {
  if (missing != MissingInputs::learn) return missing == MissingInputs::hold;
  return std::ranges::all_of(
      contenders, [](const Contender& c) { return takes_missing_inputs(c.options.rule); });
}

LearnerOptions options_on(const Contender& contender, const Dataset& data) {
  if (data.schema.has_classes())
    return engine_for(contender, contender.options.network.seed).recipe_for(data.schema).options;
  LearnerOptions options = contender.options;
  options.network.inputs = data.n_inputs();
  options.network.outputs = data.n_targets();
  return options;
}

std::unique_ptr<Learner> make_contender(const Contender& contender, const Dataset& data,
                                        std::uint64_t seed) {
  LearnerOptions options = options_on(contender, data);
  options.network.seed = seed;
  return make_from({.options = options, .scaled = contender.scaled});
}

EngineOptions engine_for(const Contender& contender, std::uint64_t seed) {
  EngineOptions engine;
  engine.start = contender.start;
  engine.recipe = [contender, seed](std::size_t inputs, std::size_t outputs) {
    Recipe recipe{.options = contender.options, .scaled = contender.scaled};
    recipe.options.network.inputs = inputs;
    recipe.options.network.outputs = outputs;
    recipe.options.network.seed = seed;
    return recipe;
  };
  return engine;
}

std::vector<Outcome> compare(const std::vector<Contender>& contenders, const Dataset& data,
                             const ComparisonOptions& options, const ComparisonProgress& progress) {
  std::vector<Outcome> outcomes;
  for (const Contender& c : contenders) {
    const LearnerOptions its = options_on(c, data);
    try {
      its.validate();
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(c.name + ": " + error.what());
    }
    outcomes.push_back({c.name, options.seeds, std::vector<RunResult>(options.seeds.size())});
  }

  const double scale =  // of the errors that progress tells
      !progress ? 1
                : target_variance(
                      data, options.evaluation.steps == 0 ? data.rows() : options.evaluation.steps,
                      takes_gaps(options.evaluation.missing, contenders));
  const std::size_t seeds = options.seeds.size();
  parallel_for(contenders.size() * seeds, options.jobs, [&](std::size_t task) {
    const std::size_t c = task / seeds;
    const std::size_t s = task % seeds;
    std::size_t reported = 0;
    const auto on_step = [&](std::size_t t, double mean_squared_error) {
      progress(c, s, t - reported, mean_squared_error / scale);
      reported = t;
    };
    RunResult& run = outcomes[c].runs[s];
    const auto finished = [&](Engine& engine) {
      if (options.on_finished) options.on_finished(c, s, engine);
    };
    run = evaluate(engine_for(contenders[c], options.seeds[s]), data, options.evaluation,
                   progress ? on_step : std::function<void(std::size_t, double)>{}, finished);
    if (progress) progress(c, s, run.steps - reported, run.nse);
  });
  return outcomes;
}

namespace {

// Mean over steps of the p-quantile over runs of ‖d − d̂‖² / variance. The published programs count
// the k-th of n values as the (k − ½)/n quantile, and for the few runs there are this matters; in
// the (k − 1)/(n − 1) of quantile() that is another p.
double mean_quantile(const Outcome& outcome, std::vector<double> RunResult::*squared_error,
                     double p) {
  const auto n = static_cast<double>(outcome.runs.size());
  p = n < 2 ? p : std::clamp((p * n - 0.5) / (n - 1), 0.0, 1.0);
  std::vector<std::vector<double>> errors;
  for (const RunResult& run : outcome.runs) {
    errors.push_back(run.*squared_error);
    for (double& e : errors.back()) e /= run.target_variance;
  }
  return mean(quantile_over_runs({errors.begin(), errors.end()}, p));
}

// Middle and half-width of the 5–95 % band.
std::pair<double, double> band(const Outcome& outcome,
                               std::vector<double> RunResult::*squared_error) {
  const double low = mean_quantile(outcome, squared_error, 0.05);
  const double high = mean_quantile(outcome, squared_error, 0.95);
  return {(low + high) / 2, (high - low) / 2};
}

double mean_over(const std::vector<RunResult>& runs, const auto& part) {
  std::vector<double> values;
  for (const RunResult& run : runs) values.push_back(part(run));
  return mean(values);
}

BoundsScore mean_bounds(const std::vector<RunResult>& runs, const auto& part) {
  const auto over = [&](double BoundsScore::*field) {
    return mean_over(runs, [&](const RunResult& r) { return part(r).*field; });
  };
  return {.coverage = over(&BoundsScore::coverage),
          .mean_width = over(&BoundsScore::mean_width),
          .median_width = over(&BoundsScore::median_width)};
}

}  // namespace

std::vector<TargetScore> summarise_targets(const Outcome& outcome) {
  const std::size_t n = outcome.runs.front().targets.size();
  std::vector<TargetScore> scores;
  for (std::size_t k = 0; k < n; ++k) {
    const auto over = [&](double TargetScore::*field) {
      return mean_over(outcome.runs, [&](const RunResult& r) { return r.targets[k].*field; });
    };
    scores.push_back({.nse = over(&TargetScore::nse),
                      .rmse = over(&TargetScore::rmse),
                      .mae = over(&TargetScore::mae),
                      .bounds = mean_bounds(
                          outcome.runs, [&](const RunResult& r) { return r.targets[k].bounds; })});
  }
  return scores;
}

Summary summarise(const Outcome& outcome) {
  std::vector<double> nse;
  std::vector<double> knse;
  std::vector<double> fraction;
  std::vector<double> us;
  std::vector<double> seconds;
  std::vector<double> sustained;
  Summary s{.learner = outcome.name, .seeds = outcome.seeds.size()};
  for (const RunResult& run : outcome.runs) {
    nse.push_back(run.nse);
    knse.push_back(run.knse);
    fraction.push_back(run.update_fraction);
    seconds.push_back(run.seconds);
    us.push_back(run.seconds * 1e6 / static_cast<double>(std::max<std::size_t>(run.steps, 1)));
    sustained.push_back(run.sustained_at ? static_cast<double>(*run.sustained_at)
                                         : std::numeric_limits<double>::infinity());
    s.steps = std::max(s.steps, run.steps);
    s.rejected_updates += run.rejected_updates;
  }
  s.nse_mean = mean(nse);
  s.nse_median = median(nse);
  s.nse_p05 = quantile(nse, 0.05);
  s.nse_p95 = quantile(nse, 0.95);
  s.nse_deviation = std::sqrt(variance(nse));
  std::tie(s.nse_band_middle, s.nse_band_half) = band(outcome, &RunResult::squared_error);
  std::tie(s.knse_band_middle, s.knse_band_half) =
      band(outcome, &RunResult::forecast_squared_error);
  s.knse_mean = mean(knse);
  s.rmse_mean = mean_over(outcome.runs, [](const RunResult& r) { return r.rmse; });
  s.mae_mean = mean_over(outcome.runs, [](const RunResult& r) { return r.mae; });
  s.bounds = mean_bounds(outcome.runs, [](const RunResult& r) { return r.bounds; });
  s.log_loss_mean = mean_over(outcome.runs, [](const RunResult& r) { return r.log_loss; });
  s.accuracy_mean = mean_over(outcome.runs, [](const RunResult& r) {
    return r.classes ? r.classes->scores.errors().accuracy : ClassErrors::unknown;
  });
  s.update_fraction = mean(fraction);
  s.us_per_step = median(us);
  s.seconds = median(seconds);
  s.sustained_median = median(sustained);
  return s;
}

}  // namespace kalstream

// Whole streams in one call, without the interpreter lock.
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <numeric>
#include <stdexcept>

#include "data/generators.h"
#include "eval/comparison.h"
#include "eval/outlook.h"
#include "eval/parallel.h"
#include "learner.h"

namespace kalstream::python {
namespace {

struct Interrupted : std::exception {};

/// Runs work(stop) on a thread of its own, without the interpreter lock, and asks now and then
/// whether the user wants to stop; work then has to throw Interrupted.
template <class Work>
auto interruptible(const Work& work) {
  std::atomic<bool> stop = false;
  const nb::gil_scoped_release unlocked;
  auto result = std::async(std::launch::async, [&] { return work(stop); });
  while (result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() == 0) continue;
    stop = true;
    nb::python_error error;
    {
      const nb::gil_scoped_release waiting;
      result.wait();
    }
    throw error;
  }
  return result.get();
}

nb::dict dict_of(const TargetScore& score) {
  nb::dict d;
  d["nse"] = score.nse;
  d["rmse"] = score.rmse;
  d["mae"] = score.mae;
  d["coverage"] = score.bounds.coverage;
  d["width"] = score.bounds.mean_width;
  return d;
}

/// The rows that are, counted from 0.
std::vector<std::size_t> anomalies_of(const RunResult& run, std::size_t outputs) {
  std::vector<std::size_t> rows;
  for (std::size_t t = 0; t < run.surprise.size() / outputs; ++t)
    if (Surprise::is_anomaly(std::span(run.surprise).subspan(t * outputs, outputs), run.alarm_rate))
      rows.push_back(t);
  return rows;
}

nb::dict dict_of(RunResult&& run, std::size_t outputs) {
  nb::dict d;
  const std::size_t points = run.weight_path.rows.size();
  const std::size_t experts = run.weights.size();
  d["nse"] = run.nse;
  d["rmse"] = run.rmse;
  d["mae"] = run.mae;
  d["coverage"] = run.bounds.coverage;
  d["width"] = run.bounds.mean_width;
  d["median_width"] = run.bounds.median_width;
  nb::list targets;
  for (const TargetScore& score : run.targets) targets.append(dict_of(score));
  d["targets"] = targets;
  d["knse"] = run.knse;
  d["scored"] = run.scored;
  d["missing_targets"] = run.missing_targets;
  d["skipped_rows"] = run.skipped_rows;
  d["untimely_rows"] = run.untimely_rows();
  d["late_labels"] = run.late_labels;
  d["passed_steps"] = run.passed_steps;
  d["periods"] = run.periods;
  const bool has_clock = run.timelines.size() == 1 && run.timelines.front().clock.has_started();
  d["step"] = has_clock ? run.timelines.front().clock.text() : "";
  d["held"] = std::accumulate(run.held.begin(), run.held.end(), std::size_t{0});
  d["remarks"] = run.remarks;
  d["rejected_updates"] = run.rejected_updates;
  d["update_fraction"] = run.update_fraction;
  d["seconds"] = run.seconds;
  d["y"] = array_of(std::move(run.target), {run.steps, outputs});
  d["predictions"] = array_of(std::move(run.prediction), {run.steps, outputs});
  const std::size_t errors = run.squared_error.size();
  const std::size_t forecasts = run.forecast_squared_error.size();
  if (!run.low.empty()) {
    d["low"] = array_of(std::move(run.low), {run.steps, outputs});
    d["high"] = array_of(std::move(run.high), {run.steps, outputs});
  }
  d["anomalies"] = anomalies_of(run, outputs);
  if (!run.surprise.empty())
    d["surprise"] = array_of(std::move(run.surprise), {run.steps, outputs});
  const std::size_t leads = run.forecasts.horizon;
  if (leads > 0) {
    d["forecasts"] = array_of(std::move(run.forecasts.value), {run.steps, leads, outputs});
    if (!run.forecasts.low.empty()) {
      d["forecast_low"] = array_of(std::move(run.forecasts.low), {run.steps, leads, outputs});
      d["forecast_high"] = array_of(std::move(run.forecasts.high), {run.steps, leads, outputs});
    }
  }
  d["squared_errors"] = array_of(std::move(run.squared_error), {errors});
  d["forecast_squared_errors"] = array_of(std::move(run.forecast_squared_error), {forecasts});
  d["final_weights"] = small_array(run.weights);
  d["weight_rows"] = run.weight_path.rows;
  d["weight_path"] = array_of(std::move(run.weight_path.weights), {points, experts});
  return d;
}

/// Bounds are those of the learner, if it has some.
EvaluationOptions options_for(const PyLearner& held, EvaluationOptions options) {
  const double coverage = held.calibrated().calibration().coverage;
  if (coverage > 0) options.coverage = coverage;
  return options;
}

nb::dict run(PyLearner& held, const Dataset& data, const EvaluationOptions& chosen) {
  CalibratedLearner& learner = held.calibrated();
  const EvaluationOptions options = options_for(held, chosen);
  const InUse in_use(held);
  RunResult result = interruptible([&](const std::atomic<bool>& stop) {
    return evaluate(learner, data, options, [&](std::size_t, double) {
      if (stop) throw Interrupted();
    });
  });
  return dict_of(std::move(result), data.n_targets());
}

nb::list run_many(const std::vector<PyLearner*>& held, const std::vector<const Dataset*>& data,
                  const std::vector<EvaluationOptions>& chosen, std::size_t jobs) {
  std::vector<CalibratedLearner*> learners;
  std::vector<EvaluationOptions> options;
  std::deque<InUse> in_use;
  for (std::size_t k = 0; k < held.size(); ++k) {
    learners.push_back(&held[k]->calibrated());
    options.push_back(options_for(*held[k], chosen[k]));
    in_use.emplace_back(*held[k]);
  }
  // The longest first, so that none of them is left for the end.
  std::vector<std::size_t> order(held.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t k) { return data[k]->rows(); });
  std::vector<RunResult> runs(held.size());
  interruptible([&](const std::atomic<bool>& stop) {
    parallel_for(order.size(), jobs, [&](std::size_t at) {
      const std::size_t k = order[at];
      runs[k] = evaluate(*learners[k], *data[k], options[k], [&](std::size_t, double) {
        if (stop) throw Interrupted();
      });
    });
    return true;
  });
  nb::list results;
  for (std::size_t k = 0; k < runs.size(); ++k)
    results.append(dict_of(std::move(runs[k]), data[k]->n_targets()));
  return results;
}

nb::dict dict_of(const LeadScore& score, const std::vector<std::string>& rivals) {
  nb::dict d;
  d["lead"] = score.lead;
  d["forecasts"] = score.count;
  d["rmse"] = score.rmse;
  for (std::size_t k = 0; k < rivals.size(); ++k) d[rivals[k].c_str()] = score.rival_rmse[k];
  d["coverage"] = score.coverage;
  d["median_width"] = score.median_width;
  return d;
}

nb::dict dict_of(Outlook&& outlook, const Dataset& data, std::size_t horizon) {
  const std::size_t n_d = data.n_targets();
  nb::dict d;
  d["key"] = outlook.key;
  d["history"] = outlook.history;
  d["found"] = outlook.row.has_value();
  d["values"] = array_of(std::move(outlook.value), {outlook.row ? horizon : 0, n_d});
  if (!outlook.low.empty()) {
    d["low"] = array_of(std::move(outlook.low), {horizon, n_d});
    d["high"] = array_of(std::move(outlook.high), {horizon, n_d});
  }
  d["times"] = outlook.times;
  d["moments"] =
      data.schema.time_form == TimeForm::number ? std::vector<std::int64_t>{} : outlook.moments;
  d["step"] = outlook.timeline.clock.has_started() ? outlook.timeline.clock.text() : "";
  d["periods"] =
      outlook.periods.empty() ? outlook.timeline.clock.periods() : std::move(outlook.periods);
  nb::list scores;
  for (const LeadScore& score : outlook.scores) scores.append(dict_of(score, outlook.rivals));
  d["scores"] = scores;
  return d;
}

/// The forecasts of each model, and what people should know.
nb::tuple look_ahead(PyLearner& held, const Dataset& data, const EvaluationOptions& chosen,
                     bool backtest) {
  EvaluationOptions options = chosen;
  Outlooks outlooks(data, options, backtest);
  const Recipe& recipe = *held.learner().recipe();
  CalibratedLearner& learner = held.calibrated();
  const InUse in_use(held);
  const RunResult result = interruptible([&](const std::atomic<bool>& stop) {
    const auto on_step = [&](std::size_t, double) {
      if (stop) throw Interrupted();
    };
    // Of many models each begins as the learner does.
    if (data.keys.empty()) return evaluate(learner, data, options, on_step);
    EngineOptions engine =
        engine_for({.name = "", .options = recipe.options, .scaled = recipe.scaled},
                   recipe.options.network.seed);
    return evaluate(std::move(engine), data, options, on_step);
  });
  nb::list all;
  for (Outlook& outlook : outlooks.take(result))
    all.append(dict_of(std::move(outlook), data, options.horizon));
  return nb::make_tuple(all, result.remarks);
}

nb::dict dict_of(const Summary& s) {
  nb::dict d;
  d["learner"] = s.learner;
  d["seeds"] = s.seeds;
  d["steps"] = s.steps;
  d["nse_mean"] = s.nse_mean;
  d["nse_median"] = s.nse_median;
  d["nse_p05"] = s.nse_p05;
  d["nse_p95"] = s.nse_p95;
  d["nse_deviation"] = s.nse_deviation;
  d["rmse_mean"] = s.rmse_mean;
  d["mae_mean"] = s.mae_mean;
  d["coverage"] = s.bounds.coverage;
  d["width"] = s.bounds.mean_width;
  d["knse_mean"] = s.knse_mean;
  d["update_fraction"] = s.update_fraction;
  d["us_per_step"] = s.us_per_step;
  d["rejected_updates"] = s.rejected_updates;
  return d;
}

using Named = std::vector<std::pair<std::string, const PyLearner*>>;

nb::list compare_learners(const Named& learners, const Dataset& data,
                          const std::vector<std::uint64_t>& seeds,
                          const EvaluationOptions& evaluation, std::size_t jobs) {
  std::vector<Contender> contenders;
  for (const auto& [name, held] : learners) {
    const Recipe& recipe = *held->learner().recipe();
    contenders.push_back({name, recipe.options, recipe.scaled});
  }
  const ComparisonOptions options{.seeds = seeds, .evaluation = evaluation, .jobs = jobs};
  auto outcomes = interruptible([&](const std::atomic<bool>& stop) {
    return compare(contenders, data, options, [&](std::size_t, std::size_t, std::size_t, double) {
      if (stop) throw Interrupted();
    });
  });
  nb::list results;
  for (Outcome& outcome : outcomes) {
    nb::dict d;
    d["summary"] = dict_of(summarise(outcome));
    nb::list runs;
    for (RunResult& result : outcome.runs)
      runs.append(dict_of(std::move(result), data.n_targets()));
    d["runs"] = runs;
    results.append(d);
  }
  return results;
}

nb::tuple generate_stream(const std::string& spec, std::size_t rows) {
  Dataset data = generate(spec, rows);
  const std::size_t inputs = data.n_inputs();
  const std::size_t targets = data.n_targets();
  return nb::make_tuple(array_of(std::move(data.inputs), {rows, inputs}),
                        array_of(std::move(data.targets), {rows, targets}), data.input_names,
                        data.target_names);
}

nb::list generator_list() {
  nb::list all;
  for (const GeneratorInfo& g : generators()) {
    nb::list parameters;
    for (const GeneratorParameter& p : g.parameters)
      parameters.append(nb::make_tuple(p.key, p.fallback, p.permitted(), p.meaning));
    all.append(nb::make_tuple(g.name, g.summary, parameters));
  }
  return all;
}

}  // namespace

void bind_evaluation(nb::module_& m) {
  nb::class_<EvaluationOptions>(m, "EvaluationOptions")
      .def(
          "__init__",
          [](EvaluationOptions* self, std::size_t steps, std::size_t warm_up, std::size_t horizon,
             std::size_t weight_points, double coverage, bool keep_forecasts,
             const std::vector<std::string>& future,
             const std::optional<std::vector<double>>& periods, bool surprise, double alarm_rate,
             bool hold_missing, std::size_t delay) {
            new (self) EvaluationOptions{.steps = steps,
                                         .warm_up = warm_up,
                                         .horizon = horizon,
                                         .weight_points = weight_points,
                                         .coverage = coverage,
                                         .surprise = surprise,
                                         .alarm_rate = alarm_rate,
                                         .keep_forecasts = keep_forecasts,
                                         .hold_missing = hold_missing,
                                         .future = future,
                                         .delay = delay,
                                         .periods = periods};
          },
          nb::arg("steps"), nb::arg("warm_up"), nb::arg("horizon"), nb::arg("weight_points"),
          nb::arg("coverage"), nb::arg("keep_forecasts"), nb::arg("future"),
          nb::arg("periods").none(), nb::arg("surprise"), nb::arg("alarm_rate"),
          nb::arg("hold_missing"), nb::arg("delay"));
  m.def("look_ahead", look_ahead, nb::arg("learner"), nb::arg("data"), nb::arg("options"),
        nb::arg("backtest"));
  m.def("run", run, nb::arg("learner"), nb::arg("data"), nb::arg("options"));
  m.def("run_many", run_many, nb::arg("learners"), nb::arg("data"), nb::arg("options"),
        nb::arg("jobs"));
  m.def("compare", compare_learners, nb::arg("learners"), nb::arg("data"), nb::arg("seeds"),
        nb::arg("options"), nb::arg("jobs"));
  m.def("generate", generate_stream, nb::arg("spec"), nb::arg("rows"));
  m.def("generators", generator_list);
}

}  // namespace kalstream::python

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
#include <limits>
#include <numeric>

#include "core/memory_limit.h"
#include "data/generators.h"
#include "eval/comparison.h"
#include "eval/outlook.h"
#include "eval/parallel.h"
#include "learner.h"

namespace kalstream::python {
namespace {

struct Interrupted : std::exception {};

/// Runs work(go_on) on a thread of its own, without the interpreter lock, and asks now and then
/// whether the user wants to stop; the next call of go_on, whatever its arguments, then ends it.
template <class Work>
auto interruptible(const Work& work) {
  std::atomic<bool> stop = false;
  const auto go_on = [&](auto...) {
    if (stop) throw Interrupted();
  };
  const nb::gil_scoped_release unlocked;
  auto result = std::async(std::launch::async, [&] { return work(go_on); });
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

void put(nb::dict&, const auto&) {}  // the end of the list

/// Members of a struct under these names: put(d, score, "nse", &TargetScore::nse, …).
template <class From, class Member, class... More>
void put(nb::dict& d, const From& from, const char* name, Member From::*member, More... more) {
  d[name] = from.*member;
  put(d, from, more...);
}

void put_bounds(nb::dict& d, const BoundsScore& bounds) {
  put(d, bounds, "coverage", &BoundsScore::coverage, "width", &BoundsScore::mean_width);
}

nb::dict dict_of(const TargetScore& score) {
  nb::dict d;
  put(d, score, "nse", &TargetScore::nse, "rmse", &TargetScore::rmse, "mae", &TargetScore::mae);
  put_bounds(d, score.bounds);
  return d;
}

/// Classes have names in the place of targets, and rows × classes of probabilities: NaN where a
/// class was not known yet.
void put_classes(nb::dict& d, const ClassResult& of, std::size_t rows) {
  using E = ClassErrors;
  const std::size_t classes = of.names.size();
  std::vector<double> p(rows * classes, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t t = 0; t < rows; ++t)
    std::copy(of.probability.begin() + of.begins[t], of.probability.begin() + of.begins[t + 1],
              p.begin() + t * classes);
  d["probabilities"] = array_of(std::move(p), {rows, classes});
  put(d, of, "classes", &ClassResult::names, "y", &ClassResult::target);
  nb::dict scores;
  put(scores, of.scores.errors(), "log_loss", &E::log_loss, "accuracy", &E::accuracy, "kappa",
      &E::kappa, "auc", &E::auc, "f1", &E::f1, "calibration_error", &E::calibration,
      "recent_log_loss", &E::recent_log_loss, "recent_accuracy", &E::recent_accuracy);
  d["class_scores"] = scores;
  nb::list reliability;
  for (const ReliabilityBin& bin : of.scores.reliability()) {
    nb::dict one;
    put(one, bin, "count", &ReliabilityBin::count, "confidence", &ReliabilityBin::confidence,
        "accuracy", &ReliabilityBin::accuracy);
    reliability.append(one);
  }
  d["reliability"] = reliability;
}

/// In the words of Python, without the step between rows, which results have.
std::vector<std::string> remarks_of(const RunResult& run) {
  std::vector<std::string> texts;
  for (const std::string& text : run.remarks)
    if (text.find("the step between samples is") == text.npos) texts.push_back(in_python(text));
  return texts;
}

/// As kalstream.Alarm has them.
nb::list alarms_of(const RunResult& run, const Dataset& data) {
  const auto row = [](std::size_t t) {
    return t == RunAlarm::none ? nb::object(nb::none()) : nb::object(nb::int_(t));
  };
  nb::list all;
  for (const RunAlarm& a : run.alarms) {
    nb::dict one;
    one["kind"] = to_string(a.alarm.kind);
    one["start"] = row(a.start);
    one["end"] = row(a.end);
    one["value"] = a.alarm.value;
    one["severity"] = a.alarm.severity;
    one["target"] = data.target_names[a.alarm.output];
    one["key"] = a.key;
    all.append(one);
  }
  return all;
}

/// As kalstream.Run has it, but for what the dataset and the learner tell.
nb::dict dict_of(RunResult&& run, const Dataset& data, const LearnerOptions& options) {
  using R = RunResult;
  const std::size_t outputs = data.n_targets();
  const std::size_t points = run.weight_path.rows.size();
  const std::size_t experts = run.weights.size();
  const std::size_t leads = run.forecasts.horizon;
  const bool has_clock = run.timelines.size() == 1 && run.timelines.front().clock.has_started();
  nb::dict d;
  put(d, run, "nse", &R::nse, "rmse", &R::rmse, "mae", &R::mae, "knse", &R::knse, "log_loss",
      &R::log_loss, "scored", &R::scored, "missing_targets", &R::missing_targets, "skipped_rows",
      &R::skipped_rows, "late_labels", &R::late_labels, "passed_steps", &R::passed_steps, "periods",
      &R::periods, "rejected_updates", &R::rejected_updates, "update_fraction", &R::update_fraction,
      "seconds", &R::seconds, "final_weights", &R::weights);
  put_bounds(d, run.bounds);
  d["median_width"] = run.bounds.median_width;
  nb::list targets;
  for (const TargetScore& score : run.targets) targets.append(dict_of(score));
  d["targets"] = targets;
  d["remarks"] = remarks_of(run);
  d["untimely_rows"] = run.untimely_rows();
  d["step"] = has_clock ? run.timelines.front().clock.text() : "";
  d["held"] = std::accumulate(run.held.begin(), run.held.end(), std::size_t{0});
  d["expert_names"] = expert_names(options);
  d["weight_rows"] = run.weight_path.rows;
  std::vector<std::size_t> anomalies;
  for (std::size_t t = 0; t < run.anomaly.size(); ++t)
    if (run.anomaly[t]) anomalies.push_back(t);
  d["anomalies"] = anomalies;
  d["alarms"] = alarms_of(run, data);
  const auto give = [&](const char* name, std::vector<double>& values,
                        const std::vector<std::size_t>& shape) {
    d[name] = values.empty() ? nb::none() : array_of(std::move(values), shape);
  };
  give("y", run.target, {run.steps, outputs});
  give("predictions", run.prediction, {run.steps, outputs});
  give("low", run.low, {run.steps, outputs});
  give("high", run.high, {run.steps, outputs});
  give("surprise", run.surprise, {run.steps, outputs});
  give("strangeness", run.strangeness, {run.steps, outputs});
  give("forecasts", run.forecasts.value, {run.steps, leads, outputs});
  give("forecast_low", run.forecasts.low, {run.steps, leads, outputs});
  give("forecast_high", run.forecasts.high, {run.steps, leads, outputs});
  for (auto [name, errors] : {std::pair{"squared_errors", &run.squared_error},
                              {"forecast_squared_errors", &run.forecast_squared_error}}) {
    const std::size_t rows = errors->size();
    d[name] = array_of(std::move(*errors), {rows});
  }
  d["weight_path"] = array_of(std::move(run.weight_path.weights), {points, experts});
  if (run.classes) put_classes(d, *run.classes, run.steps);
  return d;
}

Contender contender_of(const Learner& learner, const std::string& name = "") {
  return {name, learner.recipe()->options, learner.recipe()->scaled};
}

/// The learner has learnt the stream afterwards. But each model of a stream with keys, and what
/// learns classes, begins as the learner did when it was made.
RunResult run_one(CalibratedLearner& learner, const Dataset& data, const EvaluationOptions& options,
                  const std::function<void(std::size_t, double)>& on_step) {
  if (data.keys.empty() && !data.schema.has_classes())
    return evaluate(learner, data, options, on_step);
  const Contender contender = contender_of(learner.learner());
  return evaluate(engine_for(contender, contender.options.network.seed), data, options, on_step);
}

nb::list run(const std::vector<PyLearner*>& held, const std::vector<const Dataset*>& data,
             std::vector<EvaluationOptions> options, std::size_t jobs) {
  std::vector<CalibratedLearner*> learners;
  std::deque<InUse> in_use;
  for (std::size_t k = 0; k < held.size(); ++k) {
    learners.push_back(&held[k]->calibrated());
    options[k].coverage = learners[k]->calibration().coverage;
    in_use.emplace_back(*held[k]);
  }
  // The longest first, so that none of them is left for the end.
  std::vector<std::size_t> order(held.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t k) { return data[k]->rows(); });
  std::vector<RunResult> runs(held.size());
  interruptible([&](const auto& go_on) {
    parallel_for(order.size(), jobs, [&](std::size_t at) {
      const std::size_t k = order[at];
      runs[k] = run_one(*learners[k], *data[k], options[k], go_on);
    });
    return true;
  });
  nb::list results;
  for (std::size_t k = 0; k < runs.size(); ++k)
    results.append(dict_of(std::move(runs[k]), *data[k],
                           options_on(contender_of(learners[k]->learner()), *data[k])));
  return results;
}

nb::dict dict_of(const LeadScore& score, const std::vector<std::string>& rivals) {
  nb::dict d;
  put(d, score, "lead", &LeadScore::lead, "forecasts", &LeadScore::count, "rmse", &LeadScore::rmse);
  for (std::size_t k = 0; k < rivals.size(); ++k) d[rivals[k].c_str()] = score.rival_rmse[k];
  put(d, score, "coverage", &LeadScore::coverage, "median_width", &LeadScore::median_width);
  return d;
}

nb::dict dict_of(Outlook&& outlook, const Dataset& data, std::size_t horizon) {
  const std::size_t n_d = data.n_targets();
  const StreamClock& clock = outlook.timeline.clock;
  nb::dict d;
  put(d, outlook, "key", &Outlook::key, "history", &Outlook::history, "times", &Outlook::times);
  d["found"] = outlook.row.has_value();
  d["values"] = array_of(std::move(outlook.value), {outlook.row ? horizon : 0, n_d});
  if (!outlook.low.empty()) {
    d["low"] = array_of(std::move(outlook.low), {horizon, n_d});
    d["high"] = array_of(std::move(outlook.high), {horizon, n_d});
    const std::size_t narrower = outlook.inner.size() / (horizon * n_d);
    std::vector<double> bounds;
    for (const Interval& inner : outlook.inner)
      bounds.insert(bounds.end(), {inner.low, inner.high});
    d["inner"] = array_of(std::move(bounds), {horizon, narrower, n_d, std::size_t{2}});
  }
  d["moments"] =
      data.schema.time_form == TimeForm::number ? std::vector<std::int64_t>{} : outlook.moments;
  d["step"] = clock.has_started() ? clock.text() : "";
  d["periods"] = outlook.periods.empty() ? clock.periods() : std::move(outlook.periods);
  nb::list scores;
  for (const LeadScore& score : outlook.scores) scores.append(dict_of(score, outlook.rivals));
  d["scores"] = scores;
  return d;
}

/// The forecasts of each model, and what people should know.
nb::tuple look_ahead(PyLearner& held, const Dataset& data, EvaluationOptions options,
                     bool backtest) {
  Outlooks outlooks(data, options, backtest);
  CalibratedLearner& learner = held.calibrated();
  const InUse in_use(held);
  const RunResult result =
      interruptible([&](const auto& go_on) { return run_one(learner, data, options, go_on); });
  nb::list all;
  for (Outlook& outlook : outlooks.take(result))
    all.append(dict_of(std::move(outlook), data, options.horizon));
  return nb::make_tuple(all, remarks_of(result));
}

nb::dict dict_of(const Summary& s) {
  using S = Summary;
  nb::dict d;
  put(d, s, "learner", &S::learner, "seeds", &S::seeds, "steps", &S::steps, "nse_mean",
      &S::nse_mean, "nse_median", &S::nse_median, "nse_p05", &S::nse_p05, "nse_p95", &S::nse_p95,
      "nse_deviation", &S::nse_deviation, "rmse_mean", &S::rmse_mean, "mae_mean", &S::mae_mean);
  put_bounds(d, s.bounds);
  put(d, s, "knse_mean", &S::knse_mean, "log_loss_mean", &S::log_loss_mean, "accuracy_mean",
      &S::accuracy_mean, "update_fraction", &S::update_fraction, "us_per_step", &S::us_per_step,
      "rejected_updates", &S::rejected_updates);
  return d;
}

nb::list compare_learners(const std::vector<std::pair<std::string, const PyLearner*>>& learners,
                          const Dataset& data, const std::vector<std::uint64_t>& seeds,
                          const EvaluationOptions& evaluation, std::size_t jobs) {
  std::vector<Contender> contenders;
  for (const auto& [name, held] : learners)
    contenders.push_back(contender_of(held->learner(), name));
  const ComparisonOptions options{.seeds = seeds, .evaluation = evaluation, .jobs = jobs};
  auto outcomes =
      interruptible([&](const auto& go_on) { return compare(contenders, data, options, go_on); });
  nb::list results;
  for (std::size_t c = 0; c < outcomes.size(); ++c) {
    nb::list runs;
    const nb::dict summary = dict_of(summarise(outcomes[c]));
    for (RunResult& result : outcomes[c].runs)
      runs.append(dict_of(std::move(result), data, options_on(contenders[c], data)));
    results.append(nb::make_tuple(summary, runs));
  }
  return results;
}

nb::tuple generate_stream(const std::string& spec, std::size_t rows) {
  const std::size_t numbers = generate(spec, 1).n_inputs() + 1;
  try {
    require_memory(static_cast<double>(rows) * static_cast<double>(numbers * sizeof(double)),
                   "stream of " + std::to_string(rows) + " rows", "choose fewer rows");
  } catch (const NotEnoughMemory& error) {
    throw std::invalid_argument(error.what());
  }
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
  using O = EvaluationOptions;
  nb::class_<O> options(m, "EvaluationOptions");
  options.def(nb::init<>());
  bind_members(options, "steps", &O::steps, "warm_up", &O::warm_up, "horizon", &O::horizon,
               "weight_points", &O::weight_points, "coverage", &O::coverage, "inner", &O::inner,
               "floor", &O::floor, "ceiling", &O::ceiling, "surprise", &O::surprise, "alarm_rate",
               &O::alarm_rate, "keep_forecasts", &O::keep_forecasts, "future", &O::future, "delay",
               &O::delay, "max_delay", &O::max_delay, "periods", &O::periods);
  options.def_prop_rw(
      "strangeness", [](const O& o) { return o.alarms.strangeness; },
      [](O& o, bool is_asked) { o.alarms.strangeness = is_asked; });
  options.def_prop_rw(
      "alarm_above", [](const O& o) { return o.alarms.above; },
      [](O& o, double limit) { o.alarms.above = limit; });
  options.def_prop_rw(
      "alarm_below", [](const O& o) { return o.alarms.below; },
      [](O& o, double limit) { o.alarms.below = limit; });
  options.def_prop_rw(
      "missing",
      [](const O& o) {
        return o.missing == MissingInputs::hold     ? "hold"
               : o.missing == MissingInputs::refuse ? "refuse"
                                                    : "learn";
      },
      [](O& o, const std::string& name) { o.missing = missing_inputs_named(name); });
  m.def("look_ahead", look_ahead, nb::arg("learner"), nb::arg("data"), nb::arg("options"),
        nb::arg("backtest"));
  m.def("run", run, nb::arg("learners"), nb::arg("data"), nb::arg("options"), nb::arg("jobs"));
  m.def("compare", compare_learners, nb::arg("learners"), nb::arg("data"), nb::arg("seeds"),
        nb::arg("options"), nb::arg("jobs"));
  m.def("generate", generate_stream, nb::arg("spec"), nb::arg("rows"));
  m.def("generators", generator_list);
}

}  // namespace kalstream::python

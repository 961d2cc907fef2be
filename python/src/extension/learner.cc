#include "learner.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <stdexcept>

#include "contenders/budget.h"
#include "contenders/contenders.h"
#include "core/archive.h"
#include "core/finite.h"
#include "core/memory_limit.h"
#include "engine/checkpoint.h"
#include "io/atomic_file.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "learner/footprint.h"

namespace kalstream::python {
namespace {

LearnerOptions options_named(const std::string& name, const std::string& preset) {
  if (preset.empty()) return {.network = {}, .rule = rule_named(name)};
  if (preset.find(':') == std::string::npos)
    throw std::invalid_argument("preset: name the stream, too, e.g. authors:kin8nm");
  return make_contenders({name}, preset, Dataset{}).front().options;
}

[[noreturn]] void fail_inputs() {
  throw std::invalid_argument("X: every number must be finite and within 1e100");
}

using Values = std::span<const double>;

std::vector<double> sides(std::span<const Interval> bounds, double Interval::*side) {
  std::vector<double> values;
  for (const Interval& b : bounds) values.push_back(b.*side);
  return values;
}

/// The mean over the outputs of what their intervals tell; NaN without any.
auto mean_of(double (Intervals::*told)(std::size_t) const) {
  return [told](const PyLearner& self) {
    const Intervals* intervals = self.calibrated().intervals();
    if (intervals == nullptr) return std::numeric_limits<double>::quiet_NaN();
    double sum = 0;
    for (std::size_t k = 0; k < intervals->outputs(); ++k) sum += (intervals->*told)(k);
    return sum / static_cast<double>(intervals->outputs());
  };
}

/// What Python calls a learner's options: key and value as text.
using Settings = std::vector<std::pair<std::string, std::string>>;

PyLearner make_learner(const std::string& name, std::size_t inputs, std::size_t outputs,
                       std::uint64_t seed, bool scale, const std::string& preset,
                       std::optional<double> coverage, std::optional<double> budget_us,
                       const Settings& settings) {
  LearnerOptions options = options_named(name, preset);
  options.network.inputs = inputs;
  options.network.outputs = outputs;
  options.network.seed = seed;
  for (const auto& [key, value] : settings) {
    // Of auto the loss is no setting: what the targets are tells.
    if (key == "loss" && std::holds_alternative<Auto>(options.rule) && value == "cross_entropy")
      options.loss.kind = Loss::Kind::cross_entropy;
    else
      set_option(options, key, value);
  }
  if (budget_us) {
    auto* rule = std::get_if<Auto>(&options.rule);
    if (rule == nullptr) throw std::invalid_argument("budget_us is for auto and auto-max");
    options.validate();
    rule->experts = choose_experts(options, *budget_us).experts;
  }
  options.validate();
  require_memory(options);
  return {{make_from({.options = options, .scaled = scale && !takes_raw_data(options.rule)}),
           {.coverage = coverage.value_or(0)}},
          {}};
}

/// From a snapshot or a stream's checkpoint and, if there are any, from what intervals_to_bytes
/// gave.
PyLearner read_learner(const nb::bytes& snapshot, std::optional<double> coverage,
                       const nb::bytes& intervals) {
  Learnt learnt = learnt_of(view_of(snapshot));
  CalibratedLearner learner(std::move(learnt.learner), {.coverage = coverage.value_or(0)});
  if (coverage && intervals.size() > 0) {
    Archive archive(view_of(intervals));
    learner.exchange(archive);
  }
  return {std::move(learner), std::move(learnt.schema)};
}

Report keep(PyLearner& self, const StepReport& r) {
  self.last = {r.status,   r.experts,          r.applied,
               r.rejected, r.covariance_trace, {r.weights.begin(), r.weights.end()}};
  return *self.last;
}

/// Calls use with the inputs that x, numbers or named ones, has.
auto with_inputs(PyLearner& self, nb::handle x, bool keeps, const auto& use) {
  if (is_named(x)) return use(self.names().inputs(x, keeps));
  return use(Numbers(x, self.learner().inputs(), "x"));
}

/// The same with targets.
auto with_targets(PyLearner& self, nb::handle y, const auto& use) {
  if (is_named(y)) return use(self.names().targets(y));
  return use(Numbers(y, self.learner().outputs(), "y"));
}

nb::object predict(PyLearner& self, nb::handle x) {
  Learner& l = self.learner();
  return with_inputs(self, x, false, [&](Values v) { return small_array(l.predict(v)); });
}

nb::object predict_many(PyLearner& self, const Matrix& X) {
  Learner& l = self.learner();
  if (X.shape(1) != l.inputs())
    throw std::invalid_argument("X has " + std::to_string(X.shape(1)) + " columns, the learner " +
                                std::to_string(l.inputs()) + " inputs");
  std::vector<double> d_hat;
  d_hat.reserve(X.shape(0) * l.outputs());
  for (std::size_t t = 0; t < X.shape(0); ++t) {
    const auto one = l.predict(span_of(X).subspan(t * l.inputs(), l.inputs()));
    d_hat.insert(d_hat.end(), one.begin(), one.end());
  }
  return array_of(std::move(d_hat), {X.shape(0), l.outputs()});
}

/// Bounds of the prediction: (low, high).
nb::tuple interval(PyLearner& self, nb::handle x) {
  CalibratedLearner& c = self.calibrated();
  if (c.intervals() == nullptr)
    throw std::invalid_argument("the learner was made without coverage, e.g. coverage=0.9");
  with_inputs(self, x, false, [&](Values v) { c.predict(v, self.said); });
  return nb::make_tuple(small_array(sides(self.said.bounds, &Interval::low)),
                        small_array(sides(self.said.bounds, &Interval::high)));
}

/// x and y; or with names x alone, the target among them.
Report learn(PyLearner& self, nb::handle x, nb::handle y) {
  CalibratedLearner& c = self.calibrated();
  const auto taught = [&](Values inputs) {
    return with_targets(self, y, [&](Values d) { return keep(self, c.learn(inputs, d)); });
  };
  if (!is_named(x)) return taught(Numbers(x, c.learner().inputs(), "x"));
  const Values inputs = self.names().inputs(x, true, y, y.is_none());
  if (!y.is_none()) return taught(inputs);
  const auto target = self.names().target();
  if (target.empty())
    throw nb::value_error(
        "y: the target is missing, and x has none; to move on without, advance(x)");
  return keep(self, c.learn(inputs, target));
}

Report advance(PyLearner& self, nb::handle x) {
  return with_inputs(self, x, true,
                     [&](Values v) { return keep(self, self.calibrated().advance(v)); });
}

nb::object forecast(PyLearner& self, std::size_t horizon, nb::handle X) {
  Learner& l = self.learner();
  require_memory(
      static_cast<double>(horizon) * sizeof(double) * static_cast<double>(l.outputs() + l.inputs()),
      "forecast", "choose a shorter horizon");
  const Numbers numbers(X, horizon * l.inputs(), "X");
  const Values inputs = numbers;
  for (std::size_t k = 0; k < horizon; ++k)
    if (!l.can_use(inputs.subspan(k * l.inputs(), l.inputs()))) fail_inputs();
  std::vector<double> d_hat;
  d_hat.reserve(horizon * l.outputs());
  l.start_forecast();
  for (std::size_t k = 0; k < horizon; ++k) {
    constexpr std::size_t now_and_then = 256;
    if (k % now_and_then == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    const Values next = l.forecast_next(inputs.subspan(k * l.inputs(), l.inputs()));
    d_hat.insert(d_hat.end(), next.begin(), next.end());
  }
  return array_of(std::move(d_hat), {horizon, l.outputs()});
}

nb::bytes to_bytes(PyLearner& self) {
  return bytes_of(save(self.learner(), self.names().schema()));
}

void write(PyLearner& self, const std::string& path) {
  try {
    write_snapshot(path, self.learner(), self.names().schema());
  } catch (const std::runtime_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
    throw nb::python_error();
  }
}

/// The inputs of the rows of a table, by name.
nb::object table(PyLearner& self, const nb::list& columns) {
  std::size_t rows = 0;
  auto values = self.names().table(columns, rows);
  return array_of(std::move(values), {rows, self.learner().inputs()});
}

/// A constructor, of a function that returns what is to be constructed.
template <class Made, class... Arguments>
auto constructed_by(Made (*make)(Arguments...)) {
  return [make](Made* self, Arguments... arguments) { new (self) Made(make(arguments...)); };
}

/// Forecasts beside a learner that Python holds; it keeps that alive.
struct PyForecaster {
  PyForecaster(PyLearner& learner, std::size_t horizon, std::optional<double> coverage)
      : held(learner), forecaster(learner.learner(), horizon, coverage.value_or(0)) {}

  /// After the learner's learn(x, y), or with none after its advance(x).
  void learn(nb::handle y) {
    Learner& l = held.learner();
    if (y.is_none()) return forecaster.learn(l, {});
    with_targets(held, y, [&](Values d) { forecaster.learn(l, d); });
  }

  /// Of the next samples, whose inputs are the rows of X.
  nb::object forecast(nb::handle X) {
    Learner& l = held.learner();
    const std::size_t horizon = forecaster.horizon();
    const std::size_t numbers = X.is_none() ? 0 : horizon * l.inputs();
    if (forecaster.forecast(l, Numbers(X, numbers, "X")) < horizon) fail_inputs();
    const auto values = forecaster.values();
    return array_of<double>({values.begin(), values.end()}, {horizon, l.outputs()});
  }

  nb::object bounds(double Interval::*side) const {
    const auto bounds = forecaster.bounds();
    if (bounds.empty()) return nb::none();
    return array_of(sides(bounds, side),
                    {bounds.size() / forecaster.outputs(), forecaster.outputs()});
  }

  PyLearner& held;
  Forecaster forecaster;
};

}  // namespace

PyLearner::PyLearner(CalibratedLearner learner, Schema schema)
    : calibrated_(std::move(learner)),
      names_(calibrated_.learner().inputs(), calibrated_.learner().outputs()) {
  if (!schema.empty()) names_.set(std::move(schema));
}

void PyLearner::widen(std::size_t outputs) {
  calibrated().recalibrate({});
  calibrated().widen(outputs);
  names_ = Names(learner().inputs(), outputs);
}

CalibratedLearner& PyLearner::calibrated() const {
  if (in_use_) throw std::runtime_error("the learner is running in another thread");
  return calibrated_;
}

void bind_learner(nb::module_& m) {
  nb::class_<Report>(m, "Report", "What one step did.")
      .def_prop_ro(
          "status", [](const Report& r) { return to_string(r.status); },
          "What the step did, in words: 'applied', 'gated', 'missing target', ...")
      .def_prop_ro(
          "rejected_input", [](const Report& r) { return r.status == StepStatus::rejected_input; },
          "x or y was not finite or too large: the learner is as it was.")
      .def_ro("experts", &Report::experts, "How many networks took the step ...")
      .def_ro("applied", &Report::applied, "... how many of them updated ...")
      .def_ro("rejected", &Report::rejected, "... and how many updates were rejected.")
      .def_ro("covariance_trace", &Report::covariance_trace,
              "Trace of all covariances together; 0 without one.")
      .def_prop_ro(
          "weights", [](const Report& r) { return small_array(r.weights); },
          "How much each expert counts after the step, in the order of Learner.expert_names.")
      .def("__repr__", [](const Report& r) {
        std::string text = std::string("Report(status='") + to_string(r.status) + "'";
        if (r.experts > 1)
          text += ", applied=" + std::to_string(r.applied) + " of " + std::to_string(r.experts);
        if (r.rejected > 0) text += ", rejected=" + std::to_string(r.rejected);
        return text + ")";
      });

  nb::class_<PyLearner>(m, "Learner", nb::dynamic_attr())
      .def("__init__", constructed_by(make_learner), nb::arg("name"), nb::arg("inputs"),
           nb::arg("outputs"), nb::arg("seed"), nb::arg("scale"), nb::arg("preset"),
           nb::arg("coverage").none(), nb::arg("budget_us").none(), nb::arg("settings"))
      .def("__init__", constructed_by(read_learner), nb::arg("snapshot"),
           nb::arg("coverage").none(), nb::arg("intervals"))
      .def(nb::init<const PyLearner&>(), nb::arg("other"))
      .def("predict", predict, nb::arg("x") = nb::none(),
           "The prediction for input x, numbers or named ones, an array of (outputs,); NaN if x "
           "cannot be used. Has no effect on later calls.")
      .def("interval", interval, nb::arg("x") = nb::none(),
           "Bounds of the prediction for x, as (low, high), arrays of (outputs,), that hold the "
           "target as often as `coverage` says. NaN before ten targets. No effect on later calls.")
      .def("predict_many", predict_many, nb::arg("X").noconvert())
      .def(
          "learn", learn, nb::arg("x").none(), nb::arg("y") = nb::none(),
          "Moves on to x and learns its target y; reuses the work of predict(x). With names, x may "
          "have the target, too. Returns a Report.")
      .def("advance", advance, nb::arg("x") = nb::none(),
           "Moves on to x without a target. Returns a Report.")
      .def("forecast", forecast, nb::arg("horizon"), nb::arg("X") = nb::none())
      .def(
          "expect_periods",
          [](PyLearner& self, const std::vector<double>& samples) {
            self.learner().expect_periods(samples);
          },
          nb::arg("samples"),
          "The stream repeats itself after so many samples, the shortest first; none: it does not.")
      .def_prop_ro(
          "periods",
          [](const PyLearner& self) {
            const auto periods = self.learner().periods();
            return std::vector<double>(periods.begin(), periods.end());
          },
          "Those it reckons with, told or found.")
      .def("_widen", &PyLearner::widen, nb::arg("outputs"))
      .def(
          "reset",
          [](PyLearner& self) {
            self.calibrated().reset();
            self.last.reset();
          },
          "Back to the state after construction.")
      .def("intervals_to_bytes", [](const PyLearner& self) { return exchanged(self.calibrated()); })
      .def_prop_ro(
          "coverage",
          [](PyLearner& self) -> std::optional<double> {
            const double coverage = self.calibrated().calibration().coverage;
            return coverage > 0 ? std::optional(coverage) : std::nullopt;
          },
          "Of intervals, as asked for; None: there are none.")
      .def_prop_ro("observed_coverage", mean_of(&Intervals::coverage),
                   "What part of the targets was within its bounds; NaN while there are none.")
      .def_prop_ro("recent_coverage", mean_of(&Intervals::recent_coverage),
                   "The same of the last thousand or so.")
      .def("__sizeof__",
           [](const PyLearner& self) {
             return static_cast<std::size_t>(footprint(self.recipe().options).bytes);
           })
      .def("to_bytes", to_bytes)
      .def("write", write)
      .def_prop_ro(
          "schema",
          [](PyLearner& self) -> std::optional<Schema> {
            const Schema& schema = self.names().schema();
            return schema.empty() ? std::nullopt : std::optional(schema);
          },
          "The fields it knows by name: what each is, and in which order; None before any name.")
      .def("_set_schema", [](PyLearner& self, const Schema& schema) { self.names().set(schema); })
      .def("_set_names",
           [](PyLearner& self, const std::vector<std::string>& inputs,
              const std::vector<std::string>& targets) { self.names().set(inputs, targets); })
      .def("_table", table, nb::arg("columns"))
      .def_prop_ro(
          "report", [](const PyLearner& self) { return self.last; },
          "Of the last learn or advance; None before the first.")
      .def_prop_ro("inputs", [](const PyLearner& self) { return self.learner().inputs(); })
      .def_prop_ro("outputs", [](const PyLearner& self) { return self.learner().outputs(); })
      .def_prop_ro(
          "samples", [](const PyLearner& self) { return self.learner().samples(); },
          "Learnt or advanced to since the start; those that could not be used do not count.")
      .def_prop_ro("name",
                   [](const PyLearner& self) { return name_of(self.recipe().options.rule); })
      .def_prop_ro("seed", [](const PyLearner& self) { return self.recipe().options.network.seed; })
      .def_prop_ro("scaled", [](const PyLearner& self) { return self.recipe().scaled; })
      .def_prop_ro("raw",
                   [](const PyLearner& self) { return takes_raw_data(self.recipe().options.rule); })
      .def_prop_ro(
          "expert_names", [](const PyLearner& self) { return expert_names(self.recipe().options); },
          "Of a mixture, in the order of Report.weights; else none.")
      .def_prop_ro("settings", [](const PyLearner& self) {
        Settings settings;
        for (const Setting& s : settings_of(self.recipe().options))
          settings.emplace_back(s.key, s.value);
        return settings;
      });

  nb::class_<PyForecaster>(m, "Forecaster", nb::dynamic_attr())
      .def(nb::init<PyLearner&, std::size_t, std::optional<double>>(), nb::arg("learner"),
           nb::arg("horizon"), nb::arg("coverage").none(), nb::keep_alive<1, 2>())
      .def("learn", &PyForecaster::learn, nb::arg("y") = nb::none(),
           "After the learner's learn(x, y); without y after its advance(x).")
      .def("forecast", &PyForecaster::forecast, nb::arg("X") = nb::none())
      .def_prop_ro(
          "low", [](const PyForecaster& self) { return self.bounds(&Interval::low); },
          "Lower bounds of the last forecast, (horizon, outputs); None without any, or before it.")
      .def_prop_ro(
          "high", [](const PyForecaster& self) { return self.bounds(&Interval::high); },
          "The upper ones.")
      .def_prop_ro("horizon", [](const PyForecaster& self) { return self.forecaster.horizon(); })
      .def(
          "reset", [](PyForecaster& self) { self.forecaster.reset(); },
          "Back to the state after construction.");

  m.def("options", [](const std::string& name) {
    std::vector<std::vector<std::string>> known;
    for (const Setting& s : settings_of({.network = {}, .rule = rule_named(name)}))
      known.push_back({s.key, s.value, s.meaning});
    return known;
  });
  m.def("learners", [] {
    Settings known;
    for (const LearnerName& l : learner_names()) known.emplace_back(l.name, l.meaning);
    return known;
  });
}

}  // namespace kalstream::python

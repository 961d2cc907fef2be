#include "learner.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "columns.h"
#include "contenders/budget.h"
#include "contenders/contenders.h"
#include "core/archive.h"
#include "core/finite.h"
#include "core/memory_limit.h"
#include "engine/learnt.h"
#include "io/snapshot_file.h"
#include "kalstream/settings.h"
#include "kalstream/snapshot.h"
#include "learner/footprint.h"

namespace kalstream::python {
namespace {

std::span<const std::byte> bytes_in(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

LearnerOptions options_named(const std::string& name, const std::string& preset) {
  if (preset.empty()) return {.network = {}, .rule = rule_named(name)};
  if (preset.find(':') == std::string::npos)
    throw std::invalid_argument("preset: name the stream, too, e.g. authors:kin8nm");
  return make_contenders({name}, preset, Dataset{}).front().options;
}

// The operating system would promise more than there is, and end the interpreter when it is used.
void check_memory(double needed, const char* what, const char* advice) {
  static const auto machine = static_cast<double>(memory_allowed());
  if (needed <= 0.9 * machine) return;
  constexpr double gib = 1 << 30;
  char text[160];
  std::snprintf(text, sizeof text, "the %s needs %.1f GiB, this process may use %.1f; %s", what,
                needed / gib, machine / gib, advice);
  PyErr_SetString(PyExc_MemoryError, text);
  throw nb::python_error();
}

double mean_over_outputs(PyLearner& held, double (Intervals::*of)(std::size_t) const) {
  const Intervals* intervals = held.calibrated().intervals();
  if (intervals == nullptr) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (std::size_t k = 0; k < intervals->outputs(); ++k) sum += (intervals->*of)(k);
  return sum / static_cast<double>(intervals->outputs());
}

const Recipe& recipe_of(const PyLearner& held) { return *held.learner().recipe(); }

}  // namespace

PyLearner::PyLearner(const std::string& name, std::size_t inputs, std::size_t outputs,
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
  check_memory(footprint(options).bytes, "learner", "use fewer hidden units or inputs");
  calibrated_.emplace(
      make_from({.options = options, .scaled = scale && !takes_raw_data(options.rule)}),
      CalibrationOptions{.coverage = coverage.value_or(0)});
  names_ = Names(inputs, outputs);
}

PyLearner::PyLearner(const nb::bytes& snapshot, std::optional<double> coverage,
                     const nb::bytes& intervals) {
  Learnt learnt = learnt_of(bytes_in(snapshot));
  calibrated_.emplace(std::move(learnt.learner),
                      CalibrationOptions{.coverage = coverage.value_or(0)});
  names_ = Names(learner().inputs(), learner().outputs());
  if (!learnt.schema.empty()) names_.set(std::move(learnt.schema));
  if (!coverage || intervals.size() == 0) return;
  Archive archive(bytes_in(intervals));
  calibrated_->exchange(archive);
}

void PyLearner::widen(std::size_t outputs) {
  calibrated().recalibrate({});
  calibrated().widen(outputs);
  names_ = Names(learner().inputs(), outputs);
}

CalibratedLearner& PyLearner::calibrated() const {
  if (in_use_) throw std::runtime_error("the learner is running in another thread");
  return *calibrated_;
}

nb::object PyLearner::predict(nb::handle x) {
  Learner& l = learner();
  if (is_named(x)) return small_array(l.predict(names_.inputs(x, false)));
  return small_array(l.predict(Numbers(x, l.inputs(), "x")));
}

nb::object PyLearner::predict_many(const Matrix& X) {
  Learner& l = learner();
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

nb::tuple PyLearner::interval(nb::handle x) {
  CalibratedLearner& c = calibrated();
  if (c.intervals() == nullptr)
    throw std::invalid_argument("the learner was made without coverage, e.g. coverage=0.9");
  if (is_named(x))
    c.predict(names_.inputs(x, false), said_);
  else
    c.predict(Numbers(x, c.learner().inputs(), "x"), said_);
  std::vector<double> low;
  std::vector<double> high;
  for (const Interval& b : said_.bounds) {
    low.push_back(b.low);
    high.push_back(b.high);
  }
  return nb::make_tuple(small_array(low), small_array(high));
}

Report PyLearner::learn(nb::handle x, nb::handle y) {
  CalibratedLearner& c = calibrated();
  const Learner& l = c.learner();
  if (!is_named(x)) {
    const Numbers inputs(x, l.inputs(), "x");
    if (is_named(y)) return keep(c.learn(inputs, names_.targets(y)));
    return keep(c.learn(inputs, Numbers(y, l.outputs(), "y")));
  }
  const auto inputs = names_.inputs(x, true, y, y.is_none());
  if (is_named(y)) return keep(c.learn(inputs, names_.targets(y)));
  if (!y.is_none()) return keep(c.learn(inputs, Numbers(y, l.outputs(), "y")));
  const auto target = names_.target();
  if (target.empty())
    throw nb::value_error(
        "y: the target is missing, and x has none; to move on without, advance(x)");
  return keep(c.learn(inputs, target));
}

Report PyLearner::advance(nb::handle x) {
  CalibratedLearner& c = calibrated();
  if (is_named(x)) return keep(c.advance(names_.inputs(x, true)));
  return keep(c.advance(Numbers(x, c.learner().inputs(), "x")));
}

Report PyLearner::keep(const StepReport& r) {
  Report report{r.status,   r.experts,          r.applied,
                r.rejected, r.covariance_trace, {r.weights.begin(), r.weights.end()}};
  last = report;
  return report;
}

nb::object PyLearner::forecast(std::size_t horizon, nb::handle X) {
  Learner& l = learner();
  check_memory(
      static_cast<double>(horizon) * sizeof(double) * static_cast<double>(l.outputs() + l.inputs()),
      "forecast", "choose a shorter horizon");
  std::vector<double> d_hat(horizon * l.outputs());
  if (!l.forecast(horizon, Numbers(X, horizon * l.inputs(), "X"), d_hat))
    throw std::invalid_argument("X: every number must be finite and within 1e100");
  return array_of(std::move(d_hat), {horizon, l.outputs()});
}

void PyLearner::reset() {
  calibrated().reset();
  last.reset();
}

nb::bytes PyLearner::intervals_to_bytes() const {
  std::vector<std::byte> bytes;
  Archive archive(bytes);
  calibrated().exchange(archive);
  return nb::bytes(bytes.data(), bytes.size());
}

nb::bytes PyLearner::to_bytes() const {
  const auto bytes = save(learner(), names_.schema());
  return nb::bytes(bytes.data(), bytes.size());
}

void PyLearner::write(const std::string& path) const {
  try {
    write_snapshot(path, learner(), names_.schema());
  } catch (const std::runtime_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
    throw nb::python_error();
  }
}

nb::object PyLearner::table(const nb::list& columns) {
  std::size_t rows = 0;
  auto values = names().table(columns, rows);
  return array_of(std::move(values), {rows, learner().inputs()});
}

PyForecaster::PyForecaster(PyLearner& learner, std::size_t horizon, std::optional<double> coverage)
    : held_(learner), forecaster_(learner.learner(), horizon, coverage.value_or(0)) {}

void PyForecaster::learn(nb::handle y) {
  Learner& l = held_.learner();
  if (y.is_none()) return forecaster_.learn(l, {});
  if (is_named(y)) return forecaster_.learn(l, held_.names().targets(y));
  const Numbers d(y, l.outputs(), "y");
  forecaster_.learn(l, d);
}

nb::object PyForecaster::forecast(nb::handle X) {
  Learner& l = held_.learner();
  std::size_t leads = 0;
  if (X.is_none()) {
    leads = forecaster_.forecast(l, {});
  } else {
    const Numbers inputs(X, forecaster_.horizon() * l.inputs(), "X");
    leads = forecaster_.forecast(l, inputs);
  }
  if (leads < forecaster_.horizon())
    throw std::invalid_argument("X: every number must be finite and within 1e100");
  const auto values = forecaster_.values();
  return array_of({values.begin(), values.end()}, {leads, l.outputs()});
}

nb::object PyForecaster::bounds(bool upper) const {
  const auto bounds = forecaster_.bounds();
  if (bounds.empty()) return nb::none();
  std::vector<double> values;
  for (const Interval& b : bounds) values.push_back(upper ? b.high : b.low);
  return array_of(std::move(values),
                  {bounds.size() / forecaster_.outputs(), forecaster_.outputs()});
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
          "How much each expert counts after the step, in the order of Learner.expert_names.",
          nb::sig("def weights(self) -> numpy.typing.NDArray[numpy.float64]"))
      .def("__repr__", [](const Report& r) {
        std::string text = std::string("Report(status='") + to_string(r.status) + "'";
        if (r.experts > 1)
          text += ", applied=" + std::to_string(r.applied) + " of " + std::to_string(r.experts);
        if (r.rejected > 0) text += ", rejected=" + std::to_string(r.rejected);
        return text + ")";
      });

  nb::class_<PyLearner>(m, "Learner", nb::dynamic_attr())
      .def(nb::init<const std::string&, std::size_t, std::size_t, std::uint64_t, bool,
                    const std::string&, std::optional<double>, std::optional<double>,
                    const Settings&>(),
           nb::arg("name"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("seed"),
           nb::arg("scale"), nb::arg("preset"), nb::arg("coverage").none(),
           nb::arg("budget_us").none(), nb::arg("settings"))
      .def(nb::init<const nb::bytes&, std::optional<double>, const nb::bytes&>(),
           nb::arg("snapshot"), nb::arg("coverage").none(), nb::arg("intervals"))
      .def(nb::init<const PyLearner&>(), nb::arg("other"))
      .def("predict", &PyLearner::predict, nb::arg("x") = nb::none(),
           "The prediction for input x, numbers or named ones, an array of (outputs,); NaN if x "
           "cannot be used. Has no "
           "effect on later calls.")
      .def("interval", &PyLearner::interval, nb::arg("x") = nb::none(),
           "Bounds of the prediction for x, as (low, high), arrays of (outputs,), that hold the "
           "target as often as `coverage` says. NaN before ten targets. No effect on later calls.")
      .def("predict_many", &PyLearner::predict_many, nb::arg("X").noconvert())
      .def(
          "learn", &PyLearner::learn, nb::arg("x").none(), nb::arg("y") = nb::none(),
          "Moves on to x and learns its target y; reuses the work of predict(x). With names, x may "
          "have the target, too. Returns a Report.")
      .def("advance", &PyLearner::advance, nb::arg("x") = nb::none(),
           "Moves on to x without a target. Returns a Report.")
      .def("forecast", &PyLearner::forecast, nb::arg("horizon"), nb::arg("X") = nb::none())
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
      .def("reset", &PyLearner::reset, "Back to the state after construction.")
      .def("intervals_to_bytes", &PyLearner::intervals_to_bytes)
      .def_prop_ro(
          "coverage",
          [](PyLearner& self) -> std::optional<double> {
            const double coverage = self.calibrated().calibration().coverage;
            if (!(coverage > 0)) return {};
            return coverage;
          },
          "Of intervals, as asked for; None: there are none.")
      .def_prop_ro(
          "observed_coverage",
          [](PyLearner& self) { return mean_over_outputs(self, &Intervals::coverage); },
          "What part of the targets was within its bounds; NaN while there are none.")
      .def_prop_ro(
          "recent_coverage",
          [](PyLearner& self) { return mean_over_outputs(self, &Intervals::recent_coverage); },
          "The same of the last thousand or so.")
      .def("__sizeof__",
           [](const PyLearner& self) {
             return static_cast<std::size_t>(footprint(recipe_of(self).options).bytes);
           })
      .def("to_bytes", &PyLearner::to_bytes)
      .def("write", &PyLearner::write)
      .def_prop_ro(
          "schema",
          [](PyLearner& self) -> std::optional<Schema> {
            const Schema& schema = self.names().schema();
            if (schema.empty()) return {};
            return schema;
          },
          "The fields it knows by name: what each is, and in which order; None before any name.")
      .def("_set_schema", [](PyLearner& self, const Schema& schema) { self.names().set(schema); })
      .def("_set_names",
           [](PyLearner& self, const std::vector<std::string>& inputs,
              const std::vector<std::string>& targets) { self.names().set(inputs, targets); })
      .def("_table", &PyLearner::table, nb::arg("columns"))
      .def_prop_ro(
          "report", [](const PyLearner& self) { return self.last; },
          "Of the last learn or advance; None before the first.")
      .def_prop_ro("inputs", [](const PyLearner& self) { return self.learner().inputs(); })
      .def_prop_ro("outputs", [](const PyLearner& self) { return self.learner().outputs(); })
      .def_prop_ro(
          "samples", [](const PyLearner& self) { return self.learner().samples(); },
          "Learnt or advanced to since the start; those that could not be used do not count.")
      .def_prop_ro("name",
                   [](const PyLearner& self) { return name_of(recipe_of(self).options.rule); })
      .def_prop_ro("seed",
                   [](const PyLearner& self) { return recipe_of(self).options.network.seed; })
      .def_prop_ro("scaled", [](const PyLearner& self) { return recipe_of(self).scaled; })
      .def_prop_ro(
          "raw", [](const PyLearner& self) { return takes_raw_data(recipe_of(self).options.rule); })
      .def_prop_ro(
          "expert_names",
          [](const PyLearner& self) { return expert_names(recipe_of(self).options); },
          "Of a mixture, in the order of Report.weights; else none.")
      .def_prop_ro("settings", [](const PyLearner& self) {
        Settings settings;
        for (const Setting& s : settings_of(recipe_of(self).options))
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
          "low", [](const PyForecaster& self) { return self.bounds(false); },
          "Lower bounds of the last forecast, (horizon, outputs); None without intervals, or "
          "before "
          "it.")
      .def_prop_ro(
          "high", [](const PyForecaster& self) { return self.bounds(true); }, "The upper ones.")
      .def_prop_ro("horizon", &PyForecaster::horizon)
      .def("reset", &PyForecaster::reset, "Back to the state after construction.");

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

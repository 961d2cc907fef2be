// The learner as Python holds it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "kalstream/calibrated.h"
#include "names.h"

namespace kalstream::python {

/// A StepReport that outlives the next step.
struct Report {
  StepStatus status;
  std::size_t experts;
  std::size_t applied;
  std::size_t rejected;
  double covariance_trace;
  std::vector<double> weights;
};

/// What Python calls a learner's options: key and value as text.
using Settings = std::vector<std::pair<std::string, std::string>>;

class PyLearner {
 public:
  PyLearner(const std::string& name, std::size_t inputs, std::size_t outputs, std::uint64_t seed,
            bool scale, const std::string& preset, std::optional<double> coverage,
            std::optional<double> budget_us, const Settings& settings);
  /// From a snapshot or a stream's checkpoint and, if there are any, from what intervals_to_bytes
  /// gave.
  PyLearner(const nb::bytes& snapshot, std::optional<double> coverage, const nb::bytes& intervals);
  PyLearner(const PyLearner& other)
      : last(other.last), calibrated_(other.calibrated()), names_(other.names_) {}

  /// The learner with its intervals, unless a run without the interpreter lock is under way in
  /// another thread.
  CalibratedLearner& calibrated() const;
  Learner& learner() const { return calibrated().learner(); }

  nb::object predict(nb::handle x);
  nb::object predict_many(const Matrix& X);
  /// Bounds of the prediction: (low, high).
  nb::tuple interval(nb::handle x);
  /// x and y; or with names x alone, the target among them.
  Report learn(nb::handle x, nb::handle y);
  Report advance(nb::handle x);
  nb::object forecast(std::size_t horizon, nb::handle X);
  /// For more classes (kalstream::widened).
  void widen(std::size_t outputs);
  void reset();
  nb::bytes to_bytes() const;
  void write(const std::string& path) const;
  nb::bytes intervals_to_bytes() const;
  Names& names() {
    learner();  // not while it is running
    return names_;
  }
  /// The inputs of the rows of a table, by name.
  nb::object table(const nb::list& columns);
  std::optional<Report> last;

 private:
  friend class InUse;
  Report keep(const StepReport& report);

  mutable std::optional<CalibratedLearner> calibrated_;
  CalibratedLearner::Prediction said_;
  Names names_{0, 0};    // of its sizes, once it is there
  bool in_use_ = false;  // read and written with the interpreter lock held
};

/// Forecasts beside a learner that Python holds; it keeps that alive.
class PyForecaster {
 public:
  PyForecaster(PyLearner& learner, std::size_t horizon, std::optional<double> coverage);

  /// After the learner's learn(x, y), or with none after its advance(x).
  void learn(nb::handle y);
  /// Of the next samples, whose inputs are the rows of X.
  nb::object forecast(nb::handle X);
  nb::object bounds(bool upper) const;
  std::size_t horizon() const { return forecaster_.horizon(); }
  void reset() { forecaster_.reset(); }

 private:
  PyLearner& held_;
  Forecaster forecaster_;
};

/// While it lives, other threads' calls to the learner are refused.
class InUse {
 public:
  explicit InUse(PyLearner& held) : held_(held) { held_.in_use_ = true; }
  ~InUse() { held_.in_use_ = false; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  PyLearner& held_;
};

void bind_learner(nb::module_& module);
void bind_evaluation(nb::module_& module);
void bind_stream(nb::module_& module);
void bind_surprise(nb::module_& module);
void bind_batch(nb::module_& module);

}  // namespace kalstream::python

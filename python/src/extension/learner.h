// The learner as Python holds it.
#pragma once

#include <optional>
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

/// A learner with its intervals, and the fields it knows by name.
class PyLearner {
 public:
  PyLearner(CalibratedLearner learner, Schema schema);
  PyLearner(const PyLearner& other)
      : last(other.last), calibrated_(other.calibrated()), names_(other.names_) {}

  /// Unless a run without the interpreter lock is under way in another thread.
  CalibratedLearner& calibrated() const;
  Learner& learner() const { return calibrated().learner(); }
  const Recipe& recipe() const { return *learner().recipe(); }
  Names& names() {
    learner();  // not while it is running
    return names_;
  }
  /// For more classes (kalstream::widened).
  void widen(std::size_t outputs);

  std::optional<Report> last;
  CalibratedLearner::Prediction said;

 private:
  friend class InUse;

  mutable CalibratedLearner calibrated_;
  Names names_;
  bool in_use_ = false;  // read and written with the interpreter lock held
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

void bind_dataset(nb::module_& module);
void bind_learner(nb::module_& module);
void bind_evaluation(nb::module_& module);
void bind_stream(nb::module_& module);
void bind_surprise(nb::module_& module);
void bind_batch(nb::module_& module);

}  // namespace kalstream::python

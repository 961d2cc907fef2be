// What the experts of a classifier have in common.
#pragma once

#include <memory>
#include <span>

#include "classes/class_memory.h"
#include "kalstream/report.h"

namespace kalstream {

/// What an expert may look back at when it learns.
struct ClassPast {
  const ClassMemory& memory;  ///< its newest sample is the one that is learnt
  const HeldMoments& scale;
};

/// One opinion about the class of each sample.
class ClassExpert {
 public:
  virtual ~ClassExpert() = default;

  /// A probability for each class, together 1. No effect on what any later call says.
  virtual void predict(const ClassMoment& now, const ClassPast& past, std::span<double> p) = 0;
  /// The sample that predict was last asked about was of class y. The memory has it already.
  virtual void learn(const ClassMoment& now, const ClassPast& past, std::size_t y) = 0;
  /// It remains unknown.
  virtual void advance(const ClassMoment& /*now*/) {}
  /// The scale has changed: all in memory is to be learnt again.
  virtual void start_over(const ClassPast& /*past*/) {}

  virtual void start_forecast() {}
  virtual void forecast_next(const ClassMoment& now, const ClassPast& past, std::span<double> p) {
    predict(now, past, p);
  }

  /// Of its network, if it has one.
  virtual LearnerState state() const { return {.networks = 0, .weights = {}}; }
  /// Whether all it knows comes by start_over(); otherwise it can be told that there are more
  /// classes from now on.
  virtual bool starts_over() const { return false; }
  virtual void widen(std::size_t /*classes*/) {}
  virtual std::unique_ptr<ClassExpert> clone() const = 0;
  virtual void reset() = 0;
  virtual void exchange(Archive& archive) = 0;
};

}  // namespace kalstream

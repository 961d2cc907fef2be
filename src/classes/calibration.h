// Probabilities of classes that come true as often as they say.
#pragma once

#include <span>
#include <vector>

#include "classes/class_mixture.h"
#include "classes/class_stack.h"

namespace kalstream {

/// Three answers: p as it is; p ∝ p^β with one over a temperature β; and p ∝ exp f(ln p) with a
/// curve f of straight lines. β and f are learnt online, by Newton steps on the log loss. A mixture
/// of the three has the last word, so that calibration costs at most ln 3 + ln(T + 1) nats, ever.
class Calibration {
 public:
  explicit Calibration(std::size_t classes);

  /// p becomes what it should be.
  void predict(std::span<double> p);
  /// The sample that predict was last asked about was of class y.
  void learn(std::size_t y);

  /// There are more classes from now on.
  void widen(std::size_t classes);
  void reset();
  void exchange(Archive& archive);

 private:
  std::size_t classes_;
  ClassStack temperature_;
  ClassStack curve_;
  ClassMixture last_word_;
  std::vector<double> features_;
  std::vector<double> answers_;  // 3 × classes
};

}  // namespace kalstream

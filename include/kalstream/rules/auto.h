// The rule that needs no choice of one.
#pragma once

#include <cstddef>

#include "kalstream/rules/rule.h"

namespace kalstream {

/// No tuning: networks of several kinds and sizes, linear models, the last value and the mean,
/// blended (docs/auto.md). Takes raw data. Of the network options it uses inputs, outputs, window,
/// seed, and hidden as a measure of size.
struct Auto {
  std::size_t experts = 0;  ///< networks, the most useful first; 0: all
  std::size_t lags = 24;    ///< past targets the experts may look at
  bool full_ekf = false;    ///< with inputs, two more experts: LSTM networks under the full EKF
  std::size_t threads = 1;  ///< that share the experts; results are the same for any number
  void validate() const;
  static const RuleInfo<Auto>& info();
};

}  // namespace kalstream

// Forecasts of the rows after each row, for those who want more of them than their error.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "kalstream/interval.h"
#include "kalstream/learner.h"

namespace kalstream {

/// Made after each row, with the inputs that came later: rows × horizon × outputs. NaN where there
/// is none: an input on the way is missing, or the data end before it.
struct KeptForecasts {
  std::size_t horizon = 0;
  std::vector<double> value;
  std::vector<double> low, high;  ///< empty without intervals
};

/// Makes them, row by row, and learns their bounds as their targets come.
class ForecastKeeper {
 public:
  /// `coverage` is that of the bounds; 0: none.
  ForecastKeeper(std::size_t rows, std::size_t horizon, std::size_t outputs, double coverage);

  /// After the learner has taken row t. A row that was skipped is none.
  void add(Learner& learner, const Dataset& data, std::size_t t);

  /// What was said after row t of the row `horizon` after it.
  std::span<const double> farthest(std::size_t t) const {
    return std::span(kept_.value).subspan(((t + 1) * kept_.horizon - 1) * n_d_, n_d_);
  }

  /// The first rows of them.
  KeptForecasts take(std::size_t rows);

 private:
  struct Waiting {
    std::size_t made_after = 0;    // row
    std::vector<Interval> bounds;  // leads × outputs
  };

  void learn(std::size_t t, std::span<const double> d);

  std::size_t n_d_;
  KeptForecasts kept_;
  std::vector<Intervals> of_lead_;  // empty: no bounds
  std::deque<Waiting> waiting_;     // for their targets
};

}  // namespace kalstream

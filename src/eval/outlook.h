// What comes after the last row of a stream, of each of its models: forecasts with their times and
// bounds, and how good such forecasts have been.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "eval/backtest.h"
#include "eval/progressive.h"
#include "schema/dataset.h"

namespace kalstream {

struct Outlook {
  std::string key;                    ///< of the model; empty: there is but one
  std::size_t history = 0;            ///< rows that were learnt
  std::optional<std::size_t> row;     ///< after which the forecasts were made; unset: none could be
  std::vector<std::int64_t> moments;  ///< of the leads, as far as times tell; empty: they do not
  std::vector<std::string> times;     ///< the same, written as the data's are
  std::vector<double> value, low, high;  ///< horizon × targets; NaN: none
  std::vector<Interval> inner;           ///< narrower bounds: horizon × inner coverages × targets
  std::vector<double> periods;
  Timeline timeline;
  double nse = 0, rmse = 0;  ///< one step ahead, on the way, of all models together

  std::vector<std::string> rivals;
  std::vector<LeadScore> scores;  ///< all leads, then all of them together; empty if not asked for
};

/// Collects them while a stream is learnt:
///
///     Outlooks outlooks(data, evaluation, backtest);
///     const RunResult run = evaluate(learner, data, evaluation);
///     … outlooks.take(run);
class Outlooks {
 public:
  /// `evaluation` has a horizon. What collecting needs is added to it; it must live as long.
  Outlooks(const Dataset& data, EvaluationOptions& evaluation, bool backtest);

  /// After the run; of each model one, in the order in which they came.
  std::vector<Outlook> take(const RunResult& run);

 private:
  struct Last {
    Outlook outlook;  // as it was said last
    std::optional<Backtest> backtest;
    bool finds_periods = false;  // those that the learner finds are rivals, too
  };

  /// Forecasts, held within what they must not leave.
  struct Held {
    double floor;
    double ceiling;
    std::vector<double> values;
    std::vector<Interval> bounds, inner;

    /// Its views live until the next call.
    Answer within(const Answer& answer);
  };

  const Dataset& data_;
  const EvaluationOptions& evaluation_;
  Held held_;
  std::unordered_map<std::string, Last> last_;  // of each key
};

}  // namespace kalstream

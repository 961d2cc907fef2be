// How good the forecasts of the past were, lead by lead, beside those anyone could make.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/answer.h"

namespace kalstream {

/// Forecasts of the past, one lead: made after every row, scored when the target had come. Errors
/// are roots of mean squares, over all targets.
struct LeadScore {
  std::size_t lead = 0;  ///< 0: all leads together
  std::size_t count = 0;
  double rmse = 0;
  std::vector<double> rival_rmse;  ///< on the same rows
  double coverage = 0;             ///< of the bounds; NaN without
  double median_width = 0;
};

/// Rivals: the last value, and for each period the value a whole number of periods before,
///
///     y_{t+h−m⌈h/m⌉}
///
/// On the rows where all of them are known, from the 1,000th on, or the last three quarters of
/// fewer than 4,000.
class Backtest {
 public:
  /// `history` rows with `outputs` targets each will come; a target comes at most `late` rows after
  /// its own. Rivals know each target at once.
  Backtest(std::size_t history, std::size_t outputs, std::size_t horizon, std::size_t late,
           const std::vector<double>& periods, double coverage);

  /// The target of this place in the timeline is known.
  void add_target(std::size_t place, std::span<const double> d);
  /// What was forecast after row t, which has this place.
  void add_forecast(std::size_t place, std::size_t t, const Answer& said);

  /// Periods that were found only in the end, as rivals beside those there are: scored on the rows
  /// where they are known.
  void add_periods(const std::vector<double>& periods);

  const std::vector<std::string>& rivals() const { return names_; }
  std::vector<LeadScore> scores() const;

 private:
  struct Sums {
    std::size_t count = 0;
    double squared = 0;
    std::vector<double> rival_squared;
    std::size_t bounds = 0;
    std::size_t held = 0;
    std::vector<double> widths;  // some of them
  };

  struct Forecast {
    std::size_t place = 0;
    std::vector<double> value;  // empty: nothing was forecast
    std::vector<Interval> bounds;
  };

  bool add_rival(double period);
  void add_lead(const Forecast& said, std::size_t lead, std::span<const double> d);
  LeadScore score(std::size_t lead, const Sums& sums) const;
  std::span<const double> target_at(std::size_t place) const;

  std::size_t history_;
  std::size_t n_d_;
  std::size_t first_;  // row
  std::size_t keep_every_;
  std::vector<std::size_t> periods_;  // in steps; 0: the last value
  std::vector<std::string> names_;
  bool bounded_;
  std::vector<Sums> leads_;
  std::vector<Forecast> recent_;         // those whose targets may still come, by place
  std::vector<double> targets_;          // by place; NaN: missing
  std::vector<std::size_t> made_after_;  // places
};

}  // namespace kalstream

// How good the forecasts of the past were, lead by lead, beside those anyone could make.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "eval/outlook.h"
#include "eval/timeline.h"
#include "kalstream/forecaster.h"

namespace kalstream {

/// Rivals: the last value, and for each period the value a whole number of periods before,
///
///     y_{t+h−m⌈h/m⌉}
///
/// On the rows where all of them are known, from the 1,000th on, or the last three quarters of
/// fewer than 4,000.
class Backtest {
 public:
  Backtest(const Dataset& data, std::size_t history, std::size_t horizon,
           const std::vector<double>& periods, double coverage);

  /// Periods that were found only in the end, as rivals beside those there are: scored on the rows
  /// where they are known.
  void add_periods(const Timeline& timeline, const std::vector<double>& periods);

  /// What was said after row t.
  void add(const Timeline& timeline, std::size_t t, const Forecaster& said);

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

  void add_lead(const Timeline& timeline, std::size_t t, std::size_t lead, const Forecaster& said);
  LeadScore score(std::size_t lead, const Sums& sums) const;
  std::span<const double> targets_at(const Timeline& timeline, std::size_t place) const;

  const Dataset& data_;
  std::size_t history_;
  std::size_t first_;  // row
  std::size_t keep_every_;
  std::vector<std::size_t> periods_;  // in steps; 0: the last value
  std::vector<std::string> names_;
  bool bounded_;
  std::vector<Sums> leads_;
};

}  // namespace kalstream

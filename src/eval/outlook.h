// What comes after the last row of a file: forecasts with their times and bounds, and how good such
// forecasts have been.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "eval/timeline.h"
#include "kalstream/learner.h"

namespace kalstream {

struct OutlookOptions {
  std::size_t horizon = 24;
  double coverage = 0.9;               ///< of the bounds; 0: none
  std::vector<bool> known_ahead = {};  ///< of every input; empty: none
  std::optional<std::vector<double>> periods = {};
  bool backtest = false;
};

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

struct Outlook {
  std::size_t history = 0;         ///< rows up to the last that has a target
  std::optional<std::size_t> row;  ///< after which the forecasts were made; unset: none could be
  std::vector<std::optional<std::int64_t>> moments;  ///< of the leads, where the step is known
  std::vector<std::string> times;                    ///< the same, written as the data's are
  std::vector<double> value, low, high;              ///< horizon × targets; NaN: none
  bool held_known = false;  ///< inputs that could be known ahead were not, for some lead
  std::vector<double> periods;
  Timeline timeline;
  double nse = 0, rmse = 0;  ///< one step ahead, on the way

  std::vector<std::string> rivals;
  std::vector<LeadScore> scores;  ///< all leads, then all of them together; empty if not asked for
};

/// The learner learns the data, row after row, and looks ahead. `on_step(rows)` is called now and
/// then.
Outlook look_ahead(Learner& learner, const Dataset& data, const OutlookOptions& options,
                   const std::function<void(std::size_t)>& on_step = {});

/// Rows up to the last one that has a target: those behind it tell of the future.
std::size_t history_of(const Dataset& data);

}  // namespace kalstream

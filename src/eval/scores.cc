#include "eval/scores.h"

#include <cmath>

#include "eval/statistics.h"

namespace kalstream {
namespace {

/// Targets that had bounds, as they come.
class BoundsCount {
 public:
  void add(double low, double d, double high) {
    if (std::isnan(low) || std::isnan(high)) return;
    widths_.push_back(high - low);
    held_ += low <= d && d <= high ? 1 : 0;
  }

  BoundsScore score() const {
    if (widths_.empty()) return {};
    return {.coverage = static_cast<double>(held_) / static_cast<double>(widths_.size()),
            .mean_width = mean(widths_),
            .median_width = median(widths_)};
  }

 private:
  std::vector<double> widths_;
  std::size_t held_ = 0;
};

void for_each_scored_row(const Predicted& run, const auto& act) {
  for (std::size_t t = 0; t < run.squared_error.size(); ++t)
    if (!std::isnan(run.squared_error[t])) act(t);
}

TargetScore score_target(const Predicted& run, std::size_t k) {
  const std::size_t n_d = run.targets;
  std::vector<double> targets;
  double squares = 0;
  double magnitudes = 0;
  BoundsCount bounds;
  for_each_scored_row(run, [&](std::size_t t) {
    const double d = run.target[t * n_d + k];
    const double e = d - run.prediction[t * n_d + k];
    targets.push_back(d);
    squares += e * e;
    magnitudes += std::abs(e);
    if (!run.low.empty()) bounds.add(run.low[t * n_d + k], d, run.high[t * n_d + k]);
  });
  if (targets.empty()) return {};
  const auto rows = static_cast<double>(targets.size());
  TargetScore score{
      .rmse = std::sqrt(squares / rows), .mae = magnitudes / rows, .bounds = bounds.score()};
  if (const double spread = variance(targets); spread > 0) score.nse = squares / rows / spread;
  return score;
}

}  // namespace

std::vector<TargetScore> score_targets(const Predicted& run) {
  std::vector<TargetScore> scores;
  for (std::size_t k = 0; k < run.targets; ++k) scores.push_back(score_target(run, k));
  return scores;
}

BoundsScore score_bounds(const Predicted& run) {
  if (run.low.empty()) return {};
  const std::size_t n_d = run.targets;
  BoundsCount bounds;
  for_each_scored_row(run, [&](std::size_t t) {
    for (std::size_t k = 0; k < n_d; ++k)
      bounds.add(run.low[t * n_d + k], run.target[t * n_d + k], run.high[t * n_d + k]);
  });
  return bounds.score();
}

}  // namespace kalstream

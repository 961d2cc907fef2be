// Exponential smoothing for short series: many gains at once, weighted by likelihood.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "auto/series/past.h"

namespace kalstream {

class Archive;

/// Exponential smoothing in its state space form (Hyndman, Koehler, Ord and Snyder 2008), for each
/// combination of gains α, β, γ and damping φ of a small grid, of the target and of its logarithm:
///
///     y_t = l + φb + s[t mod m] + ε,   l ← l + φb + αε,   b ← φb + βε,   s[t mod m] += γε
///
/// What the state (l, b, s) was at the start is not known. It has mean a and covariance σ²P, and a
/// Kalman filter finds it; wᵀ(l, b, s) is what y shows of the state, F its way without ε, g the
/// gains:
///
///     v = y − wᵀa;   S = 1 + wᵀPw;   K = (FPw + g)/S
///     a ← Fa + Kv;   P ← FPFᵀ + ggᵀ − S KKᵀ
///
/// K is the gain of a regression on the start at first, and g in the end. σ² is not known either:
/// with the prior 1/σ² the next v is Student's t, and the product of these densities the likelihood
/// of a combination. The forecast is the mean of all combinations, weighted by likelihood.
///
/// A combination that becomes e⁻¹² times as likely as the best one is dropped. After most_samples
/// the panel retires, and keeps nothing: learners with more weights know better by then.
class SmoothingPanel {
 public:
  static constexpr std::size_t longest_period = 60;
  static constexpr std::uint64_t most_samples = 512;

  /// Begins anew with a season of so many samples; with none if these are fewer than 2 or more than
  /// the longest.
  void set_period(std::size_t period);
  /// Learns what it has not learnt yet of the past, from its first value on: as many values as a
  /// step has time for. Allocates when it begins; without the memory for that it stays silent.
  void catch_up(const LongPast& past);
  /// The next value is missing. What catches up takes the guess of the past for it.
  void advance();

  /// The next value; NaN: it has nothing to say.
  double predict() { return forecast(0); }
  void start_forecast();
  /// Of the values after the last, one by one.
  double forecast_next();

  void reset();
  void exchange(Archive& archive);

  std::size_t period() const { return period_; }

 private:
  enum Branch : std::size_t { plain, logarithm, branches };

  /// What one combination knows of the target, or of its logarithm.
  struct State {
    bool is_alive = true;
    double log_likelihood = 0;
    double squares = 0;     // Σ v²/S
    std::vector<double> a;  // l, b, s
    double weight = 0;      // of its forecast; the rest follows from those above
    double level = 0;       // of a forecast under way …
    double trend = 0;       // … likewise
  };

  /// The covariance is that of the target and of its logarithm alike.
  struct Filter {
    std::size_t combination = 0;
    std::vector<double> P;
    std::array<State, branches> states;

    bool is_alive() const { return states[plain].is_alive || states[logarithm].is_alive; }
  };

  std::size_t size_of(const Filter& f) const;
  void make_filters();
  void learn(double y);
  void drop_unlikely();
  void step(Filter& f, const double* y);
  double best(Branch branch) const;
  void weigh();
  double forecast(std::uint64_t lead);

  std::size_t period_ = 0;
  std::uint64_t learnt_ = 0;  // steps so far …
  std::uint64_t values_ = 0;  // … and values that were there
  double unit_ = 0;           // of what is kept: the size of the first value other than 0
  double highest_ = 0;        // value so far
  std::vector<Filter> filters_;
  bool is_behind_ = true;
  std::uint64_t lead_ = 0;    // of a forecast under way
  std::vector<double> gain_;  // FPw + g of the filter that learns
};

}  // namespace kalstream

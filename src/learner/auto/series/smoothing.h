// Exponential smoothing: a level, a trend and seasons that follow the target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kalstream {

class Archive;

/// How fast level, trend and seasons follow.
struct Pace {
  double level;
  double trend;
  double season;
};

/// A linear Kalman filter with the gains it ends with (Holt and Winters; two seasons as Taylor
/// 2003): the state is a level l, a trend b and for each period m_i the seasons s_i, one number for
/// each phase,
///
///     ŷ = l + b + Σ s_i[t mod m_i] + φ ε,     e = y − (l + b + Σ s_i[t mod m_i])
///     l ← l + b + αe;   b ← b + βe;   s_i[t mod m_i] += γe;   ε ← e
///
/// where φ, the correlation of an error with the one before, is learnt on the way. What has been
/// seen n times only learns with gain 1/(n + 1) if that is more.
class Smoothing {
 public:
  static constexpr std::size_t seasons = 2;
  static constexpr std::size_t longest = 2048;

  explicit Smoothing(const Pace& pace) : pace_(pace) {
    for (Season& s : season_) s.values.resize(longest);
  }

  /// Periods in steps, 0: none. Seasons of another length than before begin anew.
  void set_periods(const std::array<std::size_t, seasons>& periods);

  /// Of the value `lead` ≥ 1 steps after the last.
  double predict(std::size_t lead = 1) const;
  void learn(double y);
  void advance();
  void reset();
  void exchange(Archive& archive);

 private:
  struct Season {
    std::size_t period = 0;
    std::uint64_t since = 0;  // the step it began at
    std::vector<double> values;
  };

  double structure(std::size_t lead) const;

  Pace pace_;
  std::uint64_t steps_ = 0;
  std::uint64_t learnt_ = 0;
  double level_ = 0;
  double trend_ = 0;
  double error_ = 0;
  double error_product_ = 0;  // Σ e_t e_{t−1}, fading
  double error_square_ = 0;
  std::array<Season, seasons> season_;
};

}  // namespace kalstream

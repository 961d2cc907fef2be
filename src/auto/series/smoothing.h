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

  explicit Smoothing(const Pace& pace) : pace_(pace) {}

  /// Periods in steps, 0: none. Seasons of another length than before begin anew. Allocates.
  void set_periods(const std::array<std::size_t, seasons>& periods);

  /// Of the next value.
  double predict() const { return predict(now_); }
  void learn(double y);
  void advance() { advance(now_); }
  /// Of the values after it, one by one, as if it had advanced.
  void start_forecast() { ahead_ = now_; }
  double forecast_next();
  void reset();
  void exchange(Archive& archive);

 private:
  struct Season {
    std::size_t period = 0;
    std::uint64_t since = 0;     // the step it began at
    std::vector<double> values;  // period of them
  };

  // What goes on without a value, too.
  struct Moment {
    std::uint64_t steps = 0;
    double level = 0;
    double trend = 0;
    double error = 0;
  };

  double structure(const Moment& m) const;
  double share() const;
  double predict(const Moment& m) const;
  void advance(Moment& m) const;

  Pace pace_;
  Moment now_;
  Moment ahead_;
  std::uint64_t learnt_ = 0;
  double error_product_ = 0;  // Σ e_t e_{t−1}, fading
  double error_square_ = 0;
  std::array<Season, seasons> season_;
};

}  // namespace kalstream

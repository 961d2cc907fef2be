// The first part of Intervals: how large errors are.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/archive.h"
#include "core/finite.h"
#include "core/least_squares.h"
#include "kalstream/interval.h"

namespace kalstream {

/// How large the next error will be: σ = mean |e|, from three running means of |e| and the
/// learner's spread s, of which a bar marks the usual,
///
///   log σ = log ē + wᵀφ,   φ = [1 ; log(ē_fast/ē) ; log(ē_middling/ē) ; log(s/s̄)]
///
/// w by recursive least squares with forgetting: w ← w + Cφ(|e|/σ − 1)/S, S = φᵀCφ + 1, which is
/// Fisher scoring for |e| with an exponential distribution. From w = 0, σ = ē.
class ErrorSize {
 public:
  /// With this weight of the middling mean before anything is learnt.
  explicit ErrorSize(double first_weight = 0) : first_weight_(first_weight) { reset(); }

  void reset() {
    n_ = spreads_ = 0;
    mean_.fill(0);
    largest_ = 0;
    log_spread_ = 0;
    w_.fill(0);
    w_[2] = first_weight_;
    C_.fill(0);
    for (std::size_t i = 0; i < weights; ++i) C_[i * weights + i] = prior;
  }

  std::uint64_t count() const { return n_; }

  void expect(double spread, Interval::Origin& out) const {
    if (spread > 0 && std::isfinite(spread)) out.log_spread = std::log(spread);
    const double usual = mean_.back();
    if (!(usual > 0)) return;
    out.features = {held(std::log(mean_[0] / usual), largest_feature),
                    held(std::log(mean_[1] / usual), largest_feature), 0};
    if (spreads_ > 0 && !std::isnan(out.log_spread))
      out.features[2] = held(out.log_spread - log_spread_, largest_feature);
    out.usual = usual;
    out.scale = scale(out);
  }

  /// Errors of overlapping forecasts are alike: `together` of them in a row count as one.
  void learn(const Interval::Origin& from, double e, double together = 1) {
    const double size = std::abs(e);
    // What w as it is now would have expected: what came late may be corrected already.
    if (const double expected = from.usual > 0 ? scale(from) : from.scale; expected > 0)
      learn_weights(from.features, std::min(size / expected - 1, largest_surprise), together);
    ++n_;
    track(mean_[0], size, fast);
    track(mean_[1], size, middling);
    track(mean_[2], size, slow);
    largest_ = std::max(largest_ * (1 - memory), mean_.back());
    for (double& m : mean_) m = std::max(m, least_error * largest_);
    if (std::isnan(from.log_spread)) return;
    log_spread_ += pace(++spreads_, slow) * (from.log_spread - log_spread_);
  }

  void exchange(Archive& archive) {
    const auto size = [](double v) { return v >= 0 && v <= 4 * largest_magnitude; };
    archive.count(n_);
    archive.count(spreads_, n_);
    archive.numbers(mean_, size);
    archive.number(largest_, size);
    archive.number(log_spread_, [](double v) { return std::abs(v) <= 1000; });
    archive.numbers(w_, [](double v) { return std::abs(v) <= largest_weight; });
    archive.numbers(C_);
    double trace = 0;
    for (std::size_t i = 0; i < weights; ++i) {
      trace += C(i, i);
      archive.require(C(i, i) > 0);
      for (std::size_t j = 0; j < i; ++j)
        archive.require(C(i, j) == C(j, i) && C(i, j) * C(i, j) <= C(i, i) * C(j, j));
    }
    archive.require(trace <= 1.001 * weights * prior);
  }

 private:
  static constexpr double fast = 1.0 / 2;  // paces of running means
  static constexpr double middling = 1.0 / 16;
  static constexpr double slow = 1.0 / 256;
  static constexpr double largest_growth = 16;  // times a running error that one error counts as
  static constexpr double least_error = 1e-6;   // of the largest usual one
  static constexpr double memory = 1.0 / 2048;  // pace at which that is forgotten
  static constexpr double largest_feature = 5;  // logarithms
  static constexpr double largest_surprise = 3;
  static constexpr double largest_weight = 100;
  static constexpr double prior = 0.1;  // variance of a weight
  static constexpr double forgetting = 0.001;
  static constexpr std::size_t weights =
      1 + std::tuple_size_v<decltype(Interval::Origin::features)>;

  static double held(double v, double most) { return std::clamp(v, -most, most); }
  static double pace(std::uint64_t n, double least) {
    return std::max(1 / static_cast<double>(n), least);
  }

  // σ = ē·exp(wᵀφ)
  double scale(const Interval::Origin& of) const {
    double exponent = w_[0];
    for (std::size_t i = 1; i < weights; ++i) exponent += w_[i] * of.features[i - 1];
    return of.usual * std::exp(held(exponent, largest_feature));
  }

  // One outlier must not set it. Nor may a long time without errors make it so small that it takes
  // as long to grow again.
  void track(double& mean, double size, double least) const {
    const double newest = mean > 0 ? std::min(size, largest_growth * mean) : size;
    mean += pace(n_, least) * (newest - mean);
  }

  void learn_weights(const std::array<double, weights - 1>& features, double surprise,
                     double together) {
    std::array<double, weights> x{1};
    std::copy(features.begin(), features.end(), x.begin() + 1);
    std::array<double, weights> g;
    const double S = gain(C_, x, g) + together - 1;
    downdate(C_, g, S);
    double trace = 0;
    for (std::size_t i = 0; i < weights; ++i) {
      w_[i] = held(w_[i] + g[i] / S * surprise, largest_weight);
      trace += C(i, i);
    }
    const double kept = 1 - forgetting / together;
    if (trace > kept * weights * prior) return;
    for (double& c : C_) c /= kept;
  }

  double C(std::size_t i, std::size_t j) const { return C_[i * weights + j]; }

  double first_weight_;
  std::uint64_t n_ = 0;
  std::uint64_t spreads_ = 0;     // of them, with a spread
  std::array<double, 3> mean_{};  // ē, the slowest last
  double largest_ = 0;
  double log_spread_ = 0;
  std::array<double, weights> w_{};
  std::array<double, weights * weights> C_{};
};

}  // namespace kalstream

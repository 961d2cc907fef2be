// Opinions about classes, weighted by how probable they made what came.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "core/archive.h"

namespace kalstream {

/// Bayes' rule: p = Σ w_j p_j, and w_j grows by the factor p_j(y)/p(y), the exponential weights of
/// the log loss with η = 1. Then a share of all weight is dealt out anew by the prior, for what was
/// bad may become good: 1/(t + 1) of it at step t, at least `least_share`. With least_share = 0, at
/// every moment T and for every expert j, whatever the stream does,
///
///     Σ −ln p(y) ≤ Σ −ln p_j(y) + ln(1/prior_j) + ln(T + 1).
class ClassMixture {
 public:
  explicit ClassMixture(std::vector<double> prior, double least_share = 0)
      : prior_(std::move(prior)), least_share_(least_share), weights_(prior_) {}

  /// opinions: experts × classes.
  void predict(std::span<const double> opinions, std::span<double> p) const {
    std::fill(p.begin(), p.end(), 0.0);
    for (std::size_t j = 0; j < weights_.size(); ++j)
      for (std::size_t k = 0; k < p.size(); ++k) p[k] += weights_[j] * opinions[j * p.size() + k];
  }
  void learn(std::span<const double> opinions, std::size_t classes, std::size_t y) {
    double sum = 0;
    for (std::size_t j = 0; j < weights_.size(); ++j)
      sum += weights_[j] *= opinions[j * classes + y];
    ++steps_;
    const double share = std::max(1 / static_cast<double>(steps_ + 1), least_share_);
    for (std::size_t j = 0; j < weights_.size(); ++j)
      weights_[j] = (1 - share) * weights_[j] / sum + share * prior_[j];
  }

  std::span<const double> weights() const { return weights_; }
  /// Goes on from what another one has learnt, whose expert from[j] is expert j here; `nobody` is
  /// new, and begins with its prior.
  static constexpr std::size_t nobody = ~std::size_t{0};
  void go_on_from(const ClassMixture& other, std::span<const std::size_t> from) {
    steps_ = other.steps_;
    double sum = 0;
    for (std::size_t j = 0; j < weights_.size(); ++j)
      sum += weights_[j] = from[j] == nobody ? prior_[j] : other.weights_[from[j]];
    for (double& w : weights_) w /= sum;
  }
  void reset() {
    weights_ = prior_;
    steps_ = 0;
  }
  void exchange(Archive& archive) {
    archive.count(steps_);
    archive.numbers(weights_, Archive::fraction);
  }

 private:
  std::vector<double> prior_;
  double least_share_;
  std::vector<double> weights_;
  std::uint64_t steps_ = 0;
};

}  // namespace kalstream

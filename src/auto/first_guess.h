// What `auto` predicts before there are experts.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/archive.h"
#include "core/moments.h"

namespace kalstream {

/// The last value or the mean, whichever was better so far.
class FirstGuess {
 public:
  explicit FirstGuess(std::size_t outputs) : naive_loss_(outputs), mean_loss_(outputs) {}

  void predict(std::span<const double> last, const RunningMoments& seen,
               std::span<double> d_hat) const {
    for (std::size_t k = 0; k < d_hat.size(); ++k)
      d_hat[k] = naive_loss_[k] < mean_loss_[k] ? last[k] : seen.mean(k);
  }

  void learn(std::span<const double> last, const RunningMoments& seen, std::span<const double> d) {
    for (std::size_t k = 0; k < d.size(); ++k) {
      const double mean = seen.mean(k);
      naive_loss_[k] += (d[k] - last[k]) * (d[k] - last[k]);
      mean_loss_[k] += (d[k] - mean) * (d[k] - mean);
    }
  }

  void reset() {
    for (auto* v : {&naive_loss_, &mean_loss_}) std::fill(v->begin(), v->end(), 0.0);
  }

  void exchange(Archive& archive) {
    for (auto* v : {&naive_loss_, &mean_loss_}) archive.numbers(*v, Archive::not_negative);
  }

 private:
  std::vector<double> naive_loss_;
  std::vector<double> mean_loss_;
};

}  // namespace kalstream

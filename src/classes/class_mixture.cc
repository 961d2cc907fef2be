#include "classes/class_mixture.h"

#include <algorithm>

namespace kalstream {

ClassMixture::ClassMixture(std::vector<double> prior, double least_share)
    : prior_(std::move(prior)), least_share_(least_share), weights_(prior_) {}

void ClassMixture::predict(std::span<const double> opinions, std::span<double> p) const {
  std::fill(p.begin(), p.end(), 0.0);
  for (std::size_t j = 0; j < weights_.size(); ++j)
    for (std::size_t k = 0; k < p.size(); ++k) p[k] += weights_[j] * opinions[j * p.size() + k];
}

void ClassMixture::learn(std::span<const double> opinions, std::size_t classes, std::size_t y) {
  double sum = 0;
  for (std::size_t j = 0; j < weights_.size(); ++j) sum += weights_[j] *= opinions[j * classes + y];
  ++steps_;
  const double share = std::max(1 / static_cast<double>(steps_ + 1), least_share_);
  for (std::size_t j = 0; j < weights_.size(); ++j)
    weights_[j] = (1 - share) * weights_[j] / sum + share * prior_[j];
}

void ClassMixture::reset() {
  weights_ = prior_;
  steps_ = 0;
}

void ClassMixture::exchange(Archive& archive) {
  archive.count(steps_);
  archive.numbers(weights_, Archive::fraction);
}

}  // namespace kalstream

#include "classes/class_stack.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "classes/class_mixture.h"
#include "core/finite.h"
#include "core/least_squares.h"

namespace kalstream {

ClassStack::ClassStack(std::size_t classes, const Plan& plan)
    : classes_(classes), plan_(plan), loss_({.kind = Loss::Kind::cross_entropy}, outputs()) {
  set_sizes(classes);
  reset();
}

void ClassStack::set_sizes(std::size_t classes) {
  classes_ = classes;
  loss_ = LossFunction({.kind = Loss::Kind::cross_entropy}, outputs());
  theta_.resize(size());
  P_.resize(size() * size());
  H_.resize(outputs() * size());
  H_white_.resize(H_.size());
  for (auto* v : {&mu_, &e_, &e_white_}) v->resize(outputs());
  for (auto* v : {&before_, &Ph_}) v->resize(size());
}

void ClassStack::widen(std::size_t classes) {
  const ClassStack narrower = *this;
  set_sizes(classes);
  std::vector<std::size_t> same(features());
  std::iota(same.begin(), same.end(), 0);
  go_on_from(narrower, same);
}

void ClassStack::go_on_from(const ClassStack& narrower, std::span<const std::size_t> from) {
  reset();
  for (std::size_t i = 0; i < features(); ++i) {
    if (from[i] == ClassMixture::nobody) continue;
    theta_[i] = narrower.theta_[from[i]];
    for (std::size_t j = 0; j < features(); ++j)
      if (from[j] != ClassMixture::nobody)
        P_[i * size() + j] = narrower.P_[from[i] * narrower.size() + from[j]];
  }
}

void ClassStack::reset() {
  std::fill(theta_.begin(), theta_.end(), 0.0);
  std::copy(plan_.weights.begin(), plan_.weights.end(), theta_.begin());
  std::fill(P_.begin(), P_.end(), 0.0);
  for (std::size_t i = 0; i < size(); ++i) {
    const double deviation = i < features() ? plan_.deviations[i] : plan_.bias;
    P_[i * size() + i] = deviation * deviation;
  }
}

void ClassStack::predict(std::span<const double> features_of_classes, std::span<double> p) {
  const std::size_t n = size();
  std::fill(H_.begin(), H_.end(), 0.0);
  for (std::size_t j = 0; j < features(); ++j) {
    const double* f = &features_of_classes[j * classes_];
    if (classes_ == 2)
      H_[j] = f[1] - f[0];
    else
      for (std::size_t k = 0; k < classes_; ++k) H_[k * n + j] = f[k];
  }
  for (std::size_t k = 0; k < outputs(); ++k) {
    H_[k * n + features() + k] = 1;
    double z = 0;
    for (std::size_t i = 0; i < n; ++i) z += theta_[i] * H_[k * n + i];
    mu_[k] = z;
  }
  loss_.link(mu_);
  if (classes_ == 2) {
    p[1] = mu_[0];
    p[0] = 1 - mu_[0];
  } else {
    std::copy(mu_.begin(), mu_.end(), p.begin());
  }
}

// The errors that the loss gives have noise of size 1, each by itself: they are taken in one after
// the other.
void ClassStack::learn(std::size_t y) {
  const std::size_t n = size();
  for (std::size_t k = 0; k < outputs(); ++k)
    e_[k] = (y == (classes_ == 2 ? 1 : k) ? 1 : 0) - mu_[k];
  loss_.whiten(mu_, e_, H_, e_white_, H_white_);
  std::copy(theta_.begin(), theta_.end(), before_.begin());
  for (std::size_t k = 0; k < outputs(); ++k) {
    const std::span<const double> h(&H_white_[k * n], n);
    if (classes_ > constants::few_classes &&
        std::inner_product(h.begin(), h.end(), h.begin(), 0.0) < constants::least_information)
      continue;
    double e = e_white_[k];
    for (std::size_t i = 0; i < n; ++i) e -= h[i] * (theta_[i] - before_[i]);
    const double S = gain(P_, h, Ph_);
    if (!(S >= 1)) continue;
    for (std::size_t i = 0; i < n; ++i) theta_[i] += Ph_[i] * (e / S);
    downdate(P_, Ph_, S);
  }
  for (std::size_t i = 0; i < n; ++i) P_[i * n + i] += plan_.process_noise;
  if (!all_usable(theta_)) reset();
}

void ClassStack::exchange(Archive& archive) {
  archive.numbers(theta_);
  archive.numbers(P_);
}

}  // namespace kalstream

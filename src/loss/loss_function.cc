#include "loss/loss_function.h"

#include <algorithm>
#include <cmath>

#include "core/finite.h"
#include "kernels/kernels.h"

namespace kalstream {

using kernels::active;

namespace {

// The least probability, or mean count, that is told: nothing is impossible, so that no loss is
// infinite.
constexpr double least = 1e-12;

constexpr double rounding_of_sums = 1e-6;  // of probabilities that somebody else has added up

// By how much the curvature of a log-likelihood must grow so that a full Newton step does not carry
// z beyond where the class that it was has the odds e² : 1. With a = (d − μ)ᵀV⁻¹(d − μ), which is
// (1 − p)/p for a class of probability p, the step from z is 1/p, and ln a + 2 is wanted; up to
// even odds the former is less.
double growth_of_curvature(double a) {
  return std::max(1.0, (1 + a) / (2 + std::log(std::max(a, 1.0))));
}

// The same of a count: a full step may go as far as ln d. (d − μ)/(ln d − ln μ) is the logarithmic
// mean of both: less than μ if d is.
double poisson_curvature(double d, double mu) {
  if (!(d > mu)) return mu;
  const double ratio = d / mu - 1;
  return ratio < 1e-6 ? mu * (1 + ratio / 2) : (d - mu) / std::log1p(ratio);
}

}  // namespace

LossFunction::LossFunction(const Loss& loss, std::size_t n_d) : loss_(loss), n_d_(n_d) {
  if (is_squared()) return;
  roots_.resize(n_d);
  slopes_.resize(n_d);
  if (!is_softmax()) return;
  tails_.resize(n_d + 1);
  mu_.resize(n_d);
}

bool LossFunction::is_softmax() const {
  return loss_.kind == Loss::Kind::cross_entropy && n_d_ > 1;
}

bool LossFunction::accepts(std::span<const double> d) const {
  const bool are_probabilities = loss_.kind == Loss::Kind::cross_entropy;
  if (!loss_.has_link()) return true;
  double sum = 0;
  for (const double v : d) {
    if (!(v >= 0 && v <= (are_probabilities ? 1 : largest_magnitude))) return false;
    sum += v;
  }
  return !is_softmax() || std::abs(sum - 1) <= rounding_of_sums;
}

void LossFunction::link(std::span<double> z) const {
  if (!loss_.has_link()) return;
  for (double& v : z) v *= loss_.link_scale;
  if (is_softmax()) {
    const double top = *std::max_element(z.begin(), z.end());
    double sum = 0;
    for (double& v : z) sum += v = std::exp(v - top);
    for (double& v : z) v = std::max(v / sum, least);
  } else if (loss_.kind == Loss::Kind::cross_entropy) {
    z[0] = std::clamp(1 / (1 + std::exp(-z[0])), least, 1 - least);
  } else {
    for (double& v : z) v = std::clamp(std::exp(v), least, largest_magnitude);
  }
}

double LossFunction::of(std::span<const double> d, std::span<const double> mu) const {
  double loss = 0;
  for (std::size_t k = 0; k < d.size(); ++k) {
    const double e = d[k] - mu[k];
    switch (loss_.kind) {
      case Loss::Kind::squared:
        loss += e * e;
        break;
      case Loss::Kind::cross_entropy:
        loss -= d[k] * std::log(mu[k]);
        if (!is_softmax()) loss -= (1 - d[k]) * std::log1p(-mu[k]);
        break;
      case Loss::Kind::poisson:
        loss += mu[k] - d[k] * std::log(mu[k]);
        break;
      case Loss::Kind::huber: {
        const double size = std::abs(e);
        const double c = loss_.threshold;
        loss += size <= c ? e * e / 2 : c * (size - c / 2);
        break;
      }
      case Loss::Kind::quantile:
        loss += e * (loss_.quantile - (e < 0 ? 1 : 0));
    }
  }
  return loss;
}

double LossFunction::mixing_rate() const {
  const auto n_d = static_cast<double>(n_d_);
  switch (loss_.kind) {
    case Loss::Kind::squared:
      return 1 / (8 * n_d);
    case Loss::Kind::huber:
    case Loss::Kind::quantile:
      return 1 / (4 * n_d);
    default:
      return 1;
  }
}

// ---- One output by itself: V = v, e' = e/root and H' = slope·H.

// √v of a log-likelihood; 1/√w of a loss with the weight w = ℓ'(e)/e.
double LossFunction::root(double mu, double e) const {
  const double size = std::abs(e);
  switch (loss_.kind) {
    case Loss::Kind::cross_entropy: {
      const double v = mu * (1 - mu);
      return std::sqrt(v * growth_of_curvature(e * e / v));
    }
    case Loss::Kind::poisson:
      return std::sqrt(poisson_curvature(mu + e, mu));
    case Loss::Kind::huber:
      return std::sqrt(std::max(size / loss_.threshold, 1.0));
    default: {  // quantile
      const double side = e < 0 ? 1 - loss_.quantile : loss_.quantile;
      return std::sqrt(std::max(size, loss_.threshold) / side);
    }
  }
}

void LossFunction::scale_rows(std::span<const double> H, std::span<double> H_white) const {
  const std::size_t n = H.size() / n_d_;
  std::fill(H_white.begin(), H_white.end(), 0.0);
  for (std::size_t k = 0; k < n_d_; ++k)
    active().axpy(n, loss_.has_link() ? loss_.link_scale * roots_[k] : 1 / roots_[k],
                  H.data() + k * n, H_white.data() + k * n);
}

// ---- Several classes. V = diag μ − μμᵀ is singular: probabilities add up to 1, and of n classes
// n − 1 directions are free. Its root is known: with the tails s_k = Σ_{j≥k} μ_j, a stick of which
// class k breaks off μ_k/s_k,
//
//     L_kk = √(μ_k s_{k+1}/s_k),   L_jk = −μ_j √(μ_k/(s_k s_{k+1})) for j > k
//
// and its last column is 0. So are the last rows of e' and H', which a rule learns nothing from.
// Any other root is this one turned, and no rule depends on that.

void LossFunction::set_sticks(std::span<const double> mu) {
  std::copy(mu.begin(), mu.end(), mu_.begin());
  tails_[n_d_] = 0;
  for (std::size_t k = n_d_; k-- > 0;) tails_[k] = tails_[k + 1] + mu[k];
  for (std::size_t k = 0; k + 1 < n_d_; ++k)
    slopes_[k] = std::sqrt(mu[k] / (tails_[k] * tails_[k + 1]));
}

// L⁻¹e by what is left of e from each class on: e'_k = (e_k − μ_k/s_k
// Σ_{j≥k} e_j)/L_kk.
void LossFunction::error_in_sticks(std::span<const double> e, std::span<double> e_white) const {
  double rest = e[n_d_ - 1];
  e_white[n_d_ - 1] = 0;
  for (std::size_t k = n_d_ - 1; k-- > 0;) {
    rest += e[k];
    e_white[k] = (e[k] - mu_[k] / tails_[k] * rest) / (slopes_[k] * tails_[k + 1]);
  }
}

// LᵀH: H'_k = √(μ_k/(s_k s_{k+1}))·(s_{k+1}H_k − Σ_{j>k} μ_jH_j); the sum is kept in the last row.
void LossFunction::jacobian_in_sticks(std::span<const double> H, std::span<double> H_white) const {
  const std::size_t n = H.size() / n_d_;
  double* sum = H_white.data() + (n_d_ - 1) * n;
  std::fill_n(sum, n, 0.0);
  for (std::size_t k = n_d_; k-- > 0;) {
    const double* row = H.data() + k * n;
    if (k + 1 < n_d_) {
      double* white = H_white.data() + k * n;
      std::fill_n(white, n, 0.0);
      const double slope = loss_.link_scale * slopes_[k];
      active().axpy(n, slope * tails_[k + 1], row, white);
      active().axpy(n, -slope, sum, white);
    }
    active().axpy(n, mu_[k], row, sum);
  }
  std::fill_n(sum, n, 0.0);
}

// Along u = e' the curvature grows by γ, and not across it: I + (γ − 1)uuᵀ/a with a = ‖u‖² has the
// root I + (√γ − 1)uuᵀ/a, by which e' is divided and H' multiplied.
void LossFunction::take_chord(std::span<double> e_white, std::span<double> H_white) const {
  const double a = active().dot(n_d_, e_white.data(), e_white.data());
  const double growth = std::sqrt(growth_of_curvature(a));
  if (growth == 1) return;
  const std::size_t n = H_white.size() / n_d_;
  double* u_H = H_white.data() + (n_d_ - 1) * n;  // which is 0, and will be again
  for (std::size_t k = 0; k + 1 < n_d_; ++k)
    active().axpy(n, e_white[k], H_white.data() + k * n, u_H);
  for (std::size_t k = 0; k + 1 < n_d_; ++k)
    active().axpy(n, (growth - 1) / a * e_white[k], u_H, H_white.data() + k * n);
  std::fill_n(u_H, n, 0.0);
  for (double& e : e_white) e /= growth;
}

// ---- All of them.

void LossFunction::whiten(std::span<const double> mu, std::span<const double> e,
                          std::span<const double> H, std::span<double> e_white,
                          std::span<double> H_white) {
  if (is_softmax()) {
    set_sticks(mu);
    error_in_sticks(e, e_white);
    jacobian_in_sticks(H, H_white);
    take_chord(e_white, H_white);
    return;
  }
  for (std::size_t k = 0; k < n_d_; ++k) {
    roots_[k] = root(mu[k], e[k]);
    e_white[k] = e[k] / roots_[k];
  }
  scale_rows(H, H_white);
}

void LossFunction::whiten(std::span<const double> mu, std::span<const double> H,
                          std::span<double> H_white) {
  if (is_softmax()) {
    set_sticks(mu);
    jacobian_in_sticks(H, H_white);
    return;
  }
  for (std::size_t k = 0; k < n_d_; ++k) roots_[k] = root(mu[k], 0);
  scale_rows(H, H_white);
}

// The diagonal of L diag(v) Lᵀ.
void LossFunction::to_variance_of_target(std::span<double> v) {
  if (!is_softmax()) {
    for (std::size_t k = 0; k < n_d_; ++k) v[k] *= roots_[k] * roots_[k];
    return;
  }
  double below = 0;  // Σ_{k<j} v_k (L_jk/μ_j)²
  for (std::size_t j = 0; j < n_d_; ++j) {
    const double by_earlier = mu_[j] * mu_[j] * below;
    if (j + 1 == n_d_) {
      v[j] = by_earlier;
      break;
    }
    const double diagonal = slopes_[j] * tails_[j + 1];
    below += v[j] * slopes_[j] * slopes_[j];
    v[j] = v[j] * diagonal * diagonal + by_earlier;
  }
}

}  // namespace kalstream

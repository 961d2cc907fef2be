#include "update/joint_covariance.h"

#include <algorithm>
#include <cmath>

#include "core/archive.h"
#include "core/finite.h"
#include "kernels/kernels.h"
#include "update/longevity.h"

namespace kalstream {

using kernels::active;

namespace {

// Hidden states are numbers of size one. What is less certain than this is not known at all, and
// more would be an unstable network's way to infinity.
constexpr double most_of_state = 1e6;

}  // namespace

JointCovariance::JointCovariance(std::size_t weights, std::size_t states, std::size_t n_d)
    : n_(weights),
      m_(states),
      N_(n_ + m_),
      n_d_(n_d),
      P_(N_ * N_),
      proposed_(m_ * N_),
      W_(n_d * N_),
      P_s_(m_ * m_),
      S_(n_d * n_d),
      u_(n_d) {}

void JointCovariance::reset(double p1) {
  std::fill(P_.begin(), P_.end(), 0.0);
  for (std::size_t i = 0; i < n_; ++i) row(i)[i] = p1;
  sum_trace();
}

// Lower triangles, row after row.
void JointCovariance::exchange(Archive& archive) {
  if (archive.takes_arrays()) {
    archive.array(std::as_writable_bytes(std::span(P_)));
  } else {
    archive.size(N_);
    for (std::size_t i = 0; i < N_; ++i) {
      archive.run({row(i), i + 1});
      archive.require(i < n_ ? Archive::positive(row(i)[i]) : Archive::not_negative(row(i)[i]));
      if (archive.reading())
        for (std::size_t j = 0; j < i; ++j) row(j)[i] = row(i)[j];
    }
  }
  sum_trace();
}

void JointCovariance::sum_trace() {
  trace_ = 0;
  for (std::size_t i = 0; i < n_; ++i) trace_ += row(i)[i];
}

// Most of F is 0: a gate's weights move their own unit alone. P, which is large, is read once.
void JointCovariance::predict(std::span<const double> F, double noise) {
  std::fill(proposed_.begin(), proposed_.end(), 0.0);
  for (std::size_t j = 0; j < N_; ++j)
    for (std::size_t k = 0; k < m_; ++k)
      if (const double f = F[k * N_ + j]; f != 0) active().axpy(N_, f, row(j), &proposed_[k * N_]);
  for (std::size_t k = 0; k < m_; ++k)
    for (std::size_t l = 0; l <= k; ++l)
      P_s_[k * m_ + l] = P_s_[l * m_ + k] = active().dot(N_, &proposed_[k * N_], &F[l * N_]);
  for (std::size_t k = 0; k < m_; ++k) {
    std::copy_n(&P_s_[k * m_], m_, &proposed_[k * N_ + n_]);
    proposed_[k * N_ + n_ + k] += noise;
  }
}

// Of the weights H knows few: those of the output.
void JointCovariance::measure(std::span<const double> H) {
  for (std::size_t k = 0; k < n_d_; ++k) {
    const double* h = &H[k * N_];
    double* v = &W_[k * N_];
    std::fill_n(v, N_, 0.0);
    for (std::size_t i = 0; i < n_; ++i)
      if (h[i] != 0) active().axpy(n_, h[i], row(i), v);
    for (std::size_t s = 0; s < m_; ++s) {
      if (h[n_ + s] != 0) active().axpy(n_, h[n_ + s], &proposed_[s * N_], v);
      v[n_ + s] = active().dot(N_, &proposed_[s * N_], h);
    }
  }
  for (std::size_t k = 0; k < n_d_; ++k)
    for (std::size_t l = 0; l <= k; ++l)
      S_[k * n_d_ + l] = S_[l * n_d_ + k] = active().dot(N_, &H[k * N_], &W_[l * N_]);
}

// LLᵀ = S + rI, and u = L⁻¹e. False if there is no such L.
bool JointCovariance::factor(std::span<const double> e, double r) {
  for (std::size_t k = 0; k < n_d_; ++k) {
    if (S_[k * n_d_ + k] < 0) return false;
    for (std::size_t l = 0; l <= k; ++l) {
      double s = S_[k * n_d_ + l] + (k == l ? r : 0);
      for (std::size_t i = 0; i < l; ++i) s -= S_[k * n_d_ + i] * S_[l * n_d_ + i];
      if (k == l && !(s > 0)) return false;
      S_[k * n_d_ + l] = k == l ? std::sqrt(s) : s / S_[l * n_d_ + l];
    }
    double u = e[k];
    for (std::size_t i = 0; i < k; ++i) u -= S_[k * n_d_ + i] * u_[i];
    u_[k] = u / S_[k * n_d_ + k];
  }
  return true;
}

StepStatus JointCovariance::correct(std::span<const double> e, double r, std::span<const double> xi,
                                    std::span<double> xi_new) {
  if (!all_finite(S_)) return StepStatus::rejected_non_finite;
  if (!factor(e, r)) return StepStatus::rejected_covariance;
  for (std::size_t k = 0; k < n_d_; ++k) {
    double* w = &W_[k * N_];
    for (std::size_t i = 0; i < k; ++i) active().axpy(N_, -S_[k * n_d_ + i], &W_[i * N_], w);
    const double scale = 1 / S_[k * n_d_ + k];
    for (std::size_t j = 0; j < N_; ++j) w[j] *= scale;
  }
  std::copy(xi.begin(), xi.end(), xi_new.begin());
  for (std::size_t k = 0; k < n_d_; ++k)
    if (!active().move_within(N_, u_[k], &W_[k * N_], xi_new.data(), largest_magnitude,
                              xi_new.data()))
      return StepStatus::rejected_non_finite;
  for (std::size_t i = 0; i < n_; ++i) {
    double after = P_[i * N_ + i];
    for (std::size_t k = 0; k < n_d_; ++k) after -= W_[k * N_ + i] * W_[k * N_ + i];
    if (!std::isfinite(after)) return StepStatus::rejected_non_finite;
    if (!(after > 0)) return StepStatus::rejected_covariance;
  }
  return StepStatus::applied;
}

void JointCovariance::accept_prediction() {
  for (std::size_t s = 0; s < m_; ++s) {
    const double* from = &proposed_[s * N_];
    std::copy_n(from, N_, row(n_ + s));
    for (std::size_t i = 0; i < n_; ++i) row(i)[n_ + s] = from[i];
  }
}

// Every entry and its mirror image are made of the same products: P stays symmetric to the bit.
void JointCovariance::accept_correction(double q) {
  for (std::size_t i = 0; i < N_; ++i) {
    for (std::size_t k = 0; k < n_d_; ++k) active().axpy(N_, -W_[k * N_ + i], &W_[k * N_], row(i));
    if (i < n_) row(i)[i] += q;
  }
}

// A state that is known to the last digit may seem to be known better than that, by rounding: it
// has no variance then, and nothing to do with anything. One that is hardly known at all is scaled
// down, whereby P stays a covariance.
void JointCovariance::settle() {
  for (std::size_t i = n_; i < N_; ++i) {
    const double v = row(i)[i];
    if (v > 0 && v <= most_of_state) continue;
    const double scale = v > 0 && std::isfinite(v) ? std::sqrt(most_of_state / v) : 0;
    for (std::size_t j = 0; j < N_; ++j) row(j)[i] = row(i)[j] = scale > 0 ? scale * row(i)[j] : 0;
    row(i)[i] = scale > 0 ? most_of_state : 0;
  }
  sum_trace();
}

// ---- For a long life (longevity.h)

void JointCovariance::mend() {
  for (std::size_t i = 0; i < N_; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::abs(row(i)[j]) > std::sqrt(row(i)[i] * row(j)[j])) row(i)[j] = row(j)[i] = 0;
  for (std::size_t i = 0; i < N_; ++i) row(i)[i] *= 1 + Longevity::mending;
  sum_trace();
}

void JointCovariance::halve_from(double limit) {
  double most = 0;
  for (std::size_t i = 0; i < n_; ++i) most = std::max(most, row(i)[i]);
  if (most < limit) return;
  for (double& p : P_) p /= 2;
  sum_trace();
}

// ξ ← ξ − P e_k ξ_k/(p_kk + v);  P ← P − P e_k e_kᵀP/(p_kk + v).
void JointCovariance::return_to_prior(std::size_t k, double v, std::span<double> xi) {
  const double root = std::sqrt(row(k)[k] + v);
  double* w = W_.data();
  std::fill_n(w, N_, 0.0);
  active().axpy(N_, 1 / root, row(k), w);
  for (std::size_t i = 0; i < n_; ++i)
    if (!(row(i)[i] - w[i] * w[i] > 0)) return;
  active().axpy(N_, -xi[k] / root, w, xi.data());
  for (std::size_t i = 0; i < N_; ++i) active().axpy(N_, -w[i], w, row(i));
  settle();
}

}  // namespace kalstream

#include "auto/blend.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "auto/constants.h"
#include "core/archive.h"
#include "kernels/kernels.h"

namespace kalstream {

using kernels::active;

namespace {

constexpr double largest_loss = 16;     // of one expert in one step, in squared errors
constexpr double least_noise = 1e-8;    // of a ridge's measurement, in prior variances of it
constexpr double least_error = 1e-12;   // squared, of the interval's width, that is kept track of
constexpr double least_width = 1e-150;  // of the interval; the square of less is no number

// w_j ∗= exp(−rate·min((d − q_j)², 16 s²)/(s² apart)), normalised, with a share for everyone. After
// a quiet stretch weights move as soon as errors do: s² is at least what the best expert's error is
// now.
void exponential_weights(std::span<double> w, std::span<const double> q, double d, double s2,
                         double apart, double share) {
  double best = (d - q[0]) * (d - q[0]);
  for (const double q_j : q) best = std::min(best, (d - q_j) * (d - q_j));
  s2 = std::max(s2, best);
  if (!(s2 > 0)) return;  // so far no error at all
  const double least = std::min(best / s2, largest_loss);
  double sum = 0;
  for (std::size_t j = 0; j < w.size(); ++j) {
    const double loss = std::min((d - q[j]) * (d - q[j]) / s2, largest_loss);
    sum += w[j] *= std::exp(-constants::blend_rate / apart * (loss - least));
  }
  for (double& w_j : w) w_j = (1 - share) * w_j / sum + share / static_cast<double>(w.size());
}

}  // namespace

Blend::Blend(std::size_t experts, const BlendPace& pace, const Favourite& favourite)
    : pace_(pace),
      favourite_(favourite),
      q_(experts),
      w_(experts),
      ridges_{Ridge{constants::strong_prior, std::vector<double>(experts * experts),
                    std::vector<double>(experts)},
              Ridge{constants::weak_prior, std::vector<double>(experts * experts),
                    std::vector<double>(experts)}},
      final_loss_(experts + 1),
      final_w_(experts + 1),
      effective_(experts),
      beyond_(experts),
      W_(experts) {
  reset();
}

void Blend::reset() {
  const auto M = static_cast<double>(experts());
  low_ = high_ = 0;
  t_ = 0;
  std::fill(w_.begin(), w_.end(), 1 / M);
  if (favourite_.weight > 0) {
    std::fill(w_.begin(), w_.end(), (1 - favourite_.weight) / (M - 1));
    w_[favourite_.expert] = favourite_.weight;
  }
  average_error_ = best_error_ = 0;
  for (Ridge& ridge : ridges_) {
    std::fill(ridge.u.begin(), ridge.u.end(), 0.0);
    ridge.squared_error = 0;
  }
  become_open();
  candidate_w_.fill(1 / static_cast<double>(candidates));
  std::fill(final_loss_.begin(), final_loss_.end(), 0.0);
  weigh_final();
  find_effective_weights();
}

void Blend::become_open() {
  for (Ridge& ridge : ridges_) {
    std::fill(ridge.C.begin(), ridge.C.end(), 0.0);
    for (std::size_t j = 0; j < experts(); ++j) ridge.C[j * experts() + j] = ridge.prior;
  }
}

void Blend::exchange(Archive& archive) {
  archive.number(low_);
  archive.number(high_);
  archive.require(low_ <= high_);
  archive.count(t_);
  archive.numbers(w_, Archive::fraction);
  archive.number(average_error_, Archive::not_negative);
  for (Ridge& ridge : ridges_) {
    archive.numbers(ridge.C);
    archive.numbers(ridge.u);
    archive.number(ridge.squared_error, Archive::not_negative);
  }
  archive.numbers(candidate_w_, Archive::fraction);
  archive.number(best_error_, Archive::not_negative);
  archive.numbers(final_loss_, Archive::not_negative);
  archive.numbers(final_w_, Archive::fraction);
  archive.numbers(effective_);
}

void Blend::widen(double low, double high) {
  if (t_ > 0 && low >= low_ && high <= high_) return;
  low_ = t_ == 0 ? low : std::min(low_, low);
  high_ = t_ == 0 ? high : std::max(high_, high);
  weigh_final();
  find_effective_weights();
}

double Blend::predict(std::span<const double> q) {
  double awake = 0;
  double sum = 0;
  bool all_awake = true;
  for (std::size_t j = 0; j < q.size(); ++j) {
    all_awake = all_awake && std::isfinite(q[j]);
    if (!std::isfinite(q[j])) continue;
    q_[j] = std::clamp(q[j], low_, high_);
    awake += w_[j];
    sum += w_[j] * q_[j];
  }
  double b = active().dot(q_.size(), w_.data(), q_.data());
  if (!all_awake) {  // the others say what the average says
    b = awake > 0 ? sum / awake : (low_ + high_) / 2;
    for (std::size_t j = 0; j < q.size(); ++j)
      if (!std::isfinite(q[j])) q_[j] = b;
  }
  awake_ = awake;
  for (std::size_t j = 0; j < q_.size(); ++j) beyond_[j] = q_[j] - b;
  candidate_[average] = b;
  for (const std::size_t k : {strong, weak})
    candidate_[k] = std::clamp(
        b + active().dot(q_.size(), ridges_[k - strong].u.data(), beyond_.data()), low_, high_);
  best_ = std::inner_product(candidate_.begin(), candidate_.end(), candidate_w_.begin(), 0.0);
  const double d_hat =
      active().dot(q_.size(), final_w_.data(), q_.data()) + final_w_.back() * best_;
  return std::clamp(d_hat, low_, high_);
}

// Without expert j the average moves by w_j(b − q_j)/(1 − w_j), w of those that say something; with
// u ~ N(u, C), knowing that u_j = 0 moves a ridge's xᵀu by −u_j (Cx)_j/C_jj.
void Blend::without_each(std::span<double> difference) const {
  const std::size_t M = experts();
  for (std::size_t j = 0; j < M; ++j) {
    const double others = awake_ - w_[j];
    double of_best = others > 0 ? -candidate_w_[average] * w_[j] * beyond_[j] / others : 0;
    for (const std::size_t k : {strong, weak}) {
      const Ridge& ridge = ridges_[k - strong];
      const double c = ridge.C[j * M + j];
      if (c > 0)
        of_best -=
            candidate_w_[k] * ridge.u[j] * active().dot(M, &ridge.C[j * M], beyond_.data()) / c;
    }
    difference[j] = final_w_.back() * of_best;
  }
}

// Conditioned on u_j = 0:  u ← u − C_j u_j/C_jj;   C ← C − C_j C_jᵀ/C_jj
void Blend::dismiss(std::size_t j) {
  const std::size_t M = experts();
  for (Ridge& ridge : ridges_) {
    const double c = ridge.C[j * M + j];
    const double u = ridge.u[j];
    std::copy_n(&ridge.C[j * M], M, W_.begin());
    for (std::size_t i = 0; c > 0 && i < M; ++i) {
      ridge.u[i] -= W_[i] / c * u;
      active().axpy(M, -W_[i] / c, W_.data(), &ridge.C[i * M]);
    }
    ridge.u[j] = 0;
    for (std::size_t i = 0; i < M; ++i) ridge.C[i * M + j] = ridge.C[j * M + i] = 0;
  }
}

void Blend::admit(std::size_t j) {
  for (Ridge& ridge : ridges_) {
    for (std::size_t i = 0; i < experts(); ++i)
      ridge.C[i * experts() + j] = ridge.C[j * experts() + i] = 0;
    ridge.C[j * experts() + j] = ridge.prior;
    ridge.u[j] = 0;
  }
  w_[j] = pace_.share / static_cast<double>(experts());
  const double sum = std::accumulate(w_.begin(), w_.end(), 0.0);
  for (double& w : w_) w /= sum;
}

void Blend::learn(double d) {
  d = std::clamp(d, low_, high_);
  learn_final(d);
  learn_best(d);
  for (const std::size_t k : {strong, weak}) learn_ridge(ridges_[k - strong], candidate_[k], d);
  learn_average(d);
  ++t_;
  find_effective_weights();
}

// A running squared error, the newest at most nine times the old: one outlier must not set it. Nor
// may a long time without errors make it so small that it takes as long to grow again.
void Blend::track(double& squared_error, double e) const {
  const double rho = high_ - low_;
  const double pace = std::max(1 / static_cast<double>(t_ + 1), constants::blend_share);
  const double newest = squared_error > 0 ? std::min(e * e, 9 * squared_error) : e * e;
  squared_error = std::max(std::lerp(squared_error, newest, pace), least_error * rho * rho);
}

void Blend::learn_average(double d) {
  track(average_error_, d - candidate_[average]);
  exponential_weights(w_, q_, d, average_error_, pace_.average_apart, pace_.share);
}

// Recursive least squares with measurement noise apart·s², s² the running squared error, and
// forgetting as long as that does not lift the covariance above its prior: for x = q − b, S = xᵀCx
// + s² and W = Cx/√S,
//   u ← u + W e/√S;   C ← (C − WWᵀ)/λ
// C is symmetric by construction, and s² kept above what would make it singular within rounding:
// forgetting would blow up either flaw.
void Blend::learn_ridge(Ridge& ridge, double prediction, double d) {
  const std::size_t M = experts();
  double e = d - prediction;
  if (t_ > 0) {
    const double limit = constants::usual_reach * std::sqrt(ridge.squared_error);
    e = std::clamp(e, -limit, limit);
  }
  track(ridge.squared_error, e);
  for (std::size_t i = 0; i < M; ++i) W_[i] = active().dot(M, &ridge.C[i * M], beyond_.data());
  const double x2 = active().dot(M, beyond_.data(), beyond_.data());
  const double S = std::max(active().dot(M, beyond_.data(), W_.data()), 0.0) +
                   std::max(pace_.apart * ridge.squared_error, least_noise * ridge.prior * x2);
  if (!(S > 0)) return;
  const double root = std::sqrt(S);
  for (double& w : W_) w /= root;
  double trace = 0;
  for (std::size_t i = 0; i < M; ++i) {
    ridge.u[i] += W_[i] * (e / root);
    active().axpy(M, -W_[i], W_.data(), &ridge.C[i * M]);
    trace += ridge.C[i * M + i];
  }
  if (trace > constants::ridge_forgetting * static_cast<double>(M) * ridge.prior) return;
  for (double& c : ridge.C) c /= constants::ridge_forgetting;
}

void Blend::learn_best(double d) {
  track(best_error_, d - best_);
  exponential_weights(candidate_w_, candidate_, d, best_error_, pace_.apart, pace_.share);
}

void Blend::learn_final(double d) {
  for (std::size_t j = 0; j < experts(); ++j) final_loss_[j] += (d - q_[j]) * (d - q_[j]);
  final_loss_.back() += (d - best_) * (d - best_);
  weigh_final();
}

// final_w_j ∝ π_j exp(−η L_j) with η = 1/(2ρ²), which never grows because the interval never
// shrinks.
void Blend::weigh_final() {
  const double rho = high_ - low_;
  const double eta = rho > least_width ? 1 / (2 * rho * rho) : 0;
  const double least = *std::min_element(final_loss_.begin(), final_loss_.end());
  double sum = 0;
  for (std::size_t j = 0; j < final_w_.size(); ++j) {
    const double prior = j < experts()
                             ? constants::prior_of_experts / static_cast<double>(experts())
                             : 1 - constants::prior_of_experts;
    sum += final_w_[j] = prior * std::exp(-eta * (final_loss_[j] - least));
  }
  for (double& w : final_w_) w /= sum;
}

double Blend::regret_bound() const {
  const double rho = high_ - low_;
  return 2 * rho * rho * std::log(static_cast<double>(experts()) / constants::prior_of_experts);
}

double Blend::covariance_trace() const {
  double trace = 0;
  for (const Ridge& ridge : ridges_)
    for (std::size_t j = 0; j < experts(); ++j) trace += ridge.C[j * experts() + j];
  return trace;
}

// A ridge predicts b + uᵀ(q − b): expert j counts u_j + w_j(1 − Σu).
void Blend::find_effective_weights() {
  double of_average = candidate_w_[average];
  for (const std::size_t k : {strong, weak}) {
    const auto& u = ridges_[k - strong].u;
    of_average += candidate_w_[k] * (1 - std::accumulate(u.begin(), u.end(), 0.0));
  }
  for (std::size_t j = 0; j < experts(); ++j)
    effective_[j] = final_w_[j] +
                    final_w_.back() * (of_average * w_[j] + candidate_w_[strong] * ridges_[0].u[j] +
                                       candidate_w_[weak] * ridges_[1].u[j]);
}

}  // namespace kalstream

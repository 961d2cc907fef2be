#include "auto/expected_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "auto/constants.h"
#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {
namespace {

/// Inputs whose correlations are known at most: their number grows with the square.
constexpr std::size_t most_correlated = 256;
/// Inputs that one is expected from: those it is correlated with most.
constexpr std::size_t most_others = 12;
/// Inputs that are there and expected all the same, to learn how well that works: with a sample
/// that has gaps at most so many, with a whole one the next in turn.
constexpr std::size_t most_checked = 32;

}  // namespace

ExpectedInputs::ExpectedInputs(std::size_t inputs)
    : inputs_(inputs),
      count_(inputs),
      moments_(inputs),
      last_(inputs),
      expect_(inputs),
      product_(inputs <= most_correlated ? inputs * inputs : 0),
      z_(inputs),
      completed_(inputs) {}

bool ExpectedInputs::are_usable(std::span<const double> x) {
  return std::ranges::all_of(
      x, [](double v) { return std::isnan(v) || std::abs(v) <= largest_magnitude; });
}

double ExpectedInputs::standardised(std::size_t k, double v) const {
  return std::isnan(v) ? v : moments_[k].standardised(count_[k], v, constants::usual_reach);
}

double ExpectedInputs::last_standardised(std::size_t k) const {
  return count_[k] == 0 ? 0 : standardised(k, last_[k]);
}

std::span<const double> ExpectedInputs::complete(std::span<const double> x) {
  if (std::ranges::none_of(x, [](double v) { return std::isnan(v); })) return x;
  for (std::size_t k = 0; k < inputs_; ++k) z_[k] = standardised(k, x[k]);
  for (std::size_t k = 0; k < inputs_; ++k) {
    completed_[k] = x[k];
    if (!std::isnan(x[k])) continue;
    if (count_[k] < constants::few_samples) {  // a wild value among them spoils a mean for long
      completed_[k] = last_[k];
      continue;
    }
    const double z = expect_[k].expect(from_others(k), last_standardised(k));
    completed_[k] = moments_[k].mean + moments_[k].deviation(count_[k]) * z;
  }
  return completed_;
}

// By the regression of z_k on the inputs it is correlated with most, of those that are there.
double ExpectedInputs::from_others(std::size_t k) {
  if (!knows_correlations()) return 0;
  std::array<std::size_t, most_others> others;
  std::size_t n = 0;
  for (std::size_t i = 0; i < inputs_; ++i) {
    if (i == k || std::isnan(z_[i])) continue;
    const double strength = std::abs(product(i, k));
    if (n == most_others && strength <= std::abs(product(others[n - 1], k))) continue;
    std::size_t at = n < most_others ? n++ : n - 1;
    for (; at > 0 && std::abs(product(others[at - 1], k)) < strength; --at)
      others[at] = others[at - 1];
    others[at] = i;
  }
  // Cholesky's factor of their products, and its solution of Lv = product with k, Lu = z: vᵀu.
  const double ridge = 1e-3 + 1 / static_cast<double>(samples_ + 1);
  std::array<std::array<double, most_others>, most_others> L;
  std::array<double, most_others> v, u;
  double expected = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double rest = product(others[i], others[j]) + (i == j ? ridge : 0);
      for (std::size_t l = 0; l < j; ++l) rest -= L[i][l] * L[j][l];
      L[i][j] = i == j ? std::sqrt(std::max(rest, ridge)) : rest / L[j][j];
    }
    v[i] = product(others[i], k);
    u[i] = z_[others[i]];
    for (std::size_t l = 0; l < i; ++l) {
      v[i] -= L[i][l] * v[l];
      u[i] -= L[i][l] * u[l];
    }
    v[i] /= L[i][i];
    u[i] /= L[i][i];
    expected += v[i] * u[i];
  }
  return std::clamp(expected, -constants::usual_reach, constants::usual_reach);
}

void ExpectedInputs::add(std::span<const double> x) {
  ++samples_;
  for (std::size_t k = 0; k < inputs_; ++k) z_[k] = standardised(k, x[k]);
  const bool has_gaps = std::ranges::any_of(x, [](double v) { return std::isnan(v); });
  for (std::size_t n = has_gaps ? std::min(most_checked, inputs_) : inputs_ > 0; n > 0; --n) {
    next_checked_ = (next_checked_ + 1) % inputs_;
    const std::size_t k = next_checked_;
    if (!std::isnan(z_[k])) expect_[k].learn(from_others(k), last_standardised(k), z_[k]);
  }
  // What is missing counts as what it is expected to be, with the error that has.
  for (std::size_t k = 0; k < inputs_; ++k) completed_[k] = z_[k];
  for (std::size_t k = 0; k < inputs_; ++k)
    if (std::isnan(z_[k])) completed_[k] = expect_[k].expect(from_others(k), last_standardised(k));
  const double pace = 1 / std::min(static_cast<double>(samples_), RunningMoments::horizon);
  for (std::size_t i = 0; i < inputs_ && knows_correlations(); ++i) {
    for (std::size_t k = 0; k <= i; ++k)
      product(i, k) += pace * (completed_[i] * completed_[k] - product(i, k));
    if (std::isnan(z_[i])) product(i, i) += pace * std::max(1 - completed_[i] * completed_[i], 0.0);
    for (std::size_t k = 0; k < i; ++k) product(k, i) = product(i, k);
  }
  for (std::size_t k = 0; k < inputs_; ++k) {
    if (std::isnan(x[k])) continue;
    moments_[k] =
        moments_[k].with(++count_[k], x[k], RunningMoments::reach, RunningMoments::horizon);
    last_[k] = x[k];
  }
}

double ExpectedInputs::Regression::expect(double z1, double z2) const {
  if (error > constants::error_to_beat * square) return 0;
  const double a = z11 + constants::doubt_of_others;
  const double b = z22 + constants::doubt_of_last;
  const double determinant = a * b - z12 * z12;
  const double w1 = (b * z1y - z12 * z2y) / determinant;
  const double w2 = (a * z2y - z12 * z1y) / determinant;
  return std::clamp(w1 * z1 + w2 * z2, -constants::usual_reach, constants::usual_reach);
}

void ExpectedInputs::Regression::learn(double z1, double z2, double y) {
  const Regression always{.z11 = z11, .z12 = z12, .z22 = z22, .z1y = z1y, .z2y = z2y};
  const double e = y - always.expect(z1, z2);
  error += e * e;
  square += y * y;
  z11 += z1 * z1;
  z12 += z1 * z2;
  z22 += z2 * z2;
  z1y += z1 * y;
  z2y += z2 * y;
}

void ExpectedInputs::reset() { *this = ExpectedInputs(inputs_); }

void ExpectedInputs::exchange(Archive& archive) {
  archive.count(samples_);
  archive.count(next_checked_, inputs_);
  archive.run(count_, Archive::not_negative);
  for (Welford& m : moments_) {
    archive.number(m.mean);
    archive.number(m.sum_sq, Archive::not_negative);
  }
  archive.run(last_);
  for (Regression& r : expect_)
    for (double* v : {&r.z11, &r.z12, &r.z22, &r.z1y, &r.z2y, &r.error, &r.square})
      archive.number(*v);
  archive.run(product_);
}

}  // namespace kalstream

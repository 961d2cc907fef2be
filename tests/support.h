// What the tests share: streams, bit-for-bit comparison, small networks.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/aligned.h"
#include "core/archive.h"
#include "core/rng.h"
#include "kalstream/options.h"

namespace kalstream::test {

using Vector = std::vector<double>;

/// A sanitizer makes every step several times as long: what the optimised build tries case by case
/// is tried there in one of `n` cases.
constexpr std::size_t one_in([[maybe_unused]] std::size_t n) {
#ifdef KALSTREAM_SANITIZED
  return n;
#else
  return 1;
#endif
}

inline AlignedVector aligned(const Vector& v) { return {v.begin(), v.end()}; }
inline Vector copy(std::span<const double> v) { return {v.begin(), v.end()}; }

inline Vector normals(Rng& rng, std::size_t n, double scale = 1) {
  Vector v(n);
  for (double& a : v) a = scale * rng.normal();
  return v;
}

/// The state of something that has exchange(), as a snapshot holds it.
std::vector<std::byte> state_of(const auto& object) {
  std::vector<std::byte> bytes;
  Archive to(bytes);
  auto copy = object;
  copy.exchange(to);
  return bytes;
}

/// Gives `object` that state; throws SnapshotError if it is of another kind.
void set_state(auto& object, std::span<const std::byte> bytes) {
  Archive from(bytes);
  object.exchange(from);
  from.require(from.left() == 0);
}

/// Equal as bit patterns: NaN equals the same NaN, 0 does not equal −0.
inline testing::AssertionResult same_bits(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size())
    return testing::AssertionFailure() << a.size() << " numbers, not " << b.size();
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::bit_cast<std::uint64_t>(a[k]) != std::bit_cast<std::uint64_t>(b[k]))
      return testing::AssertionFailure()
             << "entry " << k << ": " << a[k] << " and " << b[k] << " differ by " << a[k] - b[k];
  return testing::AssertionSuccess();
}

/// |a_k − b_k| ≤ tolerance·max(1, largest |b|) for every k.
inline testing::AssertionResult near(std::span<const double> a, std::span<const double> b,
                                     double tolerance) {
  if (a.size() != b.size())
    return testing::AssertionFailure() << a.size() << " numbers, not " << b.size();
  double scale = 1;
  for (const double v : b) scale = std::max(scale, std::abs(v));
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!(std::abs(a[k] - b[k]) <= tolerance * scale))
      return testing::AssertionFailure() << "entry " << k << ": " << a[k] << " and " << b[k]
                                         << " differ by " << a[k] - b[k] << " at scale " << scale;
  return testing::AssertionSuccess();
}

inline NetworkOptions small_network(std::size_t inputs, std::size_t hidden, std::size_t outputs) {
  NetworkOptions network;
  network.inputs = inputs;
  network.hidden = hidden;
  network.outputs = outputs;
  network.window = 4;
  network.weight_deviation = 0.4;
  return network;
}

/// w = argmin Σ(d − wᵀx)² + ridge·‖w‖² over what was added: (Σxxᵀ + ridge·I) w = Σxd.
class LeastSquares {
 public:
  explicit LeastSquares(std::size_t n, double ridge = 0) : rows_(n, Vector(n + 1)) {
    for (std::size_t k = 0; k < n; ++k) rows_[k][k] = ridge;
  }

  void add(const Vector& x, double d) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (std::size_t j = 0; j < rows_.size(); ++j) rows_[i][j] += x[i] * x[j];
      rows_[i].back() += x[i] * d;
    }
  }

  /// By elimination; the matrix is positive definite and needs no pivots.
  Vector solve() const {
    std::vector<Vector> rows = rows_;
    const std::size_t n = rows.size();
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < n; ++i) {
        const double factor = rows[i][k] / rows[k][k];
        for (std::size_t j = k; j <= n && i != k; ++j) rows[i][j] -= factor * rows[k][j];
      }
    Vector w(n);
    for (std::size_t k = 0; k < n; ++k) w[k] = rows[k][n] / rows[k][k];
    return w;
  }

 private:
  std::vector<Vector> rows_;  // of the matrix, each with its entry of the right side
};

struct Stream {
  std::vector<Vector> x;
  std::vector<Vector> d;
  std::size_t size() const { return x.size(); }
};

/// Inputs N(0, 1); targets in (−0.9, 0.9) that depend on the last two inputs, with noise.
inline Stream random_stream(std::uint64_t seed, std::size_t inputs, std::size_t outputs,
                            std::size_t length) {
  Rng rng(seed);
  const Vector now = normals(rng, outputs * inputs, 0.7);
  const Vector before = normals(rng, outputs * inputs, 0.7);
  Stream stream;
  for (std::size_t t = 0; t < length; ++t) {
    stream.x.push_back(normals(rng, inputs));
    Vector d(outputs);
    for (std::size_t k = 0; k < outputs; ++k) {
      double a = 0.1 * rng.normal();
      for (std::size_t n = 0; n < inputs; ++n) {
        a += now[k * inputs + n] * stream.x[t][n];
        if (t > 0) a += before[k * inputs + n] * stream.x[t - 1][n];
      }
      d[k] = 0.9 * std::tanh(a);
    }
    stream.d.push_back(std::move(d));
  }
  return stream;
}

}  // namespace kalstream::test

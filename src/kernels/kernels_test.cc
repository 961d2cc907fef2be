// Every kernel against the loop that defines it, on sizes with every tail a vector unit can meet.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.h"

namespace kalstream {
namespace {

using test::normals;
using test::same_bits;
using test::Vector;

// |Σ a_k b_k − dot| of any summation order: n ε Σ|a_k b_k|.
constexpr double epsilon = std::numeric_limits<double>::epsilon();

double at(const Vector& P, std::size_t i, std::size_t j) {
  return i >= j ? P[i * (i + 1) / 2 + j] : P[j * (j + 1) / 2 + i];
}

void for_sizes(const auto& check) {
  for (std::size_t n = 1; n <= 70; ++n) {
    Rng rng(100 + n);
    SCOPED_TRACE(n);
    check(n, rng);
  }
}

TEST(KernelsPacked, Offsets) {
  std::size_t k = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(kernels::packed_size(i), k);
    k += i + 1;
    EXPECT_EQ(kernels::packed_diagonal(i), k - 1);
  }
}

TEST(Kernels, Dot) {
  for_sizes([](std::size_t n, Rng& rng) {
    const Vector a = normals(rng, n);
    const Vector b = normals(rng, n);
    long double sum = 0;
    long double size = 0;
    for (std::size_t k = 0; k < n; ++k) {
      sum += static_cast<long double>(a[k]) * b[k];
      size += std::abs(static_cast<long double>(a[k]) * b[k]);
    }
    const double bound = static_cast<double>(size) * static_cast<double>(n) * epsilon;
    EXPECT_NEAR(kernels::dot(n, a.data(), b.data()), static_cast<double>(sum), bound);
  });
}

TEST(Kernels, DotOfNothingIsZero) { EXPECT_EQ(kernels::dot(0, nullptr, nullptr), 0); }

TEST(Kernels, Axpy) {
  for_sizes([](std::size_t n, Rng& rng) {
    const Vector x = normals(rng, n);
    Vector y = normals(rng, n + 1);  // one more, which must not be touched
    Vector expected = y;
    for (std::size_t k = 0; k < n; ++k) expected[k] += -1.7 * x[k];
    kernels::axpy(n, -1.7, x.data(), y.data());
    EXPECT_TRUE(same_bits(y, expected));
  });
}

TEST(Kernels, Matvec) {
  for_sizes([](std::size_t n, Rng& rng) {
    for (const std::size_t rows : {std::size_t{1}, std::size_t{3}, n}) {
      const Vector A = normals(rng, rows * n);
      const Vector x = normals(rng, n);
      Vector y(rows + 1, 42.0);
      kernels::matvec(rows, n, A.data(), x.data(), y.data());
      for (std::size_t i = 0; i < rows; ++i) {
        double sum = 0;
        double size = 0;
        for (std::size_t j = 0; j < n; ++j) {
          sum += A[i * n + j] * x[j];
          size += std::abs(A[i * n + j] * x[j]);
        }
        EXPECT_NEAR(y[i], sum, 2 * static_cast<double>(n) * epsilon * size);
      }
      EXPECT_EQ(y[rows], 42.0);
    }
  });
}

TEST(Kernels, SymmetricMatvec) {
  for_sizes([](std::size_t n, Rng& rng) {
    const Vector P = normals(rng, kernels::packed_size(n));
    const Vector h = normals(rng, n);
    Vector v(n + 1, 42.0);  // what was there before does not matter
    kernels::symmetric_matvec(n, P.data(), h.data(), v.data());
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      double size = 0;
      for (std::size_t j = 0; j < n; ++j) {
        sum += at(P, i, j) * h[j];
        size += std::abs(at(P, i, j) * h[j]);
      }
      EXPECT_NEAR(v[i], sum, 2 * static_cast<double>(n) * epsilon * size) << "entry " << i;
    }
    EXPECT_EQ(v[n], 42.0);
  });
}

TEST(Kernels, RankOneDowndate) {
  for_sizes([](std::size_t n, Rng& rng) {
    Vector P = normals(rng, kernels::packed_size(n) + 1);
    const Vector w = normals(rng, n);
    Vector expected = P;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j) expected[i * (i + 1) / 2 + j] -= w[i] * w[j];
    kernels::rank_one_downdate(n, P.data(), w.data());
    EXPECT_TRUE(same_bits(P, expected));
  });
}

// Four roundings of numbers in [−1, 1].
TEST(Kernels, GateActivations) {
  for_sizes([](std::size_t n, Rng& rng) {
    Vector a = normals(rng, 4 * n + 1, 3);
    const Vector before = a;
    kernels::gate_activations(n, a.data());
    for (std::size_t k = 0; k < 4 * n; ++k) {
      const double expected = k < n ? std::tanh(before[k]) : 0.5 * (1 + std::tanh(0.5 * before[k]));
      EXPECT_NEAR(a[k], expected, 4 * epsilon) << "gate " << k / n;
    }
    EXPECT_EQ(a[4 * n], before[4 * n]);
  });
}

TEST(Kernels, Tanh) {
  for_sizes([](std::size_t n, Rng& rng) {
    const Vector x = normals(rng, n, 3);
    Vector y(n + 1, 42.0);
    kernels::tanh(n, x.data(), y.data());
    for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(y[k], std::tanh(x[k]), 2 * epsilon);
    EXPECT_EQ(y[n], 42.0);
    Vector in_place = x;
    kernels::tanh(n, in_place.data(), in_place.data());
    EXPECT_TRUE(same_bits(in_place, std::span(y).first(n)));
  });
}

TEST(KernelsSaturation, ActivationsStayInRange) {
  for (const double a : {800.0, 1e6, 1e300, std::numeric_limits<double>::infinity()}) {
    Vector up(4, a);
    kernels::gate_activations(1, up.data());
    EXPECT_EQ(up, Vector(4, 1.0));
    Vector down(4, -a);
    kernels::gate_activations(1, down.data());
    EXPECT_EQ(down[0], -1);
    for (std::size_t k = 1; k < 4; ++k) EXPECT_TRUE(down[k] >= 0 && down[k] < 1e-300) << down[k];
  }
}

}  // namespace
}  // namespace kalstream

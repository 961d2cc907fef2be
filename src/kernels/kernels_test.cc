// Every kernel of every vector unit this machine has against the plain loops of
// tests/reference_kernels.cc, on sizes with every tail there is.
#include "kernels/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "core/aligned.h"
#include "kernels/dispatch.h"
#include "support.h"

namespace kalstream {
namespace {

using kernels::width;
using test::near;
using test::normals;
using test::same_bits;
using test::Vector;

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const kernels::Kernels& reference() { return *kernels::available_targets().back(); }

std::size_t in_eights(std::size_t n) { return (n + width - 1) / width * width; }

// Differences of a sum of n terms of size one, taken in another order.
double rounding(std::size_t n) { return 4 * static_cast<double>(n + 2) * epsilon; }

class Kernels : public testing::TestWithParam<const kernels::Kernels*> {
 protected:
  const kernels::Kernels& tested = *GetParam();
};

void for_sizes(std::size_t largest, const auto& check) {
  for (std::size_t n = 1; n <= largest; ++n) {
    Rng rng(100 + n);
    SCOPED_TRACE(n);
    check(n, rng);
  }
}

TEST_P(Kernels, DotAndSum) {
  EXPECT_EQ(tested.dot(0, nullptr, nullptr), 0);
  EXPECT_EQ(tested.sum(0, nullptr), 0);
  for_sizes(140, [&](std::size_t n, Rng& rng) {
    const Vector a = normals(rng, n);
    const Vector b = normals(rng, n);
    double size = 0;
    for (std::size_t k = 0; k < n; ++k) size += std::abs(a[k] * b[k]) + std::abs(a[k]);
    EXPECT_NEAR(tested.dot(n, a.data(), b.data()), reference().dot(n, a.data(), b.data()),
                rounding(n) * size);
    EXPECT_NEAR(tested.sum(n, a.data()), reference().sum(n, a.data()), rounding(n) * size);
  });
}

TEST_P(Kernels, Axpy) {
  for_sizes(140, [&](std::size_t n, Rng& rng) {
    const Vector x = normals(rng, n);
    Vector y = normals(rng, n + 1);  // one more, which must not be touched
    Vector expected = y;
    reference().axpy(n, -1.7, x.data(), expected.data());
    tested.axpy(n, -1.7, x.data(), y.data());
    EXPECT_TRUE(near(y, expected, 4 * epsilon));
    EXPECT_EQ(y[n], expected[n]);
  });
}

TEST_P(Kernels, MoveWithin) {
  for_sizes(40, [&](std::size_t n, Rng& rng) {
    const Vector x = normals(rng, n);
    const Vector theta = normals(rng, n);
    Vector moved(n + 1, 42.0);
    EXPECT_TRUE(tested.move_within(n, -0.3, x.data(), theta.data(), 1e100, moved.data()));
    for (std::size_t k = 0; k < n; ++k) EXPECT_NEAR(moved[k], theta[k] - 0.3 * x[k], 1e-15);
    EXPECT_EQ(moved[n], 42.0);
    Vector in_place = theta;
    EXPECT_TRUE(tested.move_within(n, -0.3, x.data(), in_place.data(), 1e100, in_place.data()));
    for (std::size_t k = 0; k < n; ++k) EXPECT_EQ(in_place[k], moved[k]);
    for (const double bad : {nan, -nan, infinity, -infinity, 1.1e100, -1e300})
      for (std::size_t k = 0; k < n; ++k) {
        Vector spoilt = x;
        spoilt[k] = bad;
        EXPECT_FALSE(tested.move_within(n, 1, spoilt.data(), theta.data(), 1e100, moved.data()))
            << bad << " at " << k;
      }
  });
}

// Arguments of every size from 1e-320 to 1e300, of both signs, and where k of eʸ = 2ᵏeʳ changes.
Vector all_over() {
  Vector all{0.0,
             -0.0,
             infinity,
             -infinity,
             std::numeric_limits<double>::min(),
             std::numeric_limits<double>::denorm_min()};
  Rng rng(1);
  for (double a = 1e-320; a < 1e300; a *= 3.7)
    for (const double sign : {1.0, -1.0}) all.push_back(sign * a);
  for (int k = 0; k < 20'000; ++k) all.push_back(rng.uniform(-45, 45));
  for (int k = 0; k < 5'000; ++k) all.push_back(rng.uniform(-800, 800));
  for (int k = 0; k < 5'000; ++k) all.push_back(rng.normal());
  for (int k = -60; k <= 60; ++k)
    for (const double offset : {0.0, 1e-15, -1e-15, 1e-9})
      all.push_back((k + 0.5) * std::numbers::ln2 * (1 + offset));
  return all;
}

// 4 units in the last place of what std:: gives. The logistic function of −708 and below, 1e-308,
// is as good as 0.
TEST_P(Kernels, ActivationsAreAccurate) {
  const Vector x = all_over();
  Vector y(x.size());
  tested.tanh(x.size(), x.data(), y.data());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = std::tanh(x[k]);
    const double bound = 4 * epsilon * std::abs(expected) + std::numeric_limits<double>::min();
    ASSERT_NEAR(y[k], expected, bound) << x[k];
    ASSERT_LE(std::abs(y[k]), 1);
  }
  tested.logistic(x.size(), x.data(), y.data());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double expected = 1 / (1 + std::exp(-x[k]));
    ASSERT_NEAR(y[k], expected, 4 * epsilon * expected + 1e-307) << x[k];
    ASSERT_TRUE(y[k] >= 0 && y[k] <= 1);
  }
}

TEST_P(Kernels, ActivationsOfAnyLengthAndInPlace) {
  for_sizes(40, [&](std::size_t n, Rng& rng) {
    for (const auto f : {tested.tanh, tested.logistic}) {
      const Vector x = normals(rng, n, 3);
      Vector y(n + 1, 42.0);
      f(n, x.data(), y.data());
      EXPECT_EQ(y[n], 42.0);
      for (std::size_t k = 0; k < n; ++k) {
        double one = 0;
        f(1, &x[k], &one);
        EXPECT_EQ(y[k], one);
      }
      Vector in_place = x;
      f(n, in_place.data(), in_place.data());
      EXPECT_TRUE(same_bits(in_place, std::span(y).first(n)));
    }
  });
}

TEST_P(Kernels, ActivationsOfNanAreNan) {
  Vector x(9, nan);
  Vector y(9);
  tested.tanh(9, x.data(), y.data());
  for (const double v : y) EXPECT_TRUE(std::isnan(v));
  tested.logistic(9, x.data(), y.data());
  for (const double v : y) EXPECT_TRUE(std::isnan(v));
}

TEST_P(Kernels, CopyRows) {
  for_sizes(40, [&](std::size_t n, Rng& rng) {
    const Vector from = normals(rng, 3 * (n + 5));
    Vector to(3 * (n + 2), 42.0);
    tested.copy_rows(3, n, from.data(), n + 5, to.data(), n + 2);
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t j = 0; j < n + 2; ++j)
        ASSERT_EQ(to[r * (n + 2) + j], j < n ? from[r * (n + 5) + j] : 42.0);
  });
}

TEST_P(Kernels, InterleaveAndAddBack) {
  for_sizes(70, [&](std::size_t n, Rng& rng) {
    const Vector matrix = normals(rng, width * n);
    std::array<const double*, width> rows;
    for (std::size_t l = 0; l < width; ++l) rows[l] = &matrix[l * n];
    for (const std::size_t stride : {width, 3 * width}) {
      Vector out(stride * n, 42.0);
      tested.interleave(n, rows.data(), stride, out.data());
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t l = 0; l < stride; ++l)
          ASSERT_EQ(out[stride * j + l], l < width ? matrix[l * n + j] : 42.0);
    }
    // And back: θ + Σ_k u_k w_k.
    for (std::size_t n_w = 1; n_w <= 3; ++n_w) {
      const std::size_t apart = width * (n + 2);
      Vector W = normals(rng, n_w * apart);
      const Vector u = normals(rng, n_w * width);
      Vector sum(width * (n + 1), 42.0);
      std::array<double*, width> sum_rows;
      for (std::size_t l = 0; l < width; ++l) sum_rows[l] = &sum[l * (n + 1)];
      const auto add = [&] {
        return tested.add_interleaved(n, n_w, u.data(), W.data(), apart, rows.data(), 1e100,
                                      sum_rows.data());
      };
      EXPECT_TRUE(add());
      for (std::size_t l = 0; l < width; ++l) {
        for (std::size_t j = 0; j < n; ++j) {
          double expected = matrix[l * n + j];
          for (std::size_t k = 0; k < n_w; ++k)
            expected += u[width * k + l] * W[apart * k + width * j + l];
          ASSERT_NEAR(sum_rows[l][j], expected, 1e-14);
        }
        ASSERT_EQ(sum_rows[l][n], 42.0);
      }
      for (const double bad : {nan, -nan, infinity, 1e103, -1e300}) {
        const std::size_t k = apart * (n_w - 1) + (n * 5) % (width * n);
        const double before = std::exchange(W[k], bad);
        EXPECT_FALSE(add()) << bad;
        W[k] = before;
      }
    }
  });
}

constexpr std::pair<std::size_t, std::size_t> ranks[] = {{0, 1}, {1, 0}, {1, 1}, {2, 2},
                                                         {0, 3}, {3, 3}, {4, 4}};

TEST_P(Kernels, InterleavedPass) {
  for_sizes(135, [&](std::size_t n, Rng& rng) {
    if (n > 40 && n % 5 != 0) return;
    for (const auto& [n_w, n_h] : ranks) {
      const Vector start = normals(rng, width * (n * (n - 1) / 2) + 1);
      const Vector D = normals(rng, width * n);
      const Vector W = normals(rng, n_w * width * n);
      const Vector H = normals(rng, n_h * width * n);
      Vector P = start;
      Vector P_expected = start;
      Vector V(n_h * width * n + 1, 42.0);  // what was there before does not matter
      Vector V_expected = V;
      tested.interleaved_pass(n, P.data(), D.data(), n_w, W.data(), n_h, H.data(), V.data());
      reference().interleaved_pass(n, P_expected.data(), D.data(), n_w, W.data(), n_h, H.data(),
                                   V_expected.data());
      ASSERT_TRUE(near(P, P_expected, rounding(n_w))) << n_w << " w";
      ASSERT_TRUE(near(V, V_expected, rounding(n * (1 + n_w)))) << n_h << " h";
      EXPECT_EQ(V.back(), 42.0);
      EXPECT_EQ(P.back(), start.back());

      // Whether products are wanted has no influence on P.
      Vector alone = start;
      tested.interleaved_pass(n, alone.data(), D.data(), n_w, W.data(), 0, nullptr, nullptr);
      ASSERT_TRUE(same_bits(alone, P));
    }
  });
}

// Columns in parts add up to the whole.
TEST_P(Kernels, TiledPass) {
  for (const std::size_t N : {1, 2, 3, 4, 5, 7, 8, 13, 31, 32, 33, 40, 66}) {
    SCOPED_TRACE(N);
    Rng rng(N);
    const std::size_t n = width * N;
    for (const auto& [n_w, n_h] : ranks)
      for (const bool backward : {false, true}) {
        Vector start = normals(rng, width * width * (N * (N + 1) / 2) + 1);
        const Vector D = normals(rng, n);
        const Vector W = normals(rng, n_w * n);
        const Vector H = normals(rng, n_h * n);
        const Vector V_start = normals(rng, n_h * n + 1);
        Vector P = start;
        Vector P_expected = start;
        Vector V = V_start;
        Vector V_expected = V_start;
        const std::size_t middle = N / 3;
        for (const auto& [first, last] : {std::pair(std::size_t{0}, middle), std::pair(middle, N)})
          tested.tiled_pass(N, first, last, backward, P.data(), D.data(), n_w, W.data(), n_h,
                            H.data(), V.data());
        reference().tiled_pass(N, 0, N, false, P_expected.data(), D.data(), n_w, W.data(), n_h,
                               H.data(), V_expected.data());
        ASSERT_TRUE(near(P, P_expected, rounding(n_w)));
        ASSERT_TRUE(near(V, V_expected, rounding(n * (1 + n_w))));
        EXPECT_EQ(V.back(), V_start.back());
        EXPECT_EQ(P.back(), start.back());
        if (n_w == 0) continue;
        Vector alone = start;
        tested.tiled_pass(N, 0, N, false, alone.data(), D.data(), n_w, W.data(), 0, nullptr,
                          nullptr);
        ASSERT_TRUE(same_bits(alone, P));
      }
  }
}

TEST_P(Kernels, SinglePass) {
  const auto singles = [](Rng& rng, std::size_t n) {
    const Vector v = normals(rng, n);
    return std::vector<float>(v.begin(), v.end());
  };
  const auto is_near = [](const std::vector<float>& a, const std::vector<float>& b, double of) {
    return near(Vector(a.begin(), a.end()), Vector(b.begin(), b.end()), of);
  };
  constexpr double unit = 1e-6;
  for (const std::size_t N : {1, 2, 3, 4, 5, 7, 8, 13, 31, 32, 33}) {
    SCOPED_TRACE(N);
    Rng rng(N);
    const std::size_t n = width * N;
    for (const auto& [n_w, n_h] : ranks)
      for (const bool backward : {false, true}) {
        auto P = singles(rng, width * width * (N * (N + 1) / 2) + 1);
        for (std::size_t J = 0; J < N; ++J)  // the diagonal is 0 …
          for (std::size_t k = 0; k < width; ++k)
            P[width * width * (J * N - J * (J + 1) / 2 + J) + (width + 1) * k] = 0;
        const auto W = singles(rng, n_w * n);
        const auto H = singles(rng, n_h * n);
        auto V = singles(rng, n_h * n + 1);
        auto P_expected = P;
        auto V_expected = V;
        auto alone = P;
        tested.single_pass(N, backward, P.data(), n_w, W.data(), n_h, H.data(), V.data());
        reference().single_pass(N, false, P_expected.data(), n_w, W.data(), n_h, H.data(),
                                V_expected.data());
        ASSERT_TRUE(is_near(P, P_expected, unit * static_cast<double>(1 + n_w)));
        ASSERT_TRUE(is_near(V, V_expected, unit * static_cast<double>(n * (1 + n_w))));
        EXPECT_EQ(V.back(), V_expected.back());
        for (std::size_t J = 0; J < N; ++J)  // … and stays it
          for (std::size_t k = 0; k < width; ++k)
            EXPECT_EQ(P[width * width * (J * N - J * (J + 1) / 2 + J) + (width + 1) * k], 0);
        tested.single_pass(N, backward, alone.data(), n_w, W.data(), 0, nullptr, nullptr);
        ASSERT_EQ(alone, P);
      }
  }
}

TEST_P(Kernels, LaneDots) {
  for_sizes(70, [&](std::size_t rows, Rng& rng) {
    const Vector a = normals(rng, width * rows);
    const Vector b = normals(rng, width * rows);
    Vector out(width), expected(width);
    tested.lane_dots(rows, a.data(), b.data(), out.data());
    reference().lane_dots(rows, a.data(), b.data(), expected.data());
    EXPECT_TRUE(near(out, expected, rounding(rows)));
  });
}

TEST_P(Kernels, Factor) {
  Rng rng(6);
  for (std::size_t n_d = 1; n_d <= 5; ++n_d)
    for (int round = 0; round < 20; ++round) {
      Vector S(n_d * n_d * width);
      for (std::size_t l = 0; l < width; ++l) {
        const Vector A = normals(rng, n_d * n_d, l == 3 ? 1e-9 : 1);  // S = AAᵀ
        for (std::size_t i = 0; i < n_d; ++i)
          for (std::size_t j = 0; j < n_d; ++j)
            S[(i * n_d + j) * width + l] =
                l == 5 ? 0 : reference().dot(n_d, &A[i * n_d], &A[j * n_d]);
      }
      const Vector e = normals(rng, n_d);
      const bool has_floor = round % 2 == 0;
      const auto run = [&](const kernels::Kernels& with, Vector& L, Vector& u) {
        return with.factor(n_d, e.data(), has_floor ? 0.5 : 0, 3, has_floor ? -1 : 1e-12, L.data(),
                           u.data());
      };
      Vector L = S, L_expected = S, u(n_d * width), u_expected = u;
      EXPECT_EQ(run(tested, L, u), kernels::no_fault);
      EXPECT_EQ(run(reference(), L_expected, u_expected), kernels::no_fault);
      EXPECT_TRUE(near(L, L_expected, 1e-13));
      EXPECT_TRUE(near(u, u_expected, 1e-13));
      for (std::size_t k = 0; k < n_d; ++k)
        for (const double bad : {nan, infinity, -1.0})
          for (std::size_t l = 0; l < width; ++l) {
            L = S;
            L[(k * n_d + k) * width + l] = bad;
            const int fault = bad == -1 ? kernels::not_a_covariance : kernels::not_finite;
            EXPECT_TRUE(run(tested, L, u) & fault) << bad << " at " << k << ", lane " << l;
          }
    }
}

struct GainCase {
  GainCase(std::size_t rows_, std::size_t n_d_, Rng& rng)
      : rows(rows_),
        n_d(n_d_),
        L(normals(rng, n_d * n_d * width)),
        W(normals(rng, n_d * width * rows, 0.1)),
        D(width * rows, 3.0),
        D_new(width * rows) {}
  int run(const kernels::Kernels& with, double q = 1e-3) {
    return with.gain(rows, n_d, L.data(), q, D.data(), W.data(), D_new.data(), &trace);
  }
  std::size_t rows, n_d;
  Vector L, W, D, D_new;
  double trace = 7;
};

TEST_P(Kernels, Gain) {
  for_sizes(40, [&](std::size_t rows, Rng& rng) {
    for (std::size_t n_d = 1; n_d <= 4; ++n_d) {
      GainCase one(rows, n_d, rng);
      one.D[(rows * 5 + n_d) % one.D.size()] = 0;  // padding
      GainCase expected = one;
      ASSERT_EQ(one.run(tested), expected.run(reference()));
      EXPECT_TRUE(near(one.W, expected.W, 1e-13));
      EXPECT_TRUE(near(one.D_new, expected.D_new, 1e-12));
      EXPECT_NEAR(one.trace, expected.trace, 1e-12 * expected.trace);
      for (std::size_t m = 0; m < one.D.size(); ++m) EXPECT_EQ(one.D[m] == 0, one.D_new[m] == 0);
    }
  });
}

TEST_P(Kernels, GainFaults) {
  Rng rng(3);
  const GainCase fine(5, 2, rng);
  GainCase copy = fine;
  EXPECT_EQ(copy.run(tested), kernels::no_fault);
  for (std::size_t m = 0; m < fine.D.size(); ++m) {
    for (const double bad : {nan, infinity, 1e200}) {
      copy = fine;
      copy.W[m] = bad;
      EXPECT_TRUE(copy.run(tested) & kernels::not_finite) << bad << " at " << m;
    }
    copy = fine;
    copy.D[m] = 1e-300;
    copy.W[m] = 1;
    EXPECT_EQ(copy.run(tested, 0), kernels::not_a_covariance) << m;
    EXPECT_EQ(copy.D_new.size(), fine.D.size());
  }
}

// Sizes of a layer: n_s, n_x and the steps of a window, every value of each.
struct Layer {
  std::size_t n_s, n_x, steps;
  std::size_t n() const { return n_x + n_s; }
  std::size_t gates() const { return in_eights(4 * n_s) + 8; }
};

void for_layers(const auto& check) {
  for (std::size_t k = 0; k < 70; ++k) {
    const Layer layer{1 + k % 65, 1 + (k * 29) % 70, 1 + k % 20};
    SCOPED_TRACE("n_s " + std::to_string(layer.n_s) + ", n_x " + std::to_string(layer.n_x));
    Rng rng(k);
    check(layer, rng);
  }
}

AlignedVector padded(const Vector& v, std::size_t size) {
  AlignedVector out(size, 0.0);
  std::copy(v.begin(), v.end(), out.begin());
  return out;
}

std::span<const double> first(const AlignedVector& v, std::size_t n) { return {v.data(), n}; }

TEST_P(Kernels, LstmForward) {
  for_layers([&](const Layer& s, Rng& rng) {
    const Vector W = normals(rng, s.n() * s.gates(), 0.3);
    const Vector input = normals(rng, s.n());
    const std::size_t units = in_eights(s.n_s);
    const AlignedVector c_before = padded(normals(rng, s.n_s), units);
    const auto run = [&](const kernels::Kernels& with) {
      AlignedVector gates(s.gates()), c(units), tanh_c(units), y(units);
      with.lstm_forward(s.n_s, s.n(), W.data(), input.data(), c_before.data(), gates.data(),
                        c.data(), tanh_c.data(), y.data());
      Vector all;
      for (const auto part :
           {first(gates, 4 * s.n_s), first(c, s.n_s), first(tanh_c, s.n_s), first(y, s.n_s)})
        all.insert(all.end(), part.begin(), part.end());
      return all;
    };
    EXPECT_TRUE(near(run(tested), run(reference()), rounding(s.n())));
  });
}

TEST_P(Kernels, LstmBackward) {
  for_layers([&](const Layer& s, Rng& rng) {
    const std::size_t units = in_eights(s.n_s);
    Vector W_y;
    for (std::size_t r = 0; r < 4 * s.n_s; ++r) {
      const AlignedVector row = padded(normals(rng, s.n_s, 0.3), units);
      W_y.insert(W_y.end(), row.begin(), row.end());
    }
    Vector activations(4 * s.n_s);
    for (double& g : activations) g = rng.uniform();
    const AlignedVector gates = padded(activations, s.gates());
    const AlignedVector c_before = padded(normals(rng, s.n_s), units);
    const AlignedVector tanh_c = padded(normals(rng, s.n_s, 0.3), units);
    const Vector dy_start = normals(rng, s.n_s);
    const Vector dc_start = normals(rng, s.n_s);
    const auto run = [&](const kernels::Kernels& with) {
      AlignedVector da(s.gates());
      AlignedVector dy = padded(dy_start, units);
      AlignedVector dc = padded(dc_start, units);
      with.lstm_backward(s.n_s, W_y.data(), gates.data(), c_before.data(), tanh_c.data(), da.data(),
                         dy.data(), dc.data());
      Vector all;
      for (const auto part : {first(da, 4 * s.n_s), first(dy, s.n_s), first(dc, s.n_s)})
        all.insert(all.end(), part.begin(), part.end());
      return all;
    };
    EXPECT_TRUE(near(run(tested), run(reference()), rounding(4 * s.n_s)));
  });
}

TEST_P(Kernels, GruForward) {
  for_layers([&](const Layer& s, Rng& rng) {
    const std::size_t m = in_eights(3 * s.n_s) + 8;
    const std::size_t units = in_eights(s.n_s);
    const Vector W = normals(rng, s.n() * m, 0.3);
    const Vector input = normals(rng, s.n());
    Vector y_before(input.end() - static_cast<std::ptrdiff_t>(s.n_s), input.end());
    y_before.resize(units);
    const auto run = [&](const kernels::Kernels& with) {
      AlignedVector gates(m), y(units);
      Vector all(s.n() + 1, 42.0);  // one more, which must not be touched
      std::copy_n(input.begin(), s.n_x, all.begin());
      with.gru_forward(s.n_s, s.n_x, W.data(), input.data(), y_before.data(), all.data(),
                       gates.data(), y.data());
      EXPECT_EQ(all.back(), 42.0);
      for (const auto part : {first(gates, 3 * s.n_s), first(y, s.n_s)})
        all.insert(all.end(), part.begin(), part.end());
      return all;
    };
    EXPECT_TRUE(near(run(tested), run(reference()), rounding(s.n())));
  });
}

TEST_P(Kernels, GruBackward) {
  for_layers([&](const Layer& s, Rng& rng) {
    const std::size_t m = in_eights(3 * s.n_s) + 8;
    const std::size_t units = in_eights(s.n_s);
    Vector W_y;
    for (std::size_t r = 0; r < 3 * s.n_s; ++r) {
      const AlignedVector row = padded(normals(rng, s.n_s, 0.3), units);
      W_y.insert(W_y.end(), row.begin(), row.end());
    }
    Vector activations(3 * s.n_s);
    for (double& g : activations) g = rng.uniform();
    const AlignedVector gates = padded(activations, m);
    const AlignedVector y_before = padded(normals(rng, s.n_s), units);
    const Vector dy_start = normals(rng, s.n_s);
    const auto run = [&](const kernels::Kernels& with) {
      AlignedVector da(m), through(units);
      AlignedVector dy = padded(dy_start, units);
      with.gru_backward(s.n_s, W_y.data(), gates.data(), y_before.data(), da.data(), dy.data(),
                        through.data());
      Vector all;
      for (const auto part : {first(da, 3 * s.n_s), first(dy, s.n_s)})
        all.insert(all.end(), part.begin(), part.end());
      return all;
    };
    EXPECT_TRUE(near(run(tested), run(reference()), rounding(4 * s.n_s)));
  });
}

TEST_P(Kernels, TanhForward) {
  for_layers([&](const Layer& s, Rng& rng) {
    const std::size_t units = in_eights(s.n_s);
    const Vector W = normals(rng, s.n() * (units + 8), 0.3);
    const Vector input = normals(rng, s.n());
    const auto run = [&](const kernels::Kernels& with) {
      AlignedVector y(units);
      with.tanh_forward(s.n_s, s.n(), W.data(), input.data(), y.data());
      return Vector(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(s.n_s));
    };
    EXPECT_TRUE(near(run(tested), run(reference()), rounding(s.n())));
  });
}

TEST_P(Kernels, TanhBackward) {
  for_layers([&](const Layer& s, Rng& rng) {
    const std::size_t units = in_eights(s.n_s);
    Vector W_y;
    for (std::size_t r = 0; r < s.n_s; ++r) {
      const AlignedVector row = padded(normals(rng, s.n_s, 0.3), units);
      W_y.insert(W_y.end(), row.begin(), row.end());
    }
    const AlignedVector y = padded(normals(rng, s.n_s, 0.3), units);
    const Vector dy_start = normals(rng, s.n_s);
    const auto run = [&](const kernels::Kernels& with, const double* W) {
      AlignedVector da(units);
      AlignedVector dy = padded(dy_start, units);
      with.tanh_backward(s.n_s, W, y.data(), da.data(), dy.data());
      return std::pair(Vector(da.data(), da.data() + s.n_s), Vector(dy.data(), dy.data() + s.n_s));
    };
    const auto [da, dy] = run(tested, W_y.data());
    const auto [da_expected, dy_expected] = run(reference(), W_y.data());
    EXPECT_TRUE(near(da, da_expected, 4 * epsilon));
    EXPECT_TRUE(near(dy, dy_expected, rounding(s.n_s)));
    const auto [da_alone, dy_alone] = run(tested, nullptr);
    EXPECT_TRUE(same_bits(da_alone, da));
    EXPECT_TRUE(same_bits(dy_alone, dy_start));
  });
}

// A linear model has a layer of no units.
TEST_P(Kernels, NoUnits) {
  const Vector numbers(16, 42.0);
  Vector out = numbers;
  tested.tanh_forward(0, 3, numbers.data(), numbers.data(), out.data());
  tested.tanh_backward(0, nullptr, numbers.data(), out.data(), out.data() + 8);
  tested.outer_products(1, 0, 9, numbers.data(), 8, numbers.data(), 16, out.data());
  EXPECT_TRUE(same_bits(out, numbers));
}

TEST_P(Kernels, OuterProducts) {
  for_layers([&](const Layer& s, Rng& rng) {
    for (const std::size_t rows : {s.n_s, 4 * s.n_s}) {
      const std::size_t A_stride = rows + 3;
      const std::size_t B_stride = in_eights(s.n());
      const Vector A = normals(rng, s.steps * A_stride);
      const Vector B = normals(rng, s.steps * B_stride);
      Vector C(rows * s.n() + 1, 42.0);
      Vector expected = C;
      tested.outer_products(s.steps, rows, s.n(), A.data(), A_stride, B.data(), B_stride, C.data());
      reference().outer_products(s.steps, rows, s.n(), A.data(), A_stride, B.data(), B_stride,
                                 expected.data());
      EXPECT_TRUE(near(C, expected, rounding(s.steps)));
      EXPECT_EQ(C.back(), 42.0);
    }
  });
}

TEST_P(Kernels, FirstOrderRules) {
  const kernels::AdamStep adam{0.01, 0.9, 0.999, 1e-8, 1.3, 1.7, -0.4, 0.03};
  const kernels::RmsPropStep rmsprop{0.01, 0.99, 1e-8, -0.4, 0.03};
  for_sizes(70, [&](std::size_t n, Rng& rng) {
    const Vector g = normals(rng, n);
    const Vector theta = normals(rng, n);
    const Vector m = normals(rng, n);
    Vector v = normals(rng, n);
    for (double& a : v) a = std::abs(a);
    const auto run = [&](const kernels::Kernels& with, const Vector& gradient, bool& usable) {
      Vector out(5 * (n + 1), 42.0);
      const auto part = [&](std::size_t k) { return out.data() + k * (n + 1); };
      usable = with.adam(n, adam, gradient.data(), theta.data(), m.data(), v.data(), 1e100, part(0),
                         part(1), part(2));
      usable &= with.rmsprop(n, rmsprop, gradient.data(), theta.data(), v.data(), 1e100, part(3),
                             part(4));
      for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(part(k)[n], 42.0);
      return out;
    };
    bool usable = false;
    bool expected_usable = false;
    const Vector expected = run(reference(), g, expected_usable);
    EXPECT_TRUE(near(run(tested, g, usable), expected, 8 * epsilon));
    EXPECT_TRUE(usable && expected_usable);
    for (const double bad : {nan, infinity, 1e200})
      for (std::size_t k = 0; k < n; k += 3) {
        Vector spoilt = g;
        spoilt[k] = bad;
        run(tested, spoilt, usable);
        EXPECT_FALSE(usable) << bad << " at " << k;
      }
  });
}

// Eight linear models through a stream; one has no sample now and then, one no target.
TEST_P(Kernels, LinearModels) {
  const kernels::RlsRules rules{
      .noise = 1, .q = 1e-3, .scale = 0.5, .reach = 10, .horizon = 50, .largest = 1e100};
  for_sizes(11, [&](std::size_t n, Rng& rng) {
    const std::size_t m = n + 1;
    struct Models {
      Vector all;
      kernels::RlsModels of;
    };
    const auto make = [&] {
      Models models{Vector(width * (4 + 2 * n + 2 * m + m * n / 2) + 1, 0.0), {}};
      double* at = models.all.data();
      const auto next = [&](std::size_t count) { return std::exchange(at, at + width * count); };
      models.of = {.x_count = next(1),
                   .d_count = next(1),
                   .mean = next(n),
                   .sum_sq = next(n),
                   .d_mean = next(1),
                   .d_sum_sq = next(1),
                   .theta = next(m),
                   .D = next(m),
                   .P = next(m * n / 2)};
      std::fill_n(models.of.D, width * m, 1.0);
      models.all.back() = 42;
      return models;
    };
    Models one = make();
    Models other = make();
    Vector work(4 * width * m);
    for (int t = 0; t < 120; ++t) {
      Vector x = normals(rng, width * n);
      Vector d = normals(rng, width);
      for (std::size_t l = 0; l < width; ++l) d[l] += 3 * x[l];
      if (t % 5 == 1) x[2] = nan;
      if (t % 5 == 2) d[3] = nan;
      if (t % 5 == 3) d[4] = infinity;
      Vector said(3 * width, 0.0);
      Vector expected(3 * width, 0.0);
      const auto run = [&](const kernels::Kernels& with, Models& models, Vector& out) {
        with.rls_predict(n, models.of, rules, x.data(), work.data(), out.data());
        with.rls_learn(n, models.of, rules, x.data(), d.data(), work.data(), out.data() + width,
                       out.data() + 2 * width);
      };
      run(tested, one, said);
      run(reference(), other, expected);
      for (std::size_t k = 0; k < said.size(); ++k) {
        EXPECT_EQ(std::isnan(said[k]), std::isnan(expected[k])) << k;
        if (std::isnan(said[k])) continue;
        EXPECT_NEAR(said[k], expected[k], 1e-9) << k << ' ' << t;
      }
      EXPECT_EQ(said[2 * width + 2], t % 5 == 1 ? kernels::rls_refused : kernels::rls_applied);
      EXPECT_TRUE(near(one.all, other.all, 1e-9));
    }
    EXPECT_EQ(one.all.back(), 42);
  });
}

INSTANTIATE_TEST_SUITE_P(Targets, Kernels,
                         testing::ValuesIn(kernels::available_targets().begin(),
                                           kernels::available_targets().end()),
                         [](const auto& one) { return std::string(one.param->name); });

TEST(Dispatch, ChoosesByName) {
  const std::string before(kernels::target_name());
  ASSERT_GE(kernels::available_targets().size(), 2U);
  for (const auto* target : kernels::available_targets()) {
    EXPECT_TRUE(kernels::use_target(target->name));
    EXPECT_EQ(kernels::target_name(), target->name);
    EXPECT_EQ(&kernels::active(), target);
  }
  EXPECT_FALSE(kernels::use_target("abacus"));
  EXPECT_EQ(kernels::target_name(), "reference");
  EXPECT_TRUE(kernels::use_target(before));
}

}  // namespace
}  // namespace kalstream

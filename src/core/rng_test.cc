#include "core/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace kalstream {
namespace {

// The fixed values come from an independent Python transcription of splitmix64 and xoshiro256**.
TEST(Rng, FixedFirstValues) {
  const struct {
    std::uint64_t seed;
    std::array<std::uint64_t, 4> values;
  } known[] = {
      {0, {0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c}},
      {1, {0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7}},
      {2024, {0x0e48715a13d7772e, 0xc837f3ee8a7a1065, 0x1272314b15ee5001, 0x28e323a6abe2a46b}},
      {UINT64_MAX,
       {0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e, 0xbf658d7e065f3c2f}},
  };
  for (const auto& k : known) {
    Rng rng(k.seed);
    for (const std::uint64_t value : k.values) EXPECT_EQ(rng.next(), value) << "seed " << k.seed;
  }
}

TEST(Rng, FixedThousandthValue) {
  Rng rng(1);
  for (int n = 1; n < 1000; ++n) rng.next();
  EXPECT_EQ(rng.next(), 0xb8517c33c344d153);
}

TEST(Rng, FixedUniforms) {
  Rng rng(1);
  for (const double value :
       {0.7029218331588505, 0.5204366199388569, 0.5741057000197225, 0.39132860204190445})
    EXPECT_EQ(rng.uniform(), value);
}

// Python's math.log in place of the portable one: they agree to the last bits.
TEST(Rng, FixedNormals) {
  const struct {
    std::uint64_t seed;
    std::array<double, 6> values;
  } known[] = {
      {1,
       {1.884396104787977, 0.18978089448693036, 1.302090250702661, -1.9094343319583578,
        0.43832091511541, -0.7923272422638171}},
      {7,
       {0.9643618527255184, -1.0637531974798475, -0.3039301238656567, -1.0989693210013467,
        0.30479435832638674, 1.7083194561947417}},
  };
  for (const auto& k : known) {
    Rng rng(k.seed);
    for (const double value : k.values)
      EXPECT_NEAR(rng.normal(), value, 1e-15 * std::abs(value)) << "seed " << k.seed;
  }
  Rng rng(1);
  double last = 0;
  for (int n = 0; n < 1000; ++n) last = rng.normal();
  EXPECT_NEAR(last, -0.8455486295451325, 1e-15);
}

// Five standard errors of each moment.
TEST(Rng, UniformMoments) {
  constexpr int n = 200'000;
  Rng rng(11);
  double sum = 0;
  double sum_sq = 0;
  double lowest = 1;
  double highest = 0;
  for (int k = 0; k < n; ++k) {
    const double u = rng.uniform();
    lowest = std::min(lowest, u);
    highest = std::max(highest, u);
    sum += u - 0.5;
    sum_sq += (u - 0.5) * (u - 0.5);
  }
  EXPECT_GE(lowest, 0);
  EXPECT_LT(highest, 1);
  EXPECT_LT(lowest, 1e-4);
  EXPECT_GT(highest, 1 - 1e-4);
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(1 / 12.0 / n));
  EXPECT_NEAR(sum_sq / n, 1 / 12.0, 5 * std::sqrt(1 / 180.0 / n));
}

TEST(Rng, UniformBetween) {
  Rng plain(3);
  Rng scaled(3);
  for (int k = 0; k < 1000; ++k) {
    const double u = scaled.uniform(-2, 6);
    EXPECT_EQ(u, -2 + 8 * plain.uniform());
    EXPECT_GE(u, -2);
    EXPECT_LT(u, 6);
  }
}

// Five standard errors: Var x = 1, Var x² = 2, Var x³ = 15, Var x⁴ = 96.
TEST(Rng, NormalMomentsAndTails) {
  constexpr int n = 400'000;
  Rng rng(12);
  std::array<double, 4> sum{};
  int beyond_two = 0;
  int beyond_three = 0;
  double largest = 0;
  for (int k = 0; k < n; ++k) {
    const double x = rng.normal();
    sum[0] += x;
    sum[1] += x * x;
    sum[2] += x * x * x;
    sum[3] += x * x * x * x;
    beyond_two += std::abs(x) > 2;
    beyond_three += std::abs(x) > 3;
    largest = std::max(largest, std::abs(x));
  }
  EXPECT_NEAR(sum[0] / n, 0, 5 * std::sqrt(1.0 / n));
  EXPECT_NEAR(sum[1] / n, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(sum[2] / n, 0, 5 * std::sqrt(15.0 / n));
  EXPECT_NEAR(sum[3] / n, 3, 5 * std::sqrt(96.0 / n));
  const double p2 = std::erfc(2 / std::sqrt(2.0));
  const double p3 = std::erfc(3 / std::sqrt(2.0));
  EXPECT_NEAR(beyond_two / double{n}, p2, 5 * std::sqrt(p2 / n));
  EXPECT_NEAR(beyond_three / double{n}, p3, 5 * std::sqrt(p3 / n));
  EXPECT_GT(largest, 4);
  EXPECT_LT(largest, 7);
}

TEST(Rng, SuccessiveNormalsAreUncorrelated) {
  constexpr int n = 200'000;
  Rng rng(13);
  double product = 0;
  double previous = rng.normal();
  for (int k = 0; k < n; ++k) {
    const double x = rng.normal();
    product += x * previous;
    previous = x;
  }
  EXPECT_NEAR(product / n, 0, 5 / std::sqrt(double{n}));
}

TEST(Rng, BelowIsUniformAndInRange) {
  Rng rng(14);
  for (int k = 0; k < 100; ++k) EXPECT_EQ(rng.below(1), 0U);
  constexpr int n = 60'000;
  std::array<int, 6> count{};
  for (int k = 0; k < n; ++k) ++count.at(rng.below(6));
  const double p = 1.0 / 6;
  for (const int c : count) EXPECT_NEAR(c, n * p, 5 * std::sqrt(n * p * (1 - p)));
  // Just over half the range: nearly every second draw of next() is refused, none may slip through.
  const std::uint64_t big = (std::uint64_t{1} << 63) + 1;
  for (int k = 0; k < 1000; ++k) EXPECT_LT(rng.below(big), big);
}

TEST(Rng, SeedsAndCopies) {
  Rng a(5);
  Rng b(6);
  EXPECT_NE(a.next(), b.next());
  a.normal();  // leaves a spare behind
  Rng copy = a;
  for (int k = 0; k < 5; ++k) EXPECT_EQ(a.normal(), copy.normal());
}

}  // namespace
}  // namespace kalstream

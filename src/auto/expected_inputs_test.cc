// What stands in for inputs that are missing.
#include "auto/expected_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/archive.h"
#include "core/rng.h"

namespace kalstream {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

using Sample = std::vector<double>;

// Root of the mean squared difference between what is missing and what is expected, over the second
// half of a stream in which every fifth number is left out.
template <class Make>
double error_of(std::size_t inputs, int samples, const Make& make) {
  ExpectedInputs expected(inputs);
  Rng rng(7);
  double sum = 0;
  int n = 0;
  for (int t = 0; t < samples; ++t) {
    const Sample whole = make(t);
    Sample seen = whole;
    for (double& v : seen)
      if (rng.uniform() < 0.2) v = missing;
    const auto completed = expected.complete(seen);
    for (std::size_t k = 0; k < inputs; ++k) {
      if (!std::isnan(seen[k])) {
        EXPECT_EQ(completed[k], whole[k]);
        continue;
      }
      if (2 * t < samples) continue;
      sum += (completed[k] - whole[k]) * (completed[k] - whole[k]);
      ++n;
    }
    expected.add(seen);
  }
  return std::sqrt(sum / n);
}

TEST(ExpectedInputs, FollowFromOthers) {
  Rng rng(1);
  const double error = error_of(4, 2000, [&](int) {
    const double a = rng.normal();
    const double b = rng.normal();
    return Sample{100 + a, 0.01 * b, 5 * (a + b), 3 - a};
  });
  EXPECT_LT(error, 1.5);  // deviations are 1, 0.01, 7 and 1; often two of them are missing
}

TEST(ExpectedInputs, AreTheMeanOfThoseThatNothingTells) {
  Rng rng(2);
  const double error = error_of(3, 2000, [&](int) {
    return Sample{rng.normal(), rng.normal(), rng.normal()};
  });
  EXPECT_LT(error, 1.05);
}

TEST(ExpectedInputs, AreLastValuesOfASeries) {
  Rng rng(3);
  double level = 0;
  const double error = error_of(1, 4000, [&](int) {
    level += rng.normal();
    return Sample{level};
  });
  EXPECT_LT(error, 3);  // the walk's deviation is some 30
}

TEST(ExpectedInputs, ManyHaveMeansAlone) {
  Rng rng(4);
  const double error = error_of(300, 200, [&](int) {
    Sample x(300, rng.normal());
    return x;
  });
  EXPECT_NEAR(error, 1, 0.3);
}

TEST(ExpectedInputs, OfAConstantAreTheConstant) {
  ExpectedInputs expected(2);
  for (int t = 0; t < 100; ++t)
    expected.add(Sample{-0.00029825, t % 3 == 0 ? missing : static_cast<double>(t % 7)});
  EXPECT_EQ(expected.complete(Sample{missing, 1})[0], -0.00029825);
}

TEST(ExpectedInputs, AreZeroBeforeTheFirst) {
  ExpectedInputs expected(2);
  EXPECT_EQ(expected.complete(Sample{missing, 8})[0], 0);
  EXPECT_EQ(expected.complete(Sample{missing, 8})[1], 8);
}

TEST(ExpectedInputs, StayFiniteUnderWildValues) {
  ExpectedInputs expected(5);
  Rng rng(5);
  for (int t = 0; t < 3000; ++t) {
    Sample x;
    for (int k = 0; k < 5; ++k)
      x.push_back(rng.uniform() < 0.4   ? missing
                  : rng.uniform() < 0.1 ? std::pow(10, 200 * rng.uniform() - 100)
                  : rng.uniform() < 0.5 ? 0
                                        : rng.normal());
    EXPECT_TRUE(all_usable(expected.complete(x))) << t;
    expected.add(x);
  }
}

TEST(ExpectedInputs, AreTheSameFromASnapshot) {
  const auto sample = [](Rng& rng) {
    const double a = rng.normal();
    Sample x{a, a + 0.1 * rng.normal(), rng.normal()};
    for (double& v : x)
      if (rng.uniform() < 0.3) v = missing;
    return x;
  };
  Rng rng(6);
  ExpectedInputs one(3);
  for (int t = 0; t < 500; ++t) one.add(sample(rng));
  std::vector<std::byte> bytes;
  Archive to(bytes);
  one.exchange(to);
  ExpectedInputs other(3);
  Archive from{std::span<const std::byte>(bytes)};
  other.exchange(from);
  for (int t = 0; t < 50; ++t) {
    const Sample x = sample(rng);
    const auto expected = one.complete(x);
    const auto again = other.complete(x);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_EQ(expected[k], again[k]);
    one.add(x);
    other.add(x);
  }
}

}  // namespace
}  // namespace kalstream

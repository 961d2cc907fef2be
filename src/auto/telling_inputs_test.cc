// TellingInputs: whether the inputs that matter are found, whatever else there is.
#include "auto/telling_inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "auto/memory.h"
#include "auto/scale.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

const Sight sight{.inputs = 60, .lags = 1, .outputs = 1, .chosen = 8};

/// What is chosen after 256 samples of targets made from inputs: as numbers that networks see, each
/// of which is its place when input k is k.
Vector chosen_by(const std::function<double(const Vector& x, Rng& rng)>& target) {
  Rng rng(5);
  Scale scale(sight);
  SampleMemory memory(sight);
  for (std::size_t t = 0; t < constants::enough_samples; ++t) {
    const Vector x = test::normals(rng, sight.inputs);
    const Vector d{target(x, rng)};
    scale.add_inputs(x);
    scale.add_targets(d);
    memory.push(x, Vector(1), d);
  }
  scale.hold();
  TellingInputs telling(sight);
  telling.choose(memory, scale);
  Vector places(sight.inputs);
  for (std::size_t k = 0; k < places.size(); ++k) places[k] = static_cast<double>(k);
  Vector seen(sight.of_inputs(false));
  telling.see(places, seen);
  seen.resize(sight.chosen);
  return seen;
}

bool has(const Vector& chosen, double place) { return std::ranges::count(chosen, place) == 1; }

TEST(TellingInputs, FindsWhatIsLinearAndWhatIsNot) {
  const Vector chosen = chosen_by([](const Vector& x, Rng& rng) {
    return x[50] + std::abs(x[17]) - x[33] * x[33] + 0.3 * rng.normal();
  });
  EXPECT_TRUE(has(chosen, 50));
  EXPECT_TRUE(has(chosen, 17));
  EXPECT_TRUE(has(chosen, 33));
  EXPECT_TRUE(std::ranges::is_sorted(chosen));
}

TEST(TellingInputs, OneWildSampleDoesNotChoose) {
  std::size_t t = 0;
  const Vector chosen = chosen_by(
      [&](const Vector& x, Rng& rng) { return ++t == 100 ? 1e6 : x[50] + 0.3 * rng.normal(); });
  EXPECT_TRUE(has(chosen, 50));
}

TEST(TellingInputs, AConstantTargetChoosesAnything) {
  EXPECT_EQ(chosen_by([](const Vector&, Rng&) { return 3.0; }), (Vector{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(TellingInputs, ShowsWhatTheLinearModelSays) {
  TellingInputs telling(sight);
  Vector weights(sight.inputs + 1);
  weights[0] = 0.5;
  weights[1 + 40] = 2;
  telling.follow_linear(weights);
  Vector x(sight.inputs);
  x[40] = 0.25;
  Vector seen(sight.of_inputs(false));
  telling.see(x, seen);
  EXPECT_DOUBLE_EQ(seen.back(), 1);
}

}  // namespace
}  // namespace kalstream

// Blend: its guarantee, what it finds, and that nothing gets it off its feet.
#include "auto/blend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "support.h"

namespace kalstream {
namespace {

using test::copy;
using test::near;
using test::same_bits;
using test::Vector;

double squared(double e) { return e * e; }

/// What each expert says about a target that is planned; an adversary's target depends on d̂.
using Experts = std::function<Vector(std::size_t t, double planned, Rng& rng)>;
using Target = std::function<double(std::size_t t, double planned, double d_hat)>;
using Interval = std::function<double(std::size_t t)>;  // half its width

struct Game {
  std::string name;
  Experts experts;
  Target target = [](std::size_t, double planned, double) { return planned; };
  Interval reach = [](std::size_t) { return 1.0; };
};

constexpr std::size_t length = 2000;

std::vector<Game> games() {
  const Experts noisy = [](std::size_t, double d, Rng& rng) {
    Vector q(6);
    for (std::size_t j = 0; j < q.size(); ++j) q[j] = d + 0.2 * double(j) * rng.normal();
    return q;
  };
  const Experts random = [](std::size_t, double, Rng& rng) {
    Vector q(4);
    for (double& v : q) v = rng.uniform(-1, 1);
    return q;
  };
  const Experts constants = [](std::size_t, double, Rng&) { return Vector{-1, -0.5, 0, 0.5, 1}; };
  const Target far_end = [](std::size_t, double, double d_hat) { return d_hat > 0 ? -1.0 : 1.0; };
  return {
      {"noisy", noisy},
      {"random", random},
      {"random_far_end", random, far_end},
      {"constants_far_end", constants, far_end},
      {"constants_random_signs", constants,
       [](std::size_t, double planned, double) { return planned > 0 ? 1.0 : -1.0; }},
      {"constant", constants, [](std::size_t, double, double) { return 0.5; }},
      {"perfect_from_the_middle",
       [](std::size_t t, double d, Rng& rng) {
         return Vector{rng.uniform(-1, 1), t < length / 2 ? -d : d, 0.9 * d};
       }},
      {"swapping_roles",
       [](std::size_t t, double d, Rng& rng) {
         const bool first = t / 100 % 2 == 0;
         return Vector{first ? d : -d, first ? -d : d, 0.5 * rng.normal()};
       }},
      {"perfect_then_the_opposite",
       [](std::size_t t, double d, Rng&) {
         return Vector{t < length / 2 ? d : -d, 0.9 * (t < length / 2 ? -d : d), 0.0};
       }},
      {"outside_of_the_interval",
       [](std::size_t, double d, Rng& rng) {
         return Vector{3 * d, 10 * rng.normal(), 1e9, -1e9};
       },
       [](std::size_t, double planned, double) { return 2 * planned; }},
      {"growing_interval", noisy,
       [](std::size_t t, double planned, double d_hat) {
         return t % 3 == 0 ? (d_hat > 0 ? -1e6 : 1e6) : planned;
       },
       [](std::size_t t) { return 0.01 * std::pow(1.005, double(t)); }},
      {"no_interval", constants, [](std::size_t, double, double) { return 0.0; },
       [](std::size_t) { return 0.0; }},
  };
}

class Guarantee : public testing::TestWithParam<Game> {};

// Σ(d − d̂)² ≤ Σ(d − q_j)² + 2ρ² ln(M/0.01): every expert, every step.
TEST_P(Guarantee, HoldsAtEveryStepForEveryExpert) {
  const Game& game = GetParam();
  Rng rng(71);
  const std::size_t M = game.experts(0, 0, rng).size();
  Blend blend(M);
  double loss = 0;
  Vector losses(M);
  for (std::size_t t = 0; t < length; ++t) {
    const double reach = game.reach(t);
    blend.widen(-reach, reach);
    const double planned = rng.uniform(-1, 1);
    const Vector q = game.experts(t, planned, rng);
    const double d_hat = blend.predict(q);
    ASSERT_LE(std::abs(d_hat), reach) << t;
    const double d = game.target(t, planned, d_hat);
    const double held = std::clamp(d, -reach, reach);
    loss += squared(held - d_hat);
    const double bound = 2 * squared(2 * reach) * std::log(double(M) / 0.01);
    ASSERT_DOUBLE_EQ(blend.regret_bound(), bound);
    for (std::size_t j = 0; j < M; ++j) {
      losses[j] += squared(held - std::clamp(q[j], -reach, reach));
      ASSERT_LE(loss, losses[j] + bound + 1e-12 * loss) << "expert " << j << ", step " << t;
    }
    blend.learn(d);
  }
}

// The same where experts fall silent and come back: while one says nothing it counts as the
// average.
TEST_P(Guarantee, HoldsForThoseThatSleep) {
  const Game& game = GetParam();
  Rng rng(71);
  Rng naps(7);
  const std::size_t M = game.experts(0, 0, rng).size();
  Blend blend(M);
  std::vector<bool> sleeps(M);
  double loss = 0;
  Vector losses(M);
  for (std::size_t t = 0; t < length; ++t) {
    const double reach = game.reach(t);
    blend.widen(-reach, reach);
    const double planned = rng.uniform(-1, 1);
    Vector q = game.experts(t, planned, rng);
    if (const std::size_t j = naps.below(20 * M); j < M) {
      sleeps[j] = !sleeps[j];
      sleeps[j] ? blend.dismiss(j) : blend.admit(j);
    }
    for (std::size_t j = 0; j < M; ++j)
      if (sleeps[j]) q[j] = std::numeric_limits<double>::quiet_NaN();
    const double d_hat = blend.predict(q);
    const double d = game.target(t, planned, d_hat);
    const double held = std::clamp(d, -reach, reach);
    loss += squared(held - d_hat);
    for (std::size_t j = 0; j < M; ++j) {
      losses[j] += squared(held - blend.q()[j]);
      ASSERT_LE(loss, losses[j] + blend.regret_bound() + 1e-12 * loss)
          << "expert " << j << ", " << t;
    }
    blend.learn(d);
  }
}

INSTANTIATE_TEST_SUITE_P(Games, Guarantee, testing::ValuesIn(games()),
                         [](const auto& one) { return one.param.name; });

// What several tests below play: targets N(0, 1), expert j with noise of its own size, all times
// `scale` and plus `shift`.
struct Noisy {
  Vector noise;
  double scale = 1;
  double shift = 0;
  Rng rng{72};
  double d = 0;
  Vector q = Vector(noise.size());

  void next() {
    const double z = rng.normal();
    d = scale * z + shift;
    for (std::size_t j = 0; j < q.size(); ++j) q[j] = scale * (z + noise[j] * rng.normal()) + shift;
  }
};

TEST(BlendWeights, AreThePrediction) {
  Noisy stream{{0.1, 0.3, 1, 3, 0.2}};
  Blend blend(5);
  blend.widen(-1e3, 1e3);  // nothing is ever held
  for (int t = 0; t < 3000; ++t) {
    stream.next();
    const double d_hat = blend.predict(stream.q);
    const auto w = blend.weights();
    ASSERT_NEAR(std::inner_product(w.begin(), w.end(), stream.q.begin(), 0.0), d_hat, 1e-11) << t;
    ASSERT_NEAR(std::accumulate(w.begin(), w.end(), 0.0), 1, 1e-12) << t;
    blend.learn(stream.d);
  }
}

// Of two that say the same either can go; of one that is alone in what it knows the blend has need.
TEST(BlendWithoutEach, TellsWhomItNeeds) {
  Noisy stream{{0.1, 0.8, 0.8}};
  Blend blend(4);
  blend.widen(-1e3, 1e3);
  Vector difference(4);
  Vector moved(4);
  const auto live = [&](std::size_t steps, double last) {
    double error = 0;
    for (std::size_t t = 0; t < steps; ++t) {
      stream.next();
      Vector q = stream.q;
      q.push_back(last * q[0]);
      const double d_hat = blend.predict(q);
      error += squared(stream.d - d_hat) / double(steps);
      blend.without_each(difference);
      for (std::size_t j = 0; j < 4; ++j) moved[j] += squared(difference[j]) / double(steps);
      blend.learn(stream.d);
    }
    return error;
  };
  live(1000, 1);
  std::ranges::fill(moved, 0.0);
  const double error = live(2000, 1);
  EXPECT_LT(moved[0], 0.02 * error);  // the last one says the same
  EXPECT_LT(moved[3], 0.02 * error);
  blend.dismiss(0);
  std::ranges::fill(moved, 0.0);
  stream.noise[0] = 0.1;
  double silent = 0;
  for (std::size_t t = 0; t < 2000; ++t) {
    stream.next();
    Vector q = stream.q;
    q.push_back(q[0]);
    q[0] = std::numeric_limits<double>::quiet_NaN();
    silent += squared(stream.d - blend.predict(q)) / 2000;
    blend.without_each(difference);
    for (std::size_t j = 0; j < 4; ++j) moved[j] += squared(difference[j]) / 2000;
    blend.learn(stream.d);
  }
  EXPECT_LT(silent, 1.05 * error);
  EXPECT_GT(moved[3], 0.5 * silent);  // now it is alone
}

TEST(BlendWeights, DoNotDependOnUnits) {
  const Vector noise{0.1, 0.3, 1, 3, 0.2};
  const auto weights = [&](double scale, double shift) {
    Noisy stream{noise, scale, shift};
    Blend blend(noise.size());
    blend.widen(shift - 5 * scale, shift + 5 * scale);
    for (int t = 0; t < 1000; ++t) {
      stream.next();
      blend.predict(stream.q);
      blend.learn(stream.d);
    }
    return copy(blend.weights());
  };
  const Vector expected = weights(1, 0);
  EXPECT_TRUE(same_bits(weights(0x1p40, 0), expected));
  EXPECT_TRUE(same_bits(weights(0x1p-300, 0), expected));
  EXPECT_TRUE(near(weights(1e6, 0), expected, 1e-9));
  EXPECT_TRUE(near(weights(1, 1e3), expected, 1e-9));
  EXPECT_TRUE(near(weights(1e-7, -3), expected, 1e-4));  // 1e-9 of that is rounding already
}

// Mean squared errors of the blend and of each expert over steps [from, to).
struct Scores {
  double blend = 0;
  Vector experts;
  double best() const { return *std::min_element(experts.begin(), experts.end()); }
};

Scores score(Blend& blend, std::size_t from, std::size_t to,
             const std::function<double(std::size_t t, Vector& q)>& next) {
  Scores s{0, Vector(blend.experts())};
  Vector q(blend.experts());
  for (std::size_t t = 0; t < to; ++t) {
    const double d = next(t, q);
    const double d_hat = blend.predict(q);
    blend.learn(d);
    if (t < from) continue;
    s.blend += squared(d - d_hat) / double(to - from);
    for (std::size_t j = 0; j < q.size(); ++j)
      s.experts[j] += squared(d - q[j]) / double(to - from);
  }
  return s;
}

TEST(BlendFinds, TheBestOfTwentyQuickly) {
  Rng rng(73);
  Blend blend(20);
  blend.widen(-5, 5);
  const Scores s = score(blend, 20, 120, [&](std::size_t, Vector& q) {
    const double d = rng.normal();
    for (std::size_t j = 0; j < q.size(); ++j) q[j] = d + (j == 7 ? 0.1 : 1) * rng.normal();
    return d;
  });
  EXPECT_EQ(s.best(), s.experts[7]);
  EXPECT_LT(s.blend, 1.5 * s.best());
}

// 2q₀ − q₁ has hardly any error.
TEST(BlendFinds, ALinearCombinationBetterThanEveryExpert) {
  Rng rng(74);
  Blend blend(3);
  blend.widen(-5, 5);
  const Scores s = score(blend, 500, 1000, [&](std::size_t, Vector& q) {
    const double d = rng.normal();
    const double e = 0.3 * rng.normal();
    q = {d + e, d + 2 * e + 0.01 * rng.normal(), d + rng.normal()};
    return d;
  });
  EXPECT_LT(s.blend, 0.02 * s.best());
}

TEST(BlendFinds, TheNewBestAfterAChange) {
  constexpr std::size_t change = 1000;
  const auto after = [&](std::size_t wait, std::size_t n) {
    Rng rng(75);
    Blend blend(6);
    blend.widen(-5, 5);
    return score(blend, change + wait, change + wait + n, [&](std::size_t t, Vector& q) {
      const double d = rng.normal();
      for (std::size_t j = 0; j < q.size(); ++j)
        q[j] = d + (j == (t < change ? 0U : 1U) ? 0.1 : 1) * rng.normal();
      return d;
    });
  };
  const Scores soon = after(50, 200);
  EXPECT_EQ(soon.best(), soon.experts[1]);
  EXPECT_LT(soon.blend, 3 * soon.best());
  const Scores later = after(1000, 1000);
  EXPECT_LT(later.blend, 1.1 * later.best());
}

// A stream that starts with perfect predictions, or has had them for long, is not over.
TEST(BlendFinds, TheBestAfterATimeWithoutErrors) {
  for (const std::size_t silent : {1, 100, 20'000}) {
    Rng rng(76);
    Blend blend(4);
    blend.widen(-5, 5);
    const Scores s = score(blend, silent + 500, silent + 1500, [&](std::size_t t, Vector& q) {
      if (t < silent) return std::fill(q.begin(), q.end(), 0.0), 0.0;
      const double d = rng.normal();
      for (std::size_t j = 0; j < q.size(); ++j) q[j] = d + (j == 2 ? 0.1 : 1) * rng.normal();
      return d;
    });
    EXPECT_LT(s.blend, 1.1 * s.best()) << silent;
  }
}

TEST(BlendStands, WhateverExpertsSay) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Vector absurd{std::nan(""), infinity, -infinity, 1e300, -1e300};
  Rng rng(77);
  Blend blend(absurd.size() + 1);
  blend.widen(-2, 3);
  Vector q = absurd;
  q.push_back(0);
  double late = 0;
  for (int t = 0; t < 1000; ++t) {
    const double d = rng.uniform(-2, 3);
    q.back() = d;
    std::rotate(q.begin(), q.begin() + 1, q.end() - 1);
    const double d_hat = blend.predict(q);
    ASSERT_TRUE(d_hat >= -2 && d_hat <= 3) << t;
    for (const double v : blend.q()) ASSERT_TRUE(v >= -2 && v <= 3) << t;
    if (t >= 500) late += squared(d - d_hat) / 500;
    blend.learn(t % 100 == 99 ? 1e300 : d);
    for (const double w : blend.weights()) ASSERT_TRUE(std::isfinite(w)) << t;
  }
  EXPECT_LT(late, 0.01 * squared(3 + 2) / 12);  // of the variance of d
}

TEST(BlendStands, TinyAndHugeNumbers) {
  for (const double scale : {1e-310, 1e-200, 1e-155, 1e-140, 1e99}) {
    Noisy stream{{0.1, 1, 1}, scale};
    Blend blend(3);
    blend.widen(-5 * scale, 5 * scale);
    for (int t = 0; t < 300; ++t) {
      stream.next();
      ASSERT_TRUE(std::abs(blend.predict(stream.q)) <= 5 * scale) << scale << ", " << t;
      blend.learn(stream.d);
      for (const double w : blend.weights()) ASSERT_TRUE(std::isfinite(w)) << scale << ", " << t;
    }
  }
}

// No windup: C never exceeds its prior, whether nothing excites it, one direction does or all do,
// and stays symmetric and positive for ever.
TEST(BlendStands, AMillionSteps) {
  const std::pair<const char*, std::function<double(Rng&, Vector&)>> streams[] = {
      {"zero error",
       [](Rng&, Vector& q) {
         q = {1, 1, 1};
         return 1.0;
       }},
      {"one is right",
       [](Rng& rng, Vector& q) {
         const double d = rng.uniform(-1, 1);
         q = {d, 0, 0.5};
         return d;
       }},
      {"independent noise",
       [](Rng& rng, Vector& q) {
         const double d = rng.uniform(-1, 1);
         for (double& v : q) v = d + rng.uniform(-1, 1);
         return d;
       }},
  };
  for (const auto& [name, next] : streams) {
    Blend blend(3);
    blend.widen(-2, 2);
    const double prior = blend.covariance_trace();
    EXPECT_GT(prior, 0);
    Rng rng(78);
    Vector q(3);
    double loss = 0;
    double losses = 0;
    constexpr int steps = 1'000'000;
    for (int t = 0; t < steps; ++t) {
      const double d = next(rng, q);
      const double d_hat = blend.predict(q);
      ASSERT_TRUE(std::abs(d_hat) <= 2) << name << ", " << t;
      blend.learn(d);
      ASSERT_TRUE(blend.covariance_trace() > 0 && blend.covariance_trace() <= prior * (1 + 1e-12))
          << name << ", " << t;
      if (t < steps / 2) continue;
      loss += squared(d - d_hat);
      losses += squared(d - q[0]);
    }
    EXPECT_LE(loss, losses + 1e-3) << name;
  }
}

TEST(BlendReset, IsANewOne) {
  Blend used(4);
  Blend fresh(4);
  Noisy before{{0.1, 1, 0.5, 2}, 100, 7};
  used.widen(-900, 900);
  for (int t = 0; t < 200; ++t) {
    before.next();
    used.predict(before.q);
    used.learn(before.d);
  }
  used.reset();
  EXPECT_TRUE(same_bits(used.weights(), fresh.weights()));
  EXPECT_EQ(used.covariance_trace(), fresh.covariance_trace());
  Noisy stream{{1, 0.2, 0.3, 1}};
  for (Blend* b : {&used, &fresh}) b->widen(-3, 3);
  for (int t = 0; t < 200; ++t) {
    stream.next();
    ASSERT_EQ(used.predict(stream.q), fresh.predict(stream.q)) << t;
    for (Blend* b : {&used, &fresh}) b->learn(stream.d);
    ASSERT_TRUE(same_bits(used.weights(), fresh.weights())) << t;
  }
}

// become_open changes no prediction by itself, but a combination that holds no longer goes sooner.
TEST(BlendBegins, WithItsFavourite) {
  Blend blend(5, {}, {.expert = 3, .weight = 0.9});
  blend.widen(0, 10);
  EXPECT_NEAR(blend.predict(std::vector<double>{0, 0, 0, 10, 0}), 9, 0.1);
  for (int t = 0; t < 200; ++t) {  // which need not be right
    blend.predict(std::vector<double>{2, 0, 0, 10, 0});
    blend.learn(2);
  }
  EXPECT_NEAR(blend.predict(std::vector<double>{2, 0, 0, 10, 0}), 2, 0.05);
  blend.reset();
  blend.widen(0, 10);
  EXPECT_NEAR(blend.predict(std::vector<double>{0, 0, 0, 10, 0}), 9, 0.1);
}

TEST(BlendBecomesOpen, AndLearnsAsAtTheStart) {
  const auto combination = [](Rng& rng, double a, Vector& q) {
    const double d = rng.normal();
    const double e = rng.normal();
    q = {d + e, d + a * e + 0.01 * rng.normal()};
    return d;
  };
  Blend open(2);
  open.widen(-5, 5);
  const double prior = open.covariance_trace();
  Rng rng(79);
  Vector q(2);
  for (int t = 0; t < 2000; ++t) {
    const double d = combination(rng, 2, q);
    open.predict(q);
    open.learn(d);
  }
  EXPECT_LT(open.covariance_trace(), prior);
  Blend closed = open;
  open.become_open();
  EXPECT_DOUBLE_EQ(open.covariance_trace(), prior);
  EXPECT_TRUE(same_bits(open.weights(), closed.weights()));
  double open_loss = 0;
  double closed_loss = 0;
  for (int t = 0; t < 300; ++t) {
    const double d = combination(rng, -0.5, q);
    open_loss += squared(d - open.predict(q));
    closed_loss += squared(d - closed.predict(q));
    open.learn(d);
    closed.learn(d);
  }
  EXPECT_LT(open_loss, 0.8 * closed_loss);
}

}  // namespace
}  // namespace kalstream

// Snapshots: what is beyond the contract of a single learner, and bytes that mean harm.
#include "kalstream/snapshot.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "kernels/dispatch.h"
#include "learner/parts.h"
#include "support.h"

namespace kalstream {
namespace {

using test::copy;
using test::normals;
using test::random_stream;
using test::same_bits;
using test::small_network;
using test::Stream;
using test::Vector;

using Bytes = std::vector<std::byte>;

void learn(Learner& learner, const Stream& stream, std::size_t first, std::size_t last) {
  for (std::size_t t = first; t < last; ++t) learner.learn(stream.x[t], stream.d[t]);
}

/// A learner in the middle of its life.
std::unique_ptr<Learner> experienced(const Recipe& recipe, std::size_t samples = 12) {
  auto learner = make_from(recipe);
  learn(*learner, random_stream(3, learner->inputs(), learner->outputs(), samples), 0, samples);
  return learner;
}

std::string reason(std::span<const std::byte> snapshot, std::uint64_t most_memory = 1 << 26) {
  try {
    load(snapshot, most_memory);
    return "loaded";
  } catch (const SnapshotError& error) {
    return error.what();
  }
}

testing::AssertionResult says(const std::string& text, const std::string& what) {
  if (text.find(what) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' does not say '" << what << "'";
}

// ---- The format, as docs/snapshots.md has it.

void put_word(std::byte* at, std::uint64_t w) {
  for (int k = 0; k < 8; ++k) at[k] = static_cast<std::byte>(w >> (8 * k));
}

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t w = 0;
  for (int k = 7; k >= 0; --k) w = w << 8 | std::to_integer<std::uint64_t>(at[k]);
  return w;
}

/// Length and checksum as they should be.
Bytes sealed(Bytes snapshot) {
  put_word(&snapshot[16], snapshot.size());
  std::uint64_t hash = 14695981039346656037U;
  for (std::size_t k = 0; k + 8 < snapshot.size(); ++k) {
    hash ^= std::to_integer<std::uint64_t>(snapshot[k]);
    hash *= 1099511628211U;
  }
  put_word(&snapshot[snapshot.size() - 8], hash);
  return snapshot;
}

/// With another value of the option of this name.
Bytes with_option(Bytes snapshot, const std::string& name, std::uint64_t value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(name.data());
  const auto at = std::search(snapshot.begin(), snapshot.end(), bytes, bytes + name.size());
  put_word(&at[static_cast<std::ptrdiff_t>(name.size()) + 8], value);
  return sealed(std::move(snapshot));
}

TEST(Snapshot, LayoutIsAsDocumented) {
  const auto learner = make_learner({small_network(2, 2, 1), Mean{}});
  for (const double d : {1.0, 3.0}) learner->learn(Vector{0, 0}, Vector{d});
  learner->advance(Vector{0, 0});
  const Bytes snapshot = save(*learner);
  EXPECT_EQ(std::memcmp(snapshot.data(), "\x89KALS\r\n\x1a", 8), 0);
  EXPECT_EQ(word_at(&snapshot[8]), 6U);
  EXPECT_EQ(word_at(&snapshot[16]), snapshot.size());
  EXPECT_EQ(sealed(snapshot), snapshot);
  const std::uint64_t about = word_at(&snapshot[24]);
  const std::byte* state = &snapshot[32 + about];
  EXPECT_EQ(word_at(state), 4 * 8U);   // bytes
  EXPECT_EQ(word_at(state + 8), 3U);   // samples
  EXPECT_EQ(word_at(state + 16), 2U);  // targets
  EXPECT_EQ(word_at(state + 24), 1U);  // numbers of the level
  EXPECT_EQ(std::bit_cast<double>(word_at(state + 32)), 2);
  EXPECT_EQ(32 + about + 5 * 8 + 8, snapshot.size());
}

// ---- Learners.

TEST(Snapshot, TellsHowTheLearnerWasMade) {
  NetworkOptions network = small_network(3, 4, 2);
  network.seed = 0xfedcba9876543210;
  network.gate_bias = {.input = {}, .forget = 0.25, .output = -1};
  network.direct = true;
  Algorithm2 rule;
  rule.error_bounds = {0.5, 0.125};
  rule.prior_weights = {1, 3};
  rule.mixing_rate.reset();
  rule.expert.process_noise = Schedule::exponential(1e-3, 1e-6, 500);
  rule.expert.partition = Partition::gate;
  rule.feedback = Feedback::mixture;
  const auto learner = experienced({{network, rule, 3}, true});
  const Bytes snapshot = save(*learner);
  const SnapshotInfo info = describe(snapshot);
  EXPECT_TRUE(info.recipe.scaled);
  EXPECT_EQ(info.samples, 12U);
  const LearnerOptions& o = info.recipe.options;
  EXPECT_EQ(o.lags, 3U);
  EXPECT_EQ(o.network.inputs, 3U);
  EXPECT_EQ(o.network.hidden, 4U);
  EXPECT_EQ(o.network.outputs, 2U);
  EXPECT_EQ(o.network.seed, network.seed);
  EXPECT_TRUE(o.network.direct);
  EXPECT_FALSE(o.network.gate_bias.input);
  EXPECT_EQ(o.network.gate_bias.forget, 0.25);
  EXPECT_EQ(o.network.gate_bias.output, -1);
  const auto& read = std::get<Algorithm2>(o.rule);
  EXPECT_EQ(read.error_bounds, rule.error_bounds);
  EXPECT_EQ(read.prior_weights, rule.prior_weights);
  EXPECT_FALSE(read.mixing_rate);
  EXPECT_EQ(read.feedback, Feedback::mixture);
  EXPECT_EQ(read.expert.partition, Partition::gate);
  EXPECT_EQ(read.expert.process_noise.kind, Schedule::Kind::exponential);
  EXPECT_EQ(read.expert.process_noise.to, 1e-6);
  EXPECT_EQ(read.expert.process_noise.steps, 500);
  EXPECT_EQ(load(snapshot)->recipe()->options.lags, 3U);
}

TEST(Snapshot, IsForLearnersOfKnownMakeOnly) {
  const auto network = small_network(2, 2, 1);
  auto by_hand = make_scaled(make_learner({network, Adam{}}), network.output_activation);
  EXPECT_THROW(save(*by_hand), std::invalid_argument);
  EXPECT_EQ(make_learner({network, Adam{}})->clone()->recipe()->options.network.hidden, 2U);
}

// Covariances of many tiles, and of blocks that are stored together, come back as they were.
TEST(Snapshot, KeepsEveryBitOfLargerCovariances) {
  const Stream stream = random_stream(9, 3, 2, 60);
  for (const Rule& rule : {Rule(Ekf{}), Rule(Dekf{}), Rule(Iekf{.partition = Partition::node}),
                           Rule(Algorithm1{.partition = Partition::unit})}) {
    const auto learner = make_learner({small_network(3, 11, 2), rule});
    learn(*learner, stream, 0, 41);
    const auto loaded = load(save(*learner));
    for (std::size_t t = 41; t < stream.size(); ++t) {
      ASSERT_TRUE(same_bits(loaded->predict(stream.x[t]), learner->predict(stream.x[t]))) << t;
      ASSERT_EQ(loaded->learn(stream.x[t], stream.d[t]).covariance_trace,
                learner->learn(stream.x[t], stream.d[t]).covariance_trace);
    }
    EXPECT_EQ(save(*loaded), save(*learner));
  }
}

class AutoSnapshot : public testing::TestWithParam<std::pair<const char*, Recipe>> {};

TEST_P(AutoSnapshot, GoesOnAsIfNothingHadHappened) {
  const auto learner = make_from(GetParam().second);
  auto stopped = make_from(GetParam().second);
  const std::size_t n_x = learner->inputs();
  const std::size_t n_d = learner->outputs();
  Stream stream = random_stream(5, n_x, n_d, 330);
  stream.d[90][0] = 1e9;                                                   // not believed
  for (std::size_t t = 270; t < stream.size(); ++t) stream.d[t][0] *= -8;  // a change
  Rng rng(6);
  const auto stop = [&] {
    const auto snapshot = save(*stopped);
    stopped = load(snapshot);
    ASSERT_EQ(save(*stopped), snapshot);
  };
  Vector ahead(3 * n_d);
  Vector ahead_stopped(3 * n_d);
  for (std::size_t t = 0; t < stream.size(); ++t) {
    if (rng.below(8) == 0) stop();
    const Vector expected = copy(learner->predict(stream.x[t]));
    ASSERT_TRUE(same_bits(stopped->predict(stream.x[t]), expected)) << t;
    if (rng.below(8) == 0) stop();
    const bool missing = rng.below(10) == 0;
    const StepReport a =
        missing ? learner->advance(stream.x[t]) : learner->learn(stream.x[t], stream.d[t]);
    const StepReport b =
        missing ? stopped->advance(stream.x[t]) : stopped->learn(stream.x[t], stream.d[t]);
    ASSERT_EQ(a.status, b.status) << t;
    ASSERT_TRUE(same_bits(a.weights, b.weights)) << t;
    ASSERT_EQ(a.covariance_trace, b.covariance_trace) << t;
    if (t % 16 != 0) continue;
    stop();
    const Vector future = normals(rng, 3 * n_x);
    ASSERT_TRUE(learner->forecast(3, future, ahead));
    ASSERT_TRUE(stopped->forecast(3, future, ahead_stopped));
    ASSERT_TRUE(same_bits(ahead, ahead_stopped)) << t;
  }
  EXPECT_EQ(save(*stopped), save(*learner));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, AutoSnapshot,
    testing::Values(std::pair("auto", Recipe{{small_network(2, 4, 1), Auto{}}}),
                    std::pair("two_outputs", Recipe{{small_network(2, 4, 2), Auto{.experts = 2}}}),
                    std::pair("no_inputs", Recipe{{small_network(0, 4, 1), Auto{.lags = 3}}}),
                    std::pair("max", Recipe{{small_network(2, 4, 1),
                                             Auto{.experts = 1, .full_ekf = true}}})),
    [](const auto& one) { return one.param.first; });

// Saved on one vector unit, it goes on on another, within rounding.
TEST(Snapshot, ForEveryVectorUnit) {
  const std::string before(kernels::target_name());
  const Stream stream = random_stream(8, 2, 2, 60);
  for (const Rule& rule : {Rule(Adam{}), Rule(Ekf{}), Rule(Algorithm2{})})
    for (const auto* from : kernels::available_targets())
      for (const auto* to : kernels::available_targets()) {
        kernels::use_target(from->name);
        const auto learner = make_scaled_learner({small_network(2, 3, 2), rule, 2});
        learn(*learner, stream, 0, 40);
        const Bytes snapshot = save(*learner);
        kernels::use_target(to->name);
        const auto loaded = load(snapshot);
        for (std::size_t t = 40; t < stream.size(); ++t) {
          kernels::use_target(from->name);
          const Vector expected = copy(learner->predict(stream.x[t]));
          learner->learn(stream.x[t], stream.d[t]);
          kernels::use_target(to->name);
          ASSERT_TRUE(test::near(loaded->predict(stream.x[t]), expected, 1e-9))
              << from->name << " to " << to->name << ", " << t;
          loaded->learn(stream.x[t], stream.d[t]);
        }
      }
  kernels::use_target(before);
}

// ---- Bytes that mean harm.

TEST(HostileSnapshot, SaysWhatIsWrong) {
  const Bytes good = save(*experienced({{small_network(2, 2, 1), Algorithm1{}}}));
  EXPECT_EQ(reason(good), "loaded");
  EXPECT_TRUE(says(reason({}), "not a kalstream snapshot"));
  EXPECT_TRUE(says(reason(Bytes(100)), "not a kalstream snapshot"));
  EXPECT_TRUE(says(reason(std::span(good).first(good.size() - 1)), "cut off"));
  Bytes longer = good;
  longer.push_back({});
  EXPECT_TRUE(says(reason(longer), "followed by other bytes"));
  Bytes newer = good;
  newer[8] = std::byte{7};
  EXPECT_TRUE(says(reason(newer), "newer version"));
  Bytes older = good;
  older[8] = std::byte{5};
  EXPECT_TRUE(says(reason(older), "before version 0.3"));
  Bytes damaged = good;
  damaged[good.size() / 2] ^= std::byte{1};
  EXPECT_TRUE(says(reason(damaged), "checksum"));
  EXPECT_TRUE(says(reason(sealed([&] {
                     Bytes unknown = good;
                     const std::string name = "network.hidden";
                     const auto* text = reinterpret_cast<const std::byte*>(name.data());
                     *std::search(unknown.begin(), unknown.end(), text, text + name.size()) =
                         std::byte{'N'};
                     return unknown;
                   }())),
                   "no option named Network.hidden"));
}

TEST(HostileSnapshot, SizesAreNotBelieved) {
  const Bytes good = save(*experienced({{small_network(2, 2, 1), Algorithm1{}}}));
  const auto with = [&](const char* name, std::uint64_t value) {
    return reason(with_option(good, name, value));
  };
  EXPECT_EQ(with("network.seed", 77), "loaded");
  const std::string contradiction = "contradicts itself";
  for (const char* name : {"network.inputs", "network.hidden", "network.outputs", "lags"}) {
    for (const std::uint64_t value : {3U, 1000U, 1'000'000U, 1'000'001U})
      EXPECT_TRUE(says(with(name, value), contradiction)) << name << " " << value;
    EXPECT_TRUE(says(with(name, ~std::uint64_t{0}), contradiction)) << name;
  }
  EXPECT_TRUE(says(with("network.outputs", 0), "outputs must be at least 1"));
  EXPECT_TRUE(says(with("network.window", 0), "window must be at least 1"));
  EXPECT_TRUE(says(with("network.window", 2), contradiction));  // fewer than it remembers
  EXPECT_TRUE(says(with("network.window", 1'000'000), "too large"));
  EXPECT_TRUE(says(with("network.cell", 3), contradiction));
  EXPECT_TRUE(says(with("network.direct", 2), contradiction));
  EXPECT_TRUE(says(with("samples", 5), contradiction));
  EXPECT_TRUE(says(reason(good, 1000), "too large"));
}

std::vector<std::pair<std::string, Recipe>> recipes() {
  NetworkOptions tiny = small_network(1, 1, 1);
  tiny.window = 2;
  NetworkOptions rtrl = tiny;
  rtrl.derivative = Derivative::rtrl;
  Algorithm2 mixture;
  mixture.error_bounds = {0.5, 0.01};
  return {{"adam", {{tiny, Adam{}}}},
          {"ekf", {{tiny, Ekf{}}}},
          {"dekf_rtrl", {{rtrl, Dekf{}}}},
          {"algorithm2_lagged_scaled", {{tiny, mixture, 2}, true}},
          {"rls", {{tiny, Rls{}}}},
          {"naive", {{tiny, Naive{}}}},
          {"auto", {{tiny, Auto{.experts = 1, .lags = 2}}}}};
}

class HostileBytes : public testing::TestWithParam<std::pair<std::string, Recipe>> {
 protected:
  const Bytes good = save(*experienced(GetParam().second));
  Rng rng{17};

  /// Loads it, and if that works lives with it for a while.
  void use(const Bytes& snapshot) {
    std::unique_ptr<Learner> learner;
    try {
      learner = load(snapshot, 1 << 24);
    } catch (const SnapshotError&) {
      return;
    }
    ++loaded;
    Vector ahead(2 * learner->outputs());
    for (int t = 0; t < 6; ++t) {
      const Vector x = normals(rng, learner->inputs());
      learner->predict(x);
      learner->learn(x, normals(rng, learner->outputs()));
      learner->advance(x);
      learner->forecast(2, normals(rng, 2 * learner->inputs()), ahead);
    }
    try {
      save(*learner);  // what became of it may be beyond a snapshot
    } catch (const SnapshotError&) {
    }
  }
  std::size_t loaded = 0;
};

TEST_P(HostileBytes, EveryBeginningIsRefused) {
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_NE(reason(std::span(good).first(size)), "loaded") << size;
}

// A sound checksum does not make up for what is missing or too much.
TEST_P(HostileBytes, EverySealedBeginningIsRefused) {
  for (std::size_t size = 32; size < good.size(); size += test::one_in(7))
    ASSERT_NE(reason(sealed({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)})),
              "loaded")
        << size;
  Bytes longer = good;
  longer.insert(longer.end(), 8, std::byte{});
  EXPECT_NE(reason(sealed(longer)), "loaded");
}

TEST_P(HostileBytes, EveryChangedBitIsNoticed) {
  Bytes changed = good;
  const std::size_t stride = (good.size() > 20'000 ? 5 : 1) * test::one_in(11);
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += stride) {
    const auto mask = static_cast<std::byte>(1 << bit % 8);
    changed[bit / 8] ^= mask;
    ASSERT_NE(reason(changed), "loaded") << bit;
    changed[bit / 8] ^= mask;
  }
}

TEST_P(HostileBytes, SealedNonsenseDoesNoHarm) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::array<std::uint64_t, 12> nasty{
      0,
      1,
      2,
      255,
      1000,
      1'000'000,
      ~std::uint64_t{0},
      std::uint64_t{1} << 63,
      std::bit_cast<std::uint64_t>(inf),
      std::bit_cast<std::uint64_t>(-inf),
      std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()),
      std::bit_cast<std::uint64_t>(-1e300)};
  for (std::size_t n = 0; n < 3000 / test::one_in(5); ++n) {
    Bytes bytes = good;
    for (std::size_t k = 1 + rng.below(4); k > 0; --k) {
      const std::size_t at = 24 + rng.below(bytes.size() - 40);
      switch (rng.below(4)) {
        case 0:
          bytes[at] = static_cast<std::byte>(rng.below(256));
          break;
        case 1:
          put_word(&bytes[at / 8 * 8], nasty[rng.below(nasty.size())]);
          break;
        case 2:
          put_word(&bytes[at], nasty[rng.below(nasty.size())]);
          break;
        default:
          put_word(&bytes[at / 8 * 8], std::bit_cast<std::uint64_t>(1e3 * rng.normal()));
      }
    }
    use(sealed(std::move(bytes)));
  }
  for (int n = 0; n < 300; ++n) {
    Bytes bytes(good.begin(), good.begin() + 24);
    for (std::size_t k = 8 + rng.below(500); k > 0; --k)
      bytes.push_back(static_cast<std::byte>(rng.below(256)));
    use(sealed(std::move(bytes)));
  }
}

// Every number of the state in turn: what is believed must be bearable.
TEST_P(HostileBytes, EveryWordOfTheStateInTurn) {
  const std::size_t first = 32 + word_at(&good[24]) + 8;
  const bool large = good.size() > 20'000;
  const std::size_t stride = 8 * (large ? 5 * test::one_in(5) : 1);
  for (std::size_t at = first; at + 8 < good.size(); at += stride)
    for (const std::uint64_t w :
         {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0},
          std::bit_cast<std::uint64_t>(1e300), std::bit_cast<std::uint64_t>(-1.0)}) {
      Bytes bytes = good;
      put_word(&bytes[at], w);
      use(sealed(std::move(bytes)));
    }
  EXPECT_GT(loaded, 0U);
}

INSTANTIATE_TEST_SUITE_P(Learners, HostileBytes, testing::ValuesIn(recipes()),
                         [](const auto& one) { return one.param.first; });

}  // namespace
}  // namespace kalstream

// Snapshots of every format that was released, kept in snapshots/ (the number in a name is the
// format). Every later version must load them, and predict what their learners would have
// predicted. To add one, name its learner below and run this test with KALSTREAM_WRITE_GOLDEN=1; a
// file that is there is never written again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "kalstream/snapshot.h"
#include "support.h"

namespace kalstream {
namespace {

using test::Vector;

struct Golden {
  std::string name;
  Recipe recipe;
  double tolerance = 1e-9;
};

std::vector<Golden> goldens() {
  const NetworkOptions one = test::small_network(2, 2, 1);
  NetworkOptions two = test::small_network(2, 3, 2);
  NetworkOptions rtrl = test::small_network(1, 2, 1);
  rtrl.derivative = Derivative::rtrl;
  NetworkOptions simple = one;
  simple.cell = Cell::simple;
  simple.direct = true;
  NetworkOptions gru = two;
  gru.cell = Cell::gru;
  NetworkOptions gru_rtrl = rtrl;
  gru_rtrl.cell = Cell::gru;
  Algorithm2 mixture;
  mixture.error_bounds = {0.5, 0.02};
  return {{"v6_adam_lagged", {{one, Adam{}, 2}}},
          {"v6_rmsprop_simple", {{simple, RmsProp{}}}},
          {"v6_ekf_rtrl", {{rtrl, Ekf{}}}},
          {"v6_dekf_two_outputs", {{two, Dekf{}}}},
          {"v6_algorithm2_lagged_scaled", {{one, mixture, 2}, true}},
          {"v6_rls", {{two, Rls{}}}},
          {"v6_ar", {{one, Ar{.lags = 3}}}},
          {"v6_mean", {{two, Mean{}}}},
          {"v6_ekf_scaled", {{one, Ekf{}}, true}},
          {"v6_algorithm1_scaled", {{two, Algorithm1{}}, true}},
          {"v6_iekf_gru", {{gru, Iekf{}}}},
          {"v6_adam_gru_rtrl", {{gru_rtrl, Adam{}}}},
          {"v6_pekf", {{two, ParallelEkf{}}}},
          {"v6_pekf_gru_scaled", {{gru, ParallelEkf{}}, true}},
          {"v6_ekf_huber", {{one, Ekf{}, 0, {.kind = Loss::Kind::huber}}}},
          {"v6_adam_quantile_lagged",
           {{simple, Adam{}, 2, {.kind = Loss::Kind::quantile, .quantile = 0.8}}, true}},
          {"v6_kernel",
           {{two, Kernel{.centres = 8, .memory = 32, .renewal = 20, .past_inputs = 1}}},
           1e-4},
          {"v6_trees", {{two, Trees{.trees = 5, .memory = 32, .every = 4}}}},
          // In single precision vector units differ sooner.
          {"v6_ekf_single", {{two, Ekf{.single_precision = true}}}, 1e-4},
          {"v6_auto", {{one, Auto{.experts = 2, .lags = 2}}}, 1e-4},
          {"v6_auto_all_experts", {{one, Auto{.lags = 4}}}, 1e-4},
          {"v6_auto_wide", {{test::small_network(40, 2, 1), Auto{.experts = 2, .lags = 2}}}, 1e-4}};
}

constexpr std::size_t stop = 30;    // samples before the snapshot
constexpr std::size_t length = 50;  // and all together

/// All it predicts from the snapshot on, and a forecast at the end.
Vector life_after(Learner& learner) {
  const auto stream = test::random_stream(77, learner.inputs(), learner.outputs(), length);
  Vector all;
  for (std::size_t t = stop; t < length; ++t) {
    const auto d_hat = learner.predict(stream.x[t]);
    all.insert(all.end(), d_hat.begin(), d_hat.end());
    t % 7 == 0 ? learner.advance(stream.x[t]) : learner.learn(stream.x[t], stream.d[t]);
  }
  Vector ahead(3 * learner.outputs());
  learner.forecast(3, Vector(3 * learner.inputs(), 0.3), ahead);
  all.insert(all.end(), ahead.begin(), ahead.end());
  return all;
}

void write(const Golden& golden, const std::filesystem::path& stem) {
  const auto learner = make_from(golden.recipe);
  const auto stream = test::random_stream(77, learner->inputs(), learner->outputs(), stop);
  for (std::size_t t = 0; t < stop; ++t)
    t % 7 == 0 ? learner->advance(stream.x[t]) : learner->learn(stream.x[t], stream.d[t]);
  const auto snapshot = save(*learner);
  std::ofstream(stem.string() + ".snapshot", std::ios::binary)
      .write(reinterpret_cast<const char*>(snapshot.data()),
             static_cast<std::streamsize>(snapshot.size()));
  std::ofstream(stem.string() + ".json") << nlohmann::json(life_after(*learner)).dump() << "\n";
}

class SnapshotGolden : public testing::TestWithParam<Golden> {};

TEST_P(SnapshotGolden, LoadsAndPredictsAsEver) {
  const auto stem = std::filesystem::path(KALSTREAM_GOLDEN_DIR) / "snapshots" / GetParam().name;
  const std::string file = stem.string() + ".snapshot";
  if (std::getenv("KALSTREAM_WRITE_GOLDEN") != nullptr && !std::filesystem::exists(file))
    write(GetParam(), stem);
  std::ifstream in(file, std::ios::binary);
  ASSERT_TRUE(in) << file;
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto bytes = std::as_bytes(std::span(text));

  const SnapshotInfo info = describe(bytes);
  EXPECT_EQ(info.samples, stop);
  EXPECT_EQ(info.recipe.scaled, GetParam().recipe.scaled);
  EXPECT_EQ(info.recipe.options.rule.index(), GetParam().recipe.options.rule.index());
  const auto learner = load(bytes);
  std::ifstream expected(stem.string() + ".json");
  EXPECT_TRUE(test::near(life_after(*learner), nlohmann::json::parse(expected).get<Vector>(),
                         GetParam().tolerance));
}

INSTANTIATE_TEST_SUITE_P(Learners, SnapshotGolden, testing::ValuesIn(goldens()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace kalstream

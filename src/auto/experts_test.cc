// The list of auto's experts, and what follows from it.
#include "auto/experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "auto/memory.h"
#include "auto/panel.h"
#include "auto/series/series.h"
#include "learner/footprint.h"
#include "support.h"

namespace kalstream {
namespace {

using test::copy;
using test::Vector;

LearnerOptions options(std::size_t inputs, const Rule& rule = Auto{}) {
  LearnerOptions o{.network = {}, .rule = rule};
  o.network.inputs = inputs;
  o.network.hidden = 8;
  return o;
}

std::vector<std::string> names(const std::vector<ExpertPlan>& plans) {
  std::vector<std::string> all;
  for (const ExpertPlan& plan : plans) all.push_back(plan.name);
  return all;
}

// Linear, or no network at all.
bool always_takes_part(const ExpertPlan& plan) { return plan.network.hidden == 0; }

TEST(AutoPlan, ExpertsCountsNetworks) {
  const NetworkOptions network = options(3).network;
  const auto all = plan_experts(Auto{}, network);
  const auto networks =
      std::size_t(std::count_if(all.begin(), all.end(), std::not_fn(always_takes_part)));
  EXPECT_GT(networks, 10U);
  for (std::size_t n = 1; n <= networks; ++n) {
    const auto some = plan_experts(Auto{.experts = n}, network);
    ASSERT_EQ(some.size(), n + all.size() - networks);
    for (std::size_t j = 0; j < some.size(); ++j)
      EXPECT_EQ(some[j].name, all[j < n ? j : j + networks - n].name);
  }
  EXPECT_EQ(names(plan_experts(Auto{.experts = 99}, network)), names(all));
}

TEST(AutoPlan, NamesAreUniqueAndThoseOfTheWeights) {
  for (const std::size_t inputs : {0, 1, 30})
    for (const std::size_t lags : {0, 1, 2, 4, 6, 8, 24})
      for (const bool full_ekf : {false, true}) {
        const Auto rule{.lags = lags, .full_ekf = full_ekf};
        const LearnerOptions o = options(inputs, rule);
        if (inputs + lags == 0) {
          EXPECT_THROW(make_learner(o), std::invalid_argument);
          continue;
        }
        const auto plans = plan_experts(rule, o.network);
        std::vector<std::string> all = names(plans);
        for (const SeriesPlan& plan : plan_series(rule, o.network)) all.push_back(plan.name);
        EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), all.size());
        EXPECT_EQ(expert_names(o), all);
        EXPECT_EQ(make_learner(o)->state().weights.size(), all.size());
        const bool has_ekf = std::find(all.begin(), all.end(), "ekf") != all.end();
        EXPECT_EQ(has_ekf, full_ekf && inputs > 0);
        std::set<std::uint64_t> seeds;
        for (const ExpertPlan& plan : plans) {
          if (!plan.has_network()) continue;
          EXPECT_TRUE(seeds.insert(plan.network.seed).second) << plan.name;
          EXPECT_LE(plan.lags, lags);
          EXPECT_EQ(plan.network.inputs, (plan.sees_inputs ? inputs : 0) + plan.lags);
          EXPECT_NO_THROW(plan.network.validate());
        }
      }
}

TEST(AutoPlan, WideInputsGetFewerUnits) {
  const auto narrow = plan_experts(Auto{}, options(2).network);
  const auto wide = plan_experts(Auto{}, options(200).network);
  ASSERT_EQ(names(wide), names(narrow));
  for (std::size_t j = 0; j < wide.size(); ++j) {
    EXPECT_LE(wide[j].network.hidden, narrow[j].network.hidden) << wide[j].name;
    if (wide[j].network.hidden > 4) {
      EXPECT_LE(wide[j].network.hidden * (wide[j].network.inputs + 1), 800U) << wide[j].name;
    }
  }
  EXPECT_LT(wide[0].network.hidden, narrow[0].network.hidden);
}

TEST(AutoPlan, FootprintIsThatOfItsExpertsAndWhatTheyShare) {
  for (const bool full_ekf : {false, true}) {
    const LearnerOptions o = options(5, Auto{.full_ekf = full_ekf});
    const Footprint total = footprint(o);
    const auto plans = plan_experts(std::get<Auto>(o.rule), o.network);
    double bytes = 0;
    double learnt = 0;
    std::size_t blocks = 0;
    std::size_t networks = 0;
    double of_series = 0;  // without the models among them
    for (const SeriesPlan& plan : plan_series(std::get<Auto>(o.rule), o.network)) {
      if (plan.kind != SeriesPlan::Kind::model) continue;
      const Footprint one = footprint({.network = plan.network, .rule = plan.rule});
      if (!plan.needs_periods) bytes += one.bytes;
    }
    of_series += 2 * LongPast::capacity * sizeof(double);
    bytes += of_series * static_cast<double>(o.network.outputs);
    for (const ExpertPlan& plan : plans) {
      if (!plan.has_network()) continue;
      ++networks;
      const Footprint one = footprint({.network = plan.network, .rule = plan.rule});
      EXPECT_LE(one.weights, total.weights);
      bytes += one.bytes;
      if (!plan.may_sleep) learnt += one.learnt_bytes;
      blocks += one.covariance_blocks;
    }
    EXPECT_EQ(total.networks, networks);
    EXPECT_EQ(total.networks, make_learner(o)->state().networks);
    EXPECT_EQ(total.covariance_blocks, blocks);
    EXPECT_DOUBLE_EQ(total.learnt_bytes, learnt);
    // A thousand samples, what is past at some, two covariances of the experts, little else.
    const double samples = SampleMemory::usual_capacity *
                           static_cast<double>(o.network.inputs + o.network.outputs) *
                           sizeof(double);
    EXPECT_GT(total.bytes, bytes + samples);
    EXPECT_LT(total.bytes, bytes + 2.5 * samples);
  }
}

// Every expert sees a stretch of what there is to see, as long as its learner's input.
TEST(AutoPlan, EveryExpertIsALearnerOfWhatItSees) {
  for (const std::size_t inputs : {0, 3})
    for (const std::size_t lags : {1, 24})
      for (const std::size_t outputs : {1, 2}) {
        const Auto rule{.lags = lags, .full_ekf = true};
        NetworkOptions network = options(inputs).network;
        network.outputs = outputs;
        const Sight sight = sight_of(rule, network);
        for (const ExpertPlan& plan : plan_experts(rule, network)) {
          const auto learner = make_expert(plan);
          ASSERT_EQ(learner != nullptr, plan.has_network()) << plan.name;
          EXPECT_EQ(learner ? learner->inputs() : outputs, plan.network.inputs) << plan.name;
          EXPECT_EQ(learner ? learner->outputs() : outputs, outputs) << plan.name;
          const std::size_t end = plan.first + plan.network.inputs;
          EXPECT_LE(end, plan.standardised ? sight.last_target() : sight.size()) << plan.name;
          EXPECT_GE(plan.first, plan.standardised ? 0 : sight.last_target()) << plan.name;
          EXPECT_GT(noise_of(plan), 0) << plan.name;
        }
      }
}

TEST(AutoPlan, TheLastValueAndTheMeanSayWhatTheySee) {
  const Auto rule{.lags = 3};
  NetworkOptions network = options(2).network;
  network.outputs = 2;
  const Vector seen{1, 2, 11, 12, 13, 14, 15, 16, 21, 22, 31, 32};
  ASSERT_EQ(sight_of(rule, network).size(), seen.size());
  Panel panel(rule, network);
  ScaledSample sample(sight_of(rule, network));
  sample.seen = seen;
  const auto of = [&](std::span<const double> said, const std::string& name) {
    for (std::size_t j = 0; j < panel.size(); ++j)
      if (panel[j].plan.name == name) return copy(said.subspan(2 * j, 2));
    return Vector();
  };
  for (int forecast = 0; forecast < 2; ++forecast) {
    if (forecast == 1) panel.start_forecast();
    const auto said =
        forecast == 0 ? panel.predict(sample, sample) : panel.forecast_next(sample, sample);
    EXPECT_EQ(of(said, "naive"), (Vector{21, 22}));
    EXPECT_EQ(of(said, "mean"), (Vector{31, 32}));
  }
}

// Of many targets together linear models see fewer past ones: what they cost grows with the square.
TEST(AutoPlan, ManyTargetsGetFewerLags) {
  for (const std::size_t outputs : {1U, 2U, 7U, 100U}) {
    NetworkOptions network;
    network.inputs = 0;
    network.outputs = outputs;
    std::size_t most = 0;
    for (const ExpertPlan& plan : plan_experts(Auto{}, network))
      if (plan.is_linear()) most = std::max(most, plan.network.inputs);
    EXPECT_EQ(most, outputs == 1 ? Auto{}.lags : std::max<std::size_t>(28, outputs)) << outputs;
  }
}

}  // namespace
}  // namespace kalstream

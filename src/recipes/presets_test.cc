#include "kalstream/presets.h"

#include <gtest/gtest.h>

#include "learner/footprint.h"

namespace kalstream {
namespace {

template <class R>
std::pair<NetworkOptions, R> get(Preset p, Experiment e) {
  const LearnerOptions o = preset(p, e, R{}, published_run_length(e));
  EXPECT_NO_THROW(o.validate());
  return {o.network, std::get<R>(o.rule)};
}

void expect_linear(const Schedule& s, double from, double to, double steps) {
  EXPECT_EQ(s.kind, from == to ? Schedule::Kind::constant : Schedule::Kind::linear);
  EXPECT_EQ(s.from, from);
  EXPECT_EQ(s.to, to);
  if (from != to) {
    EXPECT_EQ(s.steps, steps);
  }
}

TEST(Presets, Elevators) {
  for (const Preset p : {Preset::paper, Preset::authors}) {
    const auto [network, ekf] = get<Ekf>(p, Experiment::elevators);
    EXPECT_EQ(network.hidden, 12U);
    EXPECT_EQ(network.gate_bias.forget, 0.5);
    EXPECT_EQ(network.gate_bias.input, -0.5);
    EXPECT_EQ(network.gate_bias.output, -0.5);
    EXPECT_EQ(ekf.initial_covariance, 100);
    expect_linear(ekf.measurement_noise, 10, 3, 2541);
    expect_linear(ekf.process_noise, 1e-4, 1e-6, 2541);
    EXPECT_EQ(get<Sgd>(p, Experiment::elevators).second.learning_rate.from, 0.3);
    EXPECT_EQ(get<RmsProp>(p, Experiment::elevators).second.learning_rate.from, 0.006);
    EXPECT_EQ(get<Adam>(p, Experiment::elevators).second.learning_rate.from, 0.003);
    const auto [alg2_network, alg2] = get<Algorithm2>(p, Experiment::elevators);
    EXPECT_EQ(alg2_network.gate_bias.forget, 5);
    EXPECT_EQ(alg2_network.gate_bias.input, 5);
    EXPECT_FALSE(alg2_network.gate_bias.output);
    EXPECT_EQ(alg2.expert.initial_covariance, 10);
    EXPECT_EQ(alg2.expert.partition, Partition::node);
    EXPECT_EQ(alg2.expert.noise_factor, 3);
    expect_linear(alg2.expert.process_noise, 1e-4, 1e-8, 2541);
  }
}

TEST(Presets, ThePapersText) {
  for (const Experiment e : {Experiment::puma8nm, Experiment::addition}) {
    const Algorithm2 o = get<Algorithm2>(Preset::paper, e).second;
    EXPECT_EQ(o.expert.noise_floor, 0);
    EXPECT_EQ(o.expert.gate, Gate::squared_bound);
    EXPECT_FALSE(o.expert.process_noise_when_gated);
    EXPECT_EQ(o.bounds(1), (std::vector<double>{1, .5, .25, .125, .0625, .03125, .015625, .01}));
    EXPECT_TRUE(o.prior_weights.empty());
    EXPECT_FALSE(o.mixing_rate);
    EXPECT_EQ(o.feedback, Feedback::own);
    EXPECT_FALSE(get<Dekf>(Preset::paper, e).second.output_apart);
  }
}

TEST(Presets, TheAuthorsRealData) {
  const Algorithm2 o = get<Algorithm2>(Preset::authors, Experiment::puma32fm).second;
  EXPECT_EQ(o.expert.noise_floor, 0.5);
  EXPECT_EQ(o.expert.initial_covariance, 0.5);
  EXPECT_EQ(o.expert.gate, Gate::squared_bound);
  EXPECT_TRUE(o.expert.process_noise_when_gated);
  ASSERT_EQ(o.error_bounds.size(), 5U);
  EXPECT_DOUBLE_EQ(o.error_bounds.front(), 0.01);
  EXPECT_DOUBLE_EQ(o.error_bounds.back(), 0.125);
  EXPECT_EQ(o.prior_weights, (std::vector<double>{1, .875, .75, .625, .5}));
  EXPECT_EQ(o.mixing_rate, 1);
  EXPECT_EQ(o.feedback, Feedback::own);
  EXPECT_TRUE(get<Dekf>(Preset::authors, Experiment::puma32fm).second.output_apart);
}

TEST(Presets, TheAuthorsAddition) {
  const auto [network, o] = get<Algorithm2>(Preset::authors, Experiment::addition);
  EXPECT_EQ(network.hidden, 12U);
  EXPECT_EQ(network.gate_bias.forget, 0.5);
  EXPECT_EQ(o.expert.gate, Gate::bound);
  EXPECT_FALSE(o.expert.process_noise_when_gated);
  ASSERT_EQ(o.error_bounds.size(), 8U);
  EXPECT_DOUBLE_EQ(o.error_bounds.back(), 1);
  EXPECT_NEAR(o.prior_weights.back(), 0.005, 1e-15);
  EXPECT_EQ(o.feedback, Feedback::mixture);
  expect_linear(o.expert.process_noise, 1e-7, 1e-7, 0);
  const Ekf ekf = get<Ekf>(Preset::authors, Experiment::addition).second;
  expect_linear(ekf.measurement_noise, 3, 3, 0);
  expect_linear(ekf.process_noise, 1e-3, 1e-6, 1e5);
  EXPECT_FALSE(get<Dekf>(Preset::authors, Experiment::addition).second.output_apart);
}

TEST(Presets, NamesRoundTrip) {
  for (const char* name :
       {"kin8nm", "kin32fm", "elevators", "puma8nm", "puma8nh", "puma32fm", "addition"})
    EXPECT_EQ(to_string(experiment_named(name).value()), name);
  EXPECT_FALSE(experiment_named("kin9"));
}

TEST(Footprint, CountsWeightsBlocksAndBytes) {
  LearnerOptions o;
  o.network.inputs = 8;
  o.rule = Ekf{};
  EXPECT_EQ(footprint(o).weights, 1617U);
  EXPECT_EQ(footprint(o).covariance_blocks, 1U);
  EXPECT_GT(footprint(o).bytes, 1617.0 * 1618 / 2 * 8);
  EXPECT_LT(footprint(o).bytes, 1617.0 * 1618 / 2 * 8 * 1.1);
  o.rule = Algorithm2{};
  EXPECT_EQ(footprint(o).networks, 8U);
  EXPECT_EQ(footprint(o).covariance_blocks, 8U * 17U);
}

}  // namespace
}  // namespace kalstream

// Replays the trajectories of transcription.py, one test per file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "kalstream/learner.h"
#include "learner/mixture.h"
#include "learner/network_learner.h"
#include "learner/parallel_ekf_learner.h"
#include "support.h"

namespace kalstream {
namespace {

using nlohmann::json;
using test::near;
using test::Vector;

// The transcription's self-test bounds how much these trajectories amplify a rounding error.
constexpr double tolerance = 1e-11;

// The entry of `names` that the text names.
template <class T>
T one_of(const json& text, std::initializer_list<std::pair<const char*, T>> names) {
  for (const auto& [name, value] : names)
    if (text == name) return value;
  throw std::invalid_argument("unknown name " + text.dump());
}

Schedule schedule(const json& j) {
  const double from = j.at("from");
  const double to = j.at("to");
  const double steps = j.at("steps");
  switch (one_of<Schedule::Kind>(j.at("kind"), {{"constant", Schedule::Kind::constant},
                                                {"linear", Schedule::Kind::linear},
                                                {"exponential", Schedule::Kind::exponential}})) {
    case Schedule::Kind::linear:
      return Schedule::linear(from, to, steps);
    case Schedule::Kind::exponential:
      return Schedule::exponential(from, to, steps);
    default:
      return from;
  }
}

Partition partition(const json& j) {
  return one_of<Partition>(j.at("partition"), {{"node", Partition::node},
                                               {"unit", Partition::unit},
                                               {"gate", Partition::gate},
                                               {"full", Partition::full}});
}

NetworkOptions network(const json& j) {
  NetworkOptions o;
  o.inputs = j.at("inputs");
  o.hidden = j.at("hidden");
  o.outputs = j.at("outputs");
  o.window = j.at("window");
  o.output_activation = one_of<OutputActivation>(
      j.at("output_activation"),
      {{"tanh", OutputActivation::tanh}, {"identity", OutputActivation::identity}});
  o.derivative = one_of<Derivative>(j.at("derivative"),
                                    {{"tbptt", Derivative::tbptt}, {"rtrl", Derivative::rtrl}});
  o.cell = one_of<Cell>(j.value("cell", "lstm"), {{"lstm", Cell::lstm},
                                                  {"gru", Cell::gru},
                                                  {"simple", Cell::simple},
                                                  {"feedforward", Cell::feedforward}});
  o.direct = j.value("direct", false);
  return o;
}

template <class Kalman>
Kalman kalman(const json& j) {
  Kalman o;
  o.initial_covariance = j.at("initial_covariance");
  o.measurement_noise = schedule(j.at("measurement_noise"));
  o.process_noise = schedule(j.at("process_noise"));
  if constexpr (requires { o.partition; }) o.partition = partition(j);
  return o;
}

Algorithm1 algorithm1(const json& j) {
  Algorithm1 o;
  o.initial_covariance = j.at("initial_covariance");
  o.process_noise = schedule(j.at("process_noise"));
  o.error_bound = j.at("error_bound");
  o.noise_floor = j.at("noise_floor");
  o.noise_factor = j.at("noise_factor");
  o.gate =
      one_of<Gate>(j.at("gate"), {{"squared_bound", Gate::squared_bound}, {"bound", Gate::bound}});
  o.process_noise_when_gated = j.at("process_noise_when_gated");
  o.partition = partition(j);
  return o;
}

Algorithm2 algorithm2(const json& j) {
  Algorithm2 o;
  o.expert = algorithm1(j.at("expert"));
  o.error_bounds = j.at("error_bounds").get<Vector>();
  o.prior_weights = j.at("prior_weights").get<Vector>();
  o.mixing_rate = j.at("mixing_rate").get<double>();
  o.feedback =
      one_of<Feedback>(j.at("feedback"), {{"own", Feedback::own}, {"mixture", Feedback::mixture}});
  return o;
}

Loss loss(const json& j) {
  Loss o;
  o.kind =
      one_of<Loss::Kind>(j.value("kind", "squared"), {{"squared", Loss::Kind::squared},
                                                      {"cross_entropy", Loss::Kind::cross_entropy},
                                                      {"poisson", Loss::Kind::poisson},
                                                      {"huber", Loss::Kind::huber},
                                                      {"quantile", Loss::Kind::quantile}});
  o.threshold = j.value("threshold", o.threshold);
  o.quantile = j.value("quantile", o.quantile);
  o.link_scale = j.value("link_scale", o.link_scale);
  return o;
}

Rule rule(const json& j) {
  const std::string kind = j.at("kind");
  if (kind == "sgd") return Sgd{schedule(j.at("learning_rate"))};
  if (kind == "rmsprop")
    return RmsProp{schedule(j.at("learning_rate")), j.at("decay"), j.at("epsilon")};
  if (kind == "adam")
    return Adam{schedule(j.at("learning_rate")), j.at("first_decay"), j.at("second_decay"),
                j.at("epsilon")};
  if (kind == "ekf") return kalman<Ekf>(j);
  if (kind == "dekf") return kalman<Dekf>(j);
  if (kind == "iekf") return kalman<Iekf>(j);
  if (kind == "pekf") {
    auto o = kalman<ParallelEkf>(j);
    o.state_noise = j.at("state_noise");
    return o;
  }
  if (kind == "algorithm1") return algorithm1(j);
  if (kind == "algorithm2") return algorithm2(j);
  throw std::invalid_argument("unknown rule " + kind);
}

/// A network inside a learner, whichever class has it.
struct Inside {
  std::function<void(const Vector&)> restart_from;
  std::function<std::span<const double>()> weights;
};

// One, or one per expert.
std::vector<Inside> networks_of(Learner& learner) {
  const auto inside = [](auto& one) {
    return Inside{[&one](const Vector& theta) { one.restart_from(theta); },
                  [&one] { return one.weights(); }};
  };
  if (auto* parallel = dynamic_cast<ParallelEkfLearner*>(&learner)) return {inside(*parallel)};
  if (auto* one = dynamic_cast<NetworkLearner*>(&learner)) return {inside(*one)};
  std::vector<Inside> all;
  auto& mixture = dynamic_cast<Mixture&>(learner);
  for (std::size_t j = 0; j < mixture.size(); ++j)
    all.push_back(inside(dynamic_cast<NetworkLearner&>(mixture.expert(j))));
  return all;
}

Vector flat(const json& rows) {
  Vector all;
  for (const json& row : rows) {
    const auto numbers = row.get<Vector>();
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

std::vector<std::string> golden_cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(KALSTREAM_GOLDEN_DIR))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, Replays) {
  std::ifstream file(std::filesystem::path(KALSTREAM_GOLDEN_DIR) / (GetParam() + ".json"));
  const json golden = json::parse(file);
  const auto learner = make_learner({.network = network(golden.at("network")),
                                     .rule = rule(golden.at("rule")),
                                     .loss = loss(golden.value("loss", json::object()))});
  const auto theta0 = golden.at("theta0").get<Vector>();
  for (const Inside& one : networks_of(*learner)) {
    ASSERT_EQ(one.weights().size(), theta0.size());
    one.restart_from(theta0);
  }

  const bool mixture = golden.contains("applied");
  StepReport report;
  std::size_t forecasts_made = 0;
  const std::size_t length = golden.at("x").size();
  for (std::size_t t = 0; t < length; ++t) {
    SCOPED_TRACE("sample " + std::to_string(t));
    const auto x = golden.at("x")[t].get<Vector>();
    const json& d = golden.at("d")[t];
    ASSERT_TRUE(near(learner->predict(x), golden.at("prediction")[t].get<Vector>(), tolerance));
    report = d.is_null() ? learner->advance(x) : learner->learn(x, d.get<Vector>());
    if (mixture) {
      ASSERT_EQ(report.applied, golden.at("applied")[t].get<std::size_t>());
      ASSERT_TRUE(near(report.weights, golden.at("weights")[t].get<Vector>(), tolerance));
      ASSERT_EQ(report.status == StepStatus::missing, d.is_null());
    } else {
      ASSERT_EQ(report.status,
                one_of<StepStatus>(golden.at("status")[t], {{"applied", StepStatus::applied},
                                                            {"gated", StepStatus::gated},
                                                            {"missing", StepStatus::missing}}));
      ASSERT_TRUE(report.weights.empty());
    }
    for (const json& forecast : golden.at("forecasts")) {
      if (forecast.at("after") != t + 1) continue;
      const Vector future = flat(forecast.at("x"));
      const Vector expected = flat(forecast.at("d_hat"));
      Vector d_hat(expected.size());
      ASSERT_TRUE(learner->forecast(forecast.at("x").size(), future, d_hat));
      EXPECT_TRUE(near(d_hat, expected, tolerance));
      ++forecasts_made;
    }
  }
  EXPECT_EQ(forecasts_made, golden.at("forecasts").size());

  const double trace = golden.at("trace_final");
  EXPECT_NEAR(report.covariance_trace, trace, tolerance * trace);
  const json finals = mixture ? golden.at("theta_final") : json::array({golden.at("theta_final")});
  const auto all = networks_of(*learner);
  ASSERT_EQ(all.size(), finals.size());
  for (std::size_t j = 0; j < all.size(); ++j)
    EXPECT_TRUE(near(all[j].weights(), finals[j].get<Vector>(), tolerance)) << "expert " << j;
}

INSTANTIATE_TEST_SUITE_P(Trajectories, Golden, testing::ValuesIn(golden_cases()),
                         [](const auto& one) { return one.param; });

TEST(GoldenFiles, AreThere) { EXPECT_GE(golden_cases().size(), 30U); }

}  // namespace
}  // namespace kalstream

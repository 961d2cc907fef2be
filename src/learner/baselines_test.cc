#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "kalstream/presets.h"
#include "learner/footprint.h"
#include "learner/parts.h"
#include "support.h"

namespace kalstream {
namespace {

using test::copy;
using test::near;
using test::same_bits;
using test::Vector;

std::unique_ptr<Learner> make(const Rule& rule, std::size_t inputs, std::size_t outputs = 1) {
  LearnerOptions o{.network = {}, .rule = rule};
  o.network.inputs = inputs;
  o.network.outputs = outputs;
  return make_learner(o);
}

const std::vector<Rule>& baselines() {
  static const std::vector<Rule> all = {Rls{}, Ar{}, Naive{}, Mean{}};
  return all;
}

// Mean and deviation in two passes; 0 and 1 of nothing, and deviation 1 of one number.
struct Moments {
  explicit Moments(const Vector& v) {
    for (const double a : v) mean += a / static_cast<double>(v.size());
    double sum = 0;
    for (const double a : v) sum += (a - mean) * (a - mean) / static_cast<double>(v.size());
    if (v.size() > 1) deviation = std::sqrt(sum);
  }
  double mean = 0;
  double deviation = 1;
};

// W = argmin Σ_t (d'_t − W [1 ; x'_t/√n])² + ‖W‖²/p over all samples at once, where x' and d' are
// what the scaler makes of them on the way.
TEST(Rls, IsTheBatchLeastSquaresSolution) {
  constexpr std::size_t n = 3;
  for (const double p : {1.0, 50.0}) {
    const auto learner = make(Rls{.initial_covariance = p}, n);
    Rng rng(61);
    std::vector<Vector> x(n);
    Vector d;
    test::LeastSquares fit(n + 1, 1 / p);
    for (std::size_t t = 0; t < 200; ++t) {
      const Vector now{5 + rng.normal(), 1e3 * rng.normal(), -1e-2 * rng.normal()};
      for (std::size_t k = 0; k < n; ++k) x[k].push_back(now[k]);
      Vector row{1};
      for (std::size_t k = 0; k < n; ++k) {
        const Moments m(x[k]);
        row.push_back((now[k] - m.mean) / m.deviation / std::sqrt(double(n)));
      }
      const Moments m(d);
      const Vector W = fit.solve();
      const double fitted = std::inner_product(W.begin(), W.end(), row.begin(), 0.0);
      ASSERT_TRUE(near(learner->predict(now), Vector{m.mean + m.deviation * fitted}, 1e-10)) << t;
      const double target = 700 + 30 * now[0] - 0.2 * now[1] + 4e3 * now[2] + 10 * rng.normal();
      learner->learn(now, Vector{target});
      const double scaled = d.size() < 2 ? 0 : (target - m.mean) / m.deviation;
      fit.add(row, scaled);
      d.push_back(target);
    }
  }
}

TEST(Rls, OutputsDoNotMeet) {
  const auto both = make(Rls{}, 2, 2);
  const auto first = make(Rls{}, 2);
  const auto second = make(Rls{}, 2);
  const auto stream = test::random_stream(62, 2, 2, 200);
  for (std::size_t t = 0; t < stream.size(); ++t) {
    const Vector apart{first->predict(stream.x[t])[0], second->predict(stream.x[t])[0]};
    ASSERT_TRUE(near(both->predict(stream.x[t]), apart, 1e-12)) << t;
    both->learn(stream.x[t], stream.d[t]);
    first->learn(stream.x[t], Vector{stream.d[t][0]});
    second->learn(stream.x[t], Vector{stream.d[t][1]});
  }
}

// With lags it is Ar that sees the inputs, too: without inputs they are one.
TEST(Rls, WithLagsAloneIsAr) {
  LearnerOptions o{.network = {}, .rule = Rls{.initial_covariance = 7}, .lags = 4};
  o.network.inputs = 0;
  const auto rls = make_learner(o);
  const auto ar = make(Ar{.lags = 4, .initial_covariance = 7}, 0);
  const auto stream = test::random_stream(63, 1, 1, 50);
  for (const Vector& d : stream.d) {
    ASSERT_TRUE(same_bits(rls->predict({}), copy(ar->predict({}))));
    rls->learn({}, d);
    ar->learn({}, d);
  }
}

// d_t = c + 1.6 (d_{t−1} − c) − 0.8 (d_{t−2} − c) + noise, far from 0. The best prediction is
// known.
TEST(Ar, FindsTheBestPredictionOfAnAutoregression) {
  constexpr double c = 1e5;
  const auto learner = make(Ar{}, 0);
  Rng rng(64);
  double now = 0;
  double before = 0;
  double excess = 0;
  constexpr int length = 20'000;
  for (int t = 0; t < length; ++t) {
    const double best = 1.6 * now - 0.8 * before;
    const double off = learner->predict({})[0] - c - best;
    if (t >= length / 2) excess += off * off / (length / 2.0);
    before = now;
    now = best + rng.normal();
    learner->learn({}, Vector{c + now});
  }
  EXPECT_LT(excess, 0.002);  // about nine weights / 15,000 samples, of the noise's variance 1
}

// The moments of the targets stand still without targets, so all of a forecast is a rollout.
TEST(Ar, ForecastIsAdvancingACopy) {
  const auto learner = make(Ar{.lags = 3}, 1, 2);
  const auto stream = test::random_stream(65, 1, 2, 60);
  for (std::size_t t = 0; t < stream.size(); ++t) learner->learn(stream.x[t], stream.d[t]);
  constexpr std::size_t horizon = 20;
  Vector ahead(2 * horizon);
  ASSERT_TRUE(learner->forecast(horizon, Vector(horizon, 9.0), ahead));
  const auto rollout = learner->clone();
  for (std::size_t k = 0; k < horizon; ++k) {
    const Vector x{double(k)};  // not looked at
    EXPECT_TRUE(same_bits(rollout->predict(x), std::span(ahead).subspan(2 * k, 2))) << k;
    rollout->advance(x);
  }
}

// Unstable at first as it may be, a long forecast stays finite.
TEST(Ar, LongForecastsStayFinite) {
  const auto learner = make(Ar{.lags = 2, .initial_covariance = 1e6}, 0);
  Vector ahead(5000);
  double d = 1;
  for (int t = 0; t < 40; ++t, d *= 1.5) {
    learner->learn({}, Vector{d});
    ASSERT_TRUE(learner->forecast(ahead.size(), {}, ahead));
    for (const double v : ahead) ASSERT_TRUE(std::isfinite(v)) << t;
  }
}

TEST(Ar, AForecastOfMoreNumbersThanCanBeCountedIsRefused) {
  const auto learner = make(Ar{}, 0, 16);
  EXPECT_FALSE(learner->forecast(std::size_t{1} << 60, {}, {}));  // 2⁶⁰ × 16 wraps to nothing
  EXPECT_FALSE(make(Ar{}, 16, 1)->forecast(std::size_t{1} << 60, {}, {}));
}

TEST(Naive, IsTheLastTarget) {
  const auto learner = make(Naive{}, 0, 2);
  EXPECT_TRUE(same_bits(learner->predict({}), Vector{0, 0}));
  for (const double d : {3.7, -1e50, 0.1}) {
    const StepReport report = learner->learn({}, Vector{d, -d});
    EXPECT_EQ(report.status, StepStatus::applied);
    EXPECT_EQ(report.applied, 1U);
    EXPECT_EQ(learner->advance({}).status, StepStatus::missing);
    EXPECT_TRUE(same_bits(learner->predict({}), Vector{d, -d}));
    Vector ahead(4);
    ASSERT_TRUE(learner->forecast(2, {}, ahead));
    EXPECT_TRUE(same_bits(ahead, Vector{d, -d, d, -d}));
  }
  learner->reset();
  EXPECT_TRUE(same_bits(learner->predict({}), Vector{0, 0}));
}

TEST(Mean, IsTheMeanOfTheTargets) {
  const auto learner = make(Mean{}, 1);
  EXPECT_EQ(learner->predict(Vector{5})[0], 0);
  Rng rng(66);
  double sum = 0;
  for (int t = 1; t <= 1000; ++t) {
    const double d = 100 + rng.normal();
    sum += d;
    learner->learn(Vector{rng.normal()}, Vector{d});
    if (t % 10 == 0) learner->advance(Vector{0});  // no target, no vote
    ASSERT_NEAR(learner->predict(Vector{5})[0], sum / t, 1e-11);
  }
}

TEST(Baselines, IgnoreTheNetworkAndTheSeed) {
  for (const Rule& rule : baselines()) {
    LearnerOptions o{.network = {}, .rule = rule};
    o.network.inputs = 2;
    const auto plain = make_learner(o);
    o.network.hidden = 0;
    o.network.window = 0;
    o.network.output_activation = OutputActivation::identity;
    o.network.seed = 99;
    const auto other = make_scaled_learner(o);
    const auto stream = test::random_stream(67, 2, 1, 50);
    for (std::size_t t = 0; t < stream.size(); ++t) {
      ASSERT_TRUE(same_bits(plain->predict(stream.x[t]), copy(other->predict(stream.x[t]))));
      plain->learn(stream.x[t], stream.d[t]);
      other->learn(stream.x[t], stream.d[t]);
    }
  }
}

TEST(Baselines, WorkInAnyUnits) {
  const auto stream = test::random_stream(68, 2, 1, 200);
  for (const Rule& rule : baselines()) {
    const auto plain = make(rule, 2);
    const auto raw = make(rule, 2);
    for (std::size_t t = 0; t < stream.size(); ++t) {
      const Vector x{250 * stream.x[t][0] - 40, 1e-3 * stream.x[t][1]};
      const double d_hat = raw->predict(x)[0];
      // From the third sample on: before, there is no scale.
      if (t >= 2) {
        ASSERT_NEAR((d_hat - 7) / 80, plain->predict(stream.x[t])[0], 1e-9) << t;
      }
      raw->learn(x, Vector{80 * stream.d[t][0] + 7});
      plain->learn(stream.x[t], stream.d[t]);
    }
  }
}

TEST(Baselines, OptionsAreChecked) {
  const auto complaint = [](const Rule& rule, std::size_t outputs = 1) -> std::string {
    try {
      make(rule, 1, outputs);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "none";
  };
  for (const Rule& rule : baselines()) {
    EXPECT_EQ(complaint(rule), "none");
    EXPECT_TRUE(complaint(rule, 0).starts_with("outputs "));
    EXPECT_TRUE(is_baseline(rule));
    EXPECT_EQ(ignores_inputs(rule), !std::holds_alternative<Rls>(rule));
  }
  EXPECT_FALSE(is_baseline(Ekf{}) || ignores_inputs(Ekf{}));
  EXPECT_TRUE(complaint(Ar{.lags = 0}).starts_with("lags "));
  EXPECT_TRUE(complaint(Ar{.initial_covariance = 0}).starts_with("initial_covariance "));
  EXPECT_TRUE(complaint(Ar{.process_noise = -1}).starts_with("process_noise "));
  EXPECT_TRUE(complaint(Rls{.initial_covariance = -1}).starts_with("initial_covariance "));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(complaint(Rls{.process_noise = nan}).starts_with("process_noise "));
}

TEST(Baselines, PresetsLeaveThemAsTheyAre) {
  const auto o = preset(Preset::authors, Experiment::kin8nm, Ar{.lags = 5}, 2541);
  EXPECT_NO_THROW(o.validate());
  EXPECT_EQ(std::get<Ar>(o.rule).lags, 5U);
  EXPECT_EQ(std::get<Ar>(o.rule).initial_covariance, 100);
}

TEST(Baselines, Footprint) {
  LearnerOptions o{.network = {}, .rule = Rls{}};
  o.network.inputs = 8;
  o.network.outputs = 2;
  EXPECT_EQ(footprint(o).weights, 2 * 9U);
  EXPECT_EQ(footprint(o).covariance_blocks, 2U);
  o.lags = 3;
  EXPECT_EQ(footprint(o).weights, 2 * (9 + 3 * 2U));
  const std::size_t with_lags = footprint({o.network, Ekf{}, 3}).weights;
  const std::size_t rows = 4 * o.network.hidden;
  EXPECT_EQ(with_lags, footprint({o.network, Ekf{}}).weights + rows * 3 * 2);
  o = {.network = o.network, .rule = Ar{.lags = 5}};
  EXPECT_EQ(footprint(o).weights, 2 * (1 + 5 * 2U));
  o.rule = Naive{};
  EXPECT_EQ(footprint(o).weights, 0U);
}

}  // namespace
}  // namespace kalstream

// make_lagged: past targets as inputs, against columns built by hand.
#include <gtest/gtest.h>

#include <limits>

#include "learner/parts.h"
#include "support.h"

namespace kalstream {
namespace {

using test::copy;
using test::normals;
using test::same_bits;
using test::Vector;

constexpr std::size_t lags = 3;

LearnerOptions options(std::size_t inputs, std::size_t outputs, const Rule& rule,
                       std::size_t past) {
  return {.network = test::small_network(inputs, 2, outputs), .rule = rule, .lags = past};
}

// [x ; past targets, the newest first]; before the first target it stands for the earlier ones.
Vector row(const Vector& x, const std::vector<Vector>& past, std::size_t n_d) {
  Vector all = x;
  for (std::size_t lag = 1; lag <= lags; ++lag) {
    const Vector none(n_d);
    const Vector& d = past.empty() ? none : past[past.size() - std::min(lag, past.size())];
    all.insert(all.end(), d.begin(), d.end());
  }
  return all;
}

class LaggedRules : public testing::TestWithParam<std::pair<std::string, Rule>> {};

// The same predictions and traces as a learner that is given the columns; every eighth target is
// missing, and its prediction takes its place.
TEST_P(LaggedRules, IsTheInnerLearnerOnLagColumns) {
  for (const std::size_t n_x : {0, 2})
    for (const std::size_t n_d : {1, 2}) {
      const auto lagged = make_learner(options(n_x, n_d, GetParam().second, lags));
      const auto inner = make_learner(options(n_x + lags * n_d, n_d, GetParam().second, 0));
      EXPECT_EQ(lagged->inputs(), n_x);
      EXPECT_EQ(lagged->outputs(), n_d);
      const auto stream = test::random_stream(51, std::max<std::size_t>(n_x, 1), n_d, 60);
      std::vector<Vector> past;
      for (std::size_t t = 0; t < stream.size(); ++t) {
        const Vector x = n_x == 0 ? Vector() : stream.x[t];
        const Vector seen = row(x, past, n_d);
        const Vector d_hat = copy(inner->predict(seen));
        ASSERT_TRUE(same_bits(lagged->predict(x), d_hat)) << t;
        if (t % 8 == 6) {
          EXPECT_EQ(lagged->advance(x).status, StepStatus::missing);
          inner->advance(seen);
          past.push_back(d_hat);
        } else {
          const double trace = inner->learn(seen, stream.d[t]).covariance_trace;
          EXPECT_EQ(lagged->learn(x, stream.d[t]).covariance_trace, trace) << t;
          past.push_back(stream.d[t]);
        }
      }
    }
}

// Step by step, each prediction becomes the newest lag of the next.
TEST_P(LaggedRules, ForecastsFeedPredictionsBack) {
  constexpr std::size_t n_x = 2, n_d = 2, horizon = 7;
  const auto lagged = make_learner(options(n_x, n_d, GetParam().second, lags));
  const auto inner = make_learner(options(n_x + lags * n_d, n_d, GetParam().second, 0));
  const auto stream = test::random_stream(52, n_x, n_d, 40);
  Rng rng(53);
  std::vector<Vector> past;
  for (std::size_t t = 0; t < stream.size(); ++t) {
    inner->learn(row(stream.x[t], past, n_d), stream.d[t]);
    lagged->learn(stream.x[t], stream.d[t]);
    past.push_back(stream.d[t]);
    if (t % 10 != 9) continue;
    const Vector future = normals(rng, horizon * n_x);
    Vector ahead(horizon * n_d);
    ASSERT_TRUE(lagged->forecast(horizon, future, ahead));
    auto imagined = past;
    inner->start_forecast();
    for (std::size_t k = 0; k < horizon; ++k) {
      const Vector x = copy(std::span(future).subspan(k * n_x, n_x));
      imagined.push_back(copy(inner->forecast_next(row(x, imagined, n_d))));
      EXPECT_TRUE(same_bits(std::span(ahead).subspan(k * n_d, n_d), imagined.back())) << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, LaggedRules,
                         testing::Values(std::pair<std::string, Rule>("adam", Adam{}),
                                         std::pair<std::string, Rule>("ekf", Ekf{}),
                                         std::pair<std::string, Rule>("algorithm2", Algorithm2{})),
                         [](const auto& one) { return one.param.first; });

TEST(Lagged, WithoutRoomForThemInputsAreHidden) {
  const auto hidden = make_lagged(make_learner(options(lags, 1, Ekf{}, 0)), 2, lags);
  const auto alone = make_learner(options(0, 1, Ekf{}, lags));
  EXPECT_EQ(hidden->inputs(), 2U);
  const auto stream = test::random_stream(54, 2, 1, 30);
  for (std::size_t t = 0; t < stream.size(); ++t) {
    ASSERT_TRUE(same_bits(hidden->predict(stream.x[t]), copy(alone->predict({}))));
    hidden->learn(stream.x[t], stream.d[t]);
    alone->learn({}, stream.d[t]);
  }
  const Vector unusable{1, std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(std::isnan(hidden->predict(unusable)[0]));
  EXPECT_EQ(hidden->advance(unusable).status, StepStatus::rejected_input);
}

// A target too large to be an input is refused now rather than as an input later.
TEST(Lagged, RefusesTargetsThatCannotBeInputs) {
  const auto learner = make_learner(options(1, 1, Sgd{}, lags));
  const Vector x{0.3};
  learner->learn(x, Vector{0.5});
  const Vector before = copy(learner->predict(x));
  EXPECT_EQ(learner->learn(x, Vector{1e101}).status, StepStatus::rejected_input);
  EXPECT_TRUE(same_bits(learner->predict(x), before));
}

// A guess made from nothing is not kept: the first target still stands for all before it. (Of a
// network without a state, since that moves on.)
TEST(Lagged, BeginsWithTheFirstTarget) {
  auto memoryless = options(0, 1, Sgd{.learning_rate = 1e-300}, lags);
  memoryless.network.cell = Cell::feedforward;
  const auto a = make_learner(memoryless);
  const auto b = make_learner(memoryless);
  a->advance({});
  a->advance({});
  for (const double d : {0.7, -0.2}) {
    EXPECT_TRUE(same_bits(a->predict({}), copy(b->predict({}))));
    a->learn({}, Vector{d});
    b->learn({}, Vector{d});
  }
  EXPECT_TRUE(same_bits(a->predict({}), copy(b->predict({}))));
}

TEST(Lagged, OptionsAreChecked) {
  auto o = options(0, 1, Ekf{}, lags);
  o.network.input_bias = false;  // the lags are inputs enough
  EXPECT_NO_THROW(o.validate());
  o.lags = 0;
  EXPECT_THROW(o.validate(), std::invalid_argument);
  for (const Rule& rule : {Rule(Ar{}), Rule(Naive{}), Rule(Mean{})}) {
    try {
      options(1, 1, rule, 1).validate();
      ADD_FAILURE() << "nothing thrown";
    } catch (const std::invalid_argument& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("lags ")) << error.what();
    }
  }
  EXPECT_NO_THROW(options(0, 1, Rls{}, 1).validate());
}

}  // namespace
}  // namespace kalstream

// A network as an expert of a classifier, against a learner that is given the same by hand.
#include <gtest/gtest.h>

#include "classes/class_experts.h"
#include "classes/class_test_support.h"
#include "kalstream/learner.h"

namespace kalstream {
namespace {

using test::ClassHistory;
using test::Vector;

ClassNetworkPlan small_plan(std::size_t lags, std::size_t replays = 0) {
  ClassNetworkPlan plan{.network = {}, .rule = Ekf{}, .lags = lags, .replays = replays};
  plan.network.cell = Cell::gru;
  plan.network.hidden = 3;
  plan.network.window = 3;
  plan.network.seed = 5;
  return plan;
}

std::unique_ptr<Learner> learner_of(const ClassNetworkPlan& plan, std::size_t inputs,
                                    std::size_t classes) {
  LearnerOptions options{.network = plan.network, .rule = plan.rule};
  options.network.inputs = inputs + plan.lags * LabelCode{classes}.size();
  options.network.outputs = classes == 2 ? 1 : classes;
  options.loss = {.kind = Loss::Kind::cross_entropy, .link_scale = plan.link_scale};
  return make_learner(options);
}

/// The inputs, then the classes before, the newest first, as LabelCode shows them.
Vector shown(const Vector& x, const std::vector<std::size_t>& labels, std::size_t lags,
             std::size_t classes) {
  Vector all = x;
  for (std::size_t lag = 1; lag <= lags; ++lag) {
    Vector code(LabelCode{classes}.size());
    LabelCode{classes}.write(lag <= labels.size() ? labels[labels.size() - lag] : no_class, code);
    all.insert(all.end(), code.begin(), code.end());
  }
  return all;
}

Vector target_of(std::size_t y, std::size_t classes) {
  if (classes == 2) return {static_cast<double>(y)};
  Vector d(classes, 0.0);
  d[y] = 1;
  return d;
}

Vector probabilities_of(std::span<const double> d_hat, std::size_t classes) {
  if (classes == 2) return {1 - d_hat[0], d_hat[0]};
  return test::copy(d_hat);
}

struct LabelledStream {
  std::vector<Vector> x;
  std::vector<std::size_t> y;
};

LabelledStream labelled(std::size_t inputs, std::size_t classes, std::size_t samples) {
  Rng rng(1);
  LabelledStream all;
  for (std::size_t t = 0; t < samples; ++t) {
    all.x.push_back(test::normals(rng, inputs));
    all.y.push_back(static_cast<std::size_t>(rng.below(classes)));
  }
  return all;
}

TEST(NetworkExpert, IsALearnerThatSeesTheClassesBefore) {
  for (const std::size_t classes : {2, 3})
    for (const std::size_t lags : {0, 2}) {
      const auto stream = labelled(2, classes, 60);
      const ClassNetworkPlan plan = small_plan(lags);
      ClassHistory history(2, classes);
      const auto expert = make_class_expert(plan, 2, classes);
      const auto learner = learner_of(plan, 2, classes);
      std::vector<std::size_t> labels;
      for (std::size_t t = 0; t < stream.x.size(); ++t) {
        const Vector seen = shown(stream.x[t], labels, lags, classes);
        const Vector p = history.predict(*expert, stream.x[t]);
        ASSERT_TRUE(test::same_bits(p, probabilities_of(learner->predict(seen), classes))) << t;
        history.learn(*expert, stream.x[t], stream.y[t]);
        learner->learn(seen, target_of(stream.y[t], classes));
        labels.push_back(stream.y[t]);
      }
      // Forecasts: the network goes on by itself, and the classes before stay those known.
      expert->start_forecast();
      learner->start_forecast();
      for (int lead = 0; lead < 3; ++lead) {
        const Vector x{0.5, -1.0 * lead};
        Vector p(classes);
        expert->forecast_next(history.moment(x), history.past(), p);
        const auto d_hat = learner->forecast_next(shown(x, labels, lags, classes));
        ASSERT_TRUE(test::same_bits(p, probabilities_of(d_hat, classes))) << lead;
      }
    }
}

TEST(NetworkExpert, StartsOverWithAllThatIsInMemory) {
  for (const std::size_t classes : {2, 3}) {
    const auto stream = labelled(2, classes, 40);
    const ClassNetworkPlan plan = small_plan(2);
    ClassHistory history(2, classes);
    const auto expert = make_class_expert(plan, 2, classes);
    for (std::size_t t = 0; t < stream.x.size(); ++t)
      history.learn(*expert, stream.x[t], stream.y[t]);
    history.scale().hold();
    expert->start_over(history.past());

    const auto learner = learner_of(plan, 2, classes);
    std::vector<std::size_t> labels;
    const auto seen = [&](const Vector& x) {
      Vector standardised(x.size());
      see_inputs(history.scale(), x, standardised);
      return shown(standardised, labels, 2, classes);
    };
    for (std::size_t t = 0; t < stream.x.size(); ++t) {
      learner->learn(seen(stream.x[t]), target_of(stream.y[t], classes));
      labels.push_back(stream.y[t]);
    }
    const Vector x{0.3, 0.7};
    EXPECT_TRUE(test::same_bits(history.predict(*expert, x),
                                probabilities_of(learner->predict(seen(x)), classes)));
  }
}

// A product of two inputs takes a small network many samples: it is sooner there with those of the
// memory learnt again.
TEST(NetworkExpert, LearnsSamplesOfTheMemoryAgain) {
  const auto stream = labelled(2, 2, 300);
  double loss[2] = {0, 0};
  for (const std::size_t replays : {0, 3}) {
    ClassNetworkPlan plan = small_plan(0, replays);
    plan.network.cell = Cell::feedforward;
    ClassHistory history(2, 2);
    const auto expert = make_class_expert(plan, 2, 2);
    for (std::size_t t = 0; t < stream.x.size(); ++t) {
      const std::size_t y = stream.x[t][0] * stream.x[t][1] > 0 ? 1 : 0;
      loss[replays > 0 ? 1 : 0] -= std::log(history.predict_and_learn(*expert, stream.x[t], y)[y]);
    }
  }
  EXPECT_LT(loss[1], loss[0]);
}

}  // namespace
}  // namespace kalstream

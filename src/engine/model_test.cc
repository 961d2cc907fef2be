#include "engine/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>

#include "core/archive.h"
#include "core/rng.h"
#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"

namespace kalstream {
namespace {

using Status = Answer::Status;

struct Heard final : StreamListener {
  struct Said {
    Status status;
    std::uint64_t sample;
    std::vector<double> prediction;
    std::vector<double> forecast;
    std::vector<double> bounds;
    std::vector<double> surprise;
    bool anomaly = false;
  };

  /// The model takes the sample, and learns.
  void take(StreamModel& model, const Sample& sample) {
    const Answer a = model.take(sample, *this);
    Said said{a.status, a.sample, {a.prediction.begin(), a.prediction.end()}};
    said.forecast.assign(a.forecast.begin(), a.forecast.end());
    for (const auto& intervals : {a.interval, a.forecast_interval})
      for (const Interval& i : intervals) {
        said.bounds.push_back(i.low);
        said.bounds.push_back(i.high);
      }
    said.surprise.assign(a.surprise.begin(), a.surprise.end());
    said.anomaly = a.anomaly;
    answers.push_back(said);
    model.learn(*this);
  }
  void scored(std::uint64_t, std::span<const double>, std::span<const Interval>,
              std::span<const double>) override {
    ++scores;
  }
  void stepped(std::uint64_t, const StepReport& report) override { steps.push_back(report.status); }

  std::vector<Said> answers;
  std::vector<StepStatus> steps;
  int scores = 0;
};

LearnerOptions small(const Rule& rule, std::size_t lags = 0) {
  return {.network = {.inputs = 2, .hidden = 3, .window = 4}, .rule = rule, .lags = lags};
}

Sample sample_at(int t, bool with_target = true) {
  const double a = std::sin(0.7 * t);
  const double b = std::cos(1.3 * t);
  Sample s{.kind = Sample::Kind::inputs, .id = std::to_string(t), .x = {a, b}};
  if (with_target) s.d = {20 + 5 * std::sin(a + 2 * b)};
  return s;
}

Sample label_of(int t) {
  Sample s = sample_at(t);
  s.kind = Sample::Kind::label;
  s.x.clear();
  return s;
}

void append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

const std::vector<LearnerOptions>& learners() {
  static const std::vector all{small(Auto{.experts = 2, .lags = 3}), small(Ekf{}, 2),
                               small(Algorithm2{}), small(Rls{}), small(Naive{})};
  return all;
}

// A model is its learner: predict, then learn.
TEST(StreamModel, PredictsAndLearnsAsItsLearnerDoes) {
  for (const LearnerOptions& options : learners()) {
    const auto learner = make_scaled_learner(options);
    StreamModel model(make_scaled_learner(options), {});
    Heard heard;
    for (int t = 0; t < 60; ++t) {
      Sample s = sample_at(t, t % 7 != 3);
      if (s.d.empty()) s.id.clear();  // will never come
      const auto d_hat = learner->predict(s.x);
      const std::vector<double> expected(d_hat.begin(), d_hat.end());
      heard.take(model, s);
      EXPECT_EQ(heard.answers.back().prediction, expected);
      EXPECT_EQ(heard.answers.back().status, s.d.empty() ? Status::predicted : Status::learnt);
      if (s.d.empty())
        learner->advance(s.x);
      else
        learner->learn(s.x, s.d);
    }
    EXPECT_EQ(save(model.learner()), save(*learner));
    EXPECT_EQ(model.samples(), 60U);
    EXPECT_EQ(heard.scores, 51 - 1);  // the first target is not scored
  }
}

// Whenever targets come, what is learnt is the same; and no prediction knows of a target that has
// not come yet.
TEST(StreamModel, LateTargetsAreLearntInOrder) {
  for (const LearnerOptions& options : learners()) {
    const auto learner = make_scaled_learner(options);
    for (int t = 0; t < 80; ++t) learner->learn(sample_at(t).x, sample_at(t).d);
    for (const int delay : {1, 3, 10}) {
      StreamModel model(make_scaled_learner(options), {.coverage = 0.8, .max_delay = 40});
      Heard heard;
      Rng rng(5);
      std::deque<int> due;
      for (int t = 0; t < 80; ++t) {
        heard.take(model, sample_at(t, false));
        due.push_back(t);
        // Some targets overtake others.
        while (due.size() > static_cast<std::size_t>(delay)) {
          const std::size_t which = rng.below(2);
          heard.take(model, label_of(due[which]));
          EXPECT_EQ(heard.answers.back().status, Status::labelled);
          EXPECT_EQ(heard.answers.back().sample, static_cast<std::uint64_t>(due[which]) + 1);
          due.erase(due.begin() + static_cast<int>(which));
        }
      }
      for (const int t : due) heard.take(model, label_of(t));
      EXPECT_EQ(model.pending(), 0U);
      EXPECT_EQ(save(model.learner()), save(*learner));
    }
  }
}

// A prediction while others wait is the learner's forecast across them.
TEST(StreamModel, PredictsAcrossWhatWaits) {
  for (const LearnerOptions& options : learners()) {
    const auto learner = make_scaled_learner(options);
    StreamModel model(make_scaled_learner(options), {});
    Heard heard;
    for (int t = 0; t < 30; ++t) {
      learner->learn(sample_at(t).x, sample_at(t).d);
      heard.take(model, sample_at(t));
    }
    std::vector<double> x;
    for (int t = 30; t < 36; ++t) {
      heard.take(model, sample_at(t, false));
      append(x, sample_at(t).x);
      std::vector<double> d_hat(x.size() / 2);
      ASSERT_TRUE(learner->forecast(d_hat.size(), x, d_hat));
      // The first is a plain prediction, which a scaler makes with moments that know its input.
      if (t == 30) continue;
      EXPECT_EQ(heard.answers.back().prediction[0], d_hat.back());
    }
    heard.take(model, label_of(30));
    learner->learn(sample_at(30).x, sample_at(30).d);
    heard.take(model, sample_at(36, false));
    x.erase(x.begin(), x.begin() + 2);
    append(x, sample_at(36).x);
    std::vector<double> d_hat(x.size() / 2);
    ASSERT_TRUE(learner->forecast(d_hat.size(), x, d_hat));
    EXPECT_EQ(heard.answers.back().prediction[0], d_hat.back());
  }
}

TEST(StreamModel, WaitsNoLongerThanItMay) {
  StreamModel model(make_scaled_learner(small(Rls{})), {.max_delay = 3});
  Heard heard;
  for (int t = 0; t < 5; ++t) heard.take(model, sample_at(t, false));
  EXPECT_EQ(model.pending(), 3U);
  EXPECT_EQ(heard.steps, (std::vector{StepStatus::missing, StepStatus::missing}));
  heard.take(model, label_of(1));
  EXPECT_EQ(heard.answers.back().status, Status::late);
  heard.take(model, label_of(3));
  EXPECT_EQ(heard.answers.back().status, Status::labelled);
  EXPECT_EQ(heard.steps.size(), 2U);  // the one before it may still come
  heard.take(model, label_of(3));
  EXPECT_EQ(heard.answers.back().status, Status::late);  // there is one already
  heard.take(model, sample_at(5, false));                // now 2 is too old, and 3 has its target
  EXPECT_EQ(heard.steps, (std::vector{StepStatus::missing, StepStatus::missing, StepStatus::missing,
                                      StepStatus::applied}));
  EXPECT_EQ(model.pending(), 2U);
}

TEST(StreamModel, SeriesWithoutInputs) {
  StreamModel model(make_learner({.network = {.inputs = 0}, .rule = Naive{}}), {});
  Heard heard;
  const Sample without{.kind = Sample::Kind::inputs, .id = "a"};
  const Sample label{.kind = Sample::Kind::label, .id = "a", .d = {3}};
  const Sample with{.kind = Sample::Kind::inputs, .id = "a", .d = {3}};
  heard.take(model, without);
  heard.take(model, label);
  EXPECT_EQ(heard.answers.back().status, Status::labelled);
  heard.take(model, with);
  EXPECT_EQ(heard.answers.back().status, Status::learnt);
  EXPECT_EQ(heard.answers.back().prediction, std::vector<double>{3});
}

TEST(StreamModel, PredictOnlyLearnsNothing) {
  StreamModel model(make_scaled_learner(small(Ekf{}, 2)), {.learns = false, .coverage = 0.9});
  Heard heard;
  for (int t = 0; t < 40; ++t) heard.take(model, sample_at(t));
  EXPECT_EQ(heard.steps, std::vector(40, StepStatus::missing));
  EXPECT_EQ(heard.scores, 39);
  EXPECT_GT(model.scores().intervals(), 20U);  // bounds adapt to whatever predicts
}

// Forecasts are the learner's, with the last inputs held, and their bounds hold what they promise.
TEST(StreamModel, ForecastsWithBounds) {
  const auto options = small(Ar{.lags = 4});
  const auto learner = make_learner(options);
  StreamModel model(make_learner(options), {.coverage = 0.8, .horizon = 3});
  Heard heard;
  Rng rng(3);
  int within = 0;
  int counted = 0;
  double y = 0;
  std::vector<double> series;
  for (int t = 0; t < 3000; ++t) {
    y = 0.9 * y + rng.normal();
    series.push_back(y);
    Sample s{.kind = Sample::Kind::inputs, .x = {0, 0}, .d = {y}};
    heard.take(model, s);
    learner->learn(s.x, s.d);
    std::vector<double> d_hat(3);
    learner->forecast(3, std::vector<double>(6, 0.0), d_hat);
    EXPECT_EQ(heard.answers.back().forecast, d_hat);
    if (t < 4 || std::isnan(heard.answers[t - 3].bounds[6])) continue;
    const auto& bounds = heard.answers[t - 3].bounds;  // own, then leads 1, 2, 3
    within += bounds[6] <= y && y <= bounds[7] ? 1 : 0;
    ++counted;
  }
  EXPECT_NEAR(within / static_cast<double>(counted), 0.8, 0.02);
}

// It comes with the target: with the sample, or later; in no other answer.
TEST(StreamModel, TellsHowStrangeTargetsAre) {
  for (const bool late : {false, true}) {
    StreamModel model(make_learner(small(Mean{})), {.surprise = true, .alarm_rate = 1e-3});
    Heard heard;
    Rng rng(6);
    for (int t = 0; t < 3000; ++t) {
      Sample s = sample_at(t);
      s.d = {rng.normal() + (t == 2900 ? 20 : 0)};
      if (late) {
        Sample first = s;
        first.d.clear();
        heard.take(model, first);
        EXPECT_TRUE(heard.answers.back().surprise.empty());
        s.kind = Sample::Kind::label;
        s.x.clear();
      }
      heard.take(model, s);
      const auto& said = heard.answers.back();
      ASSERT_EQ(said.surprise.size(), 1U);
      ASSERT_EQ(std::isnan(said.surprise[0]), t < 10);
      ASSERT_EQ(said.anomaly, said.surprise[0] <= 1e-3);
      if (t == 2900) {
        EXPECT_LT(said.surprise[0], 1e-5);
      }
    }
  }
}

// Saved at any moment, also while samples wait, it goes on to the same bits.
TEST(StreamModel, GoesOnFromACheckpoint) {
  const ModelOptions with{.coverage = 0.8, .surprise = true, .horizon = 2, .max_delay = 5};
  for (const LearnerOptions& options : learners()) {
    StreamModel model(make_scaled_learner(options), with);
    Heard heard;
    for (int t = 0; t < 50; ++t) {
      heard.take(model, sample_at(t, t % 3 == 0));
      if (t % 4 == 0 && t > 5) heard.take(model, label_of(t - 2));
    }
    EXPECT_GT(model.pending(), 0U);
    const auto bytes = model.to_bytes();
    // The same in other ways, which take less time.
    const Bytes stream(3, std::byte{7});
    const Bytes whole = to_bytes({.stream = stream, .key = "k", .model = bytes});
    EXPECT_EQ(CheckpointImage(stream, "k", &model).finish(), whole);
    EXPECT_EQ(CheckpointImage(stream, "k", model, make_scaled_learner(options)).finish(), whole);
    Archive from{std::span<const std::byte>(bytes)};
    const auto again = StreamModel::load(from, &with);
    EXPECT_EQ(from.left(), 0U);
    EXPECT_EQ(again->to_bytes(), bytes);
    Heard then;
    const std::size_t said = heard.answers.size();
    for (int t = 50; t < 80; ++t) {
      heard.take(model, sample_at(t, t % 3 == 0));
      then.take(*again, sample_at(t, t % 3 == 0));
    }
    for (std::size_t k = 0; k < then.answers.size(); ++k) {
      EXPECT_EQ(then.answers[k].prediction, heard.answers[said + k].prediction);
      EXPECT_EQ(then.answers[k].forecast, heard.answers[said + k].forecast);
      for (const auto part : {&Heard::Said::bounds, &Heard::Said::surprise}) {
        const auto& a = then.answers[k].*part;
        const auto& b = heard.answers[said + k].*part;
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i)
          EXPECT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])));
      }
    }
    // With other wishes: what is new starts from nothing, the rest goes on.
    Archive anew{std::span<const std::byte>(bytes)};
    const ModelOptions other{.coverage = 0.5};
    const auto changed = StreamModel::load(anew, &other);
    Heard anew_heard;
    anew_heard.take(*changed, sample_at(50));
    EXPECT_TRUE(std::isnan(anew_heard.answers.back().bounds[0]));
    EXPECT_TRUE(anew_heard.answers.back().surprise.empty());
  }
}

// Missing inputs are what they were last, also in lines that could not be taken and before a stop.
TEST(StreamModel, MissingInputsKeepTheirLastValue) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  using Numbers = std::vector<double>;
  const ModelOptions options{.holds_missing = true};
  StreamModel model(make_scaled_learner(small(Rls{})), options);
  Numbers x{none, 2};
  EXPECT_FALSE(model.complete(x));
  EXPECT_TRUE(std::isnan(x[0]));
  const auto early = model.to_bytes();

  x = {1, none};
  EXPECT_TRUE(model.complete(x));
  EXPECT_EQ(x, (Numbers{1, 2}));
  x = {3, 4};
  EXPECT_TRUE(model.complete(x));
  EXPECT_EQ(x, (Numbers{3, 4}));
  x = {none, none};
  EXPECT_TRUE(model.complete(x));
  EXPECT_EQ(x, (Numbers{3, 4}));

  Numbers too_many{none, 2, 3};
  EXPECT_FALSE(model.complete(too_many));

  Archive from{std::span<const std::byte>(early)};
  const auto again = StreamModel::load(from, &options);
  EXPECT_EQ(again->to_bytes(), early);
  x = {5, none};
  EXPECT_TRUE(again->complete(x));
  EXPECT_EQ(x, (Numbers{5, 2}));
}

TEST(StreamModel, RefusesDamagedState) {
  StreamModel model(make_scaled_learner(small(Rls{})),
                    {.coverage = 0.8, .surprise = true, .horizon = 2});
  Heard heard;
  for (int t = 0; t < 20; ++t) heard.take(model, sample_at(t, t < 17));
  const auto bytes = model.to_bytes();
  for (std::size_t cut = 0; cut < bytes.size(); cut += 7) {
    Archive from{std::span<const std::byte>(bytes).first(cut)};
    EXPECT_THROW(StreamModel::load(from), SnapshotError);
  }
  Rng rng(9);
  for (int k = 0; k < 2000; ++k) {  // any other byte: refused, or a model that works
    auto changed = bytes;
    changed[rng.below(changed.size())] ^= static_cast<std::byte>(1U << rng.below(8));
    try {
      Archive from{std::span<const std::byte>(changed)};
      const auto loaded = StreamModel::load(from);
      for (int t = 20; t < 24; ++t) heard.take(*loaded, sample_at(t));
    } catch (const SnapshotError&) {
      continue;
    }
  }
}

}  // namespace
}  // namespace kalstream

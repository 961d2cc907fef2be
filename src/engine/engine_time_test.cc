// Times in a stream: what is missing, late, repeated, or known ahead.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/archive.h"
#include "core/rng.h"
#include "engine/checkpoint.h"
#include "engine/engine.h"
#include "lines/record_reader.h"
#include "schema/dataset.h"
#include "schema/rules.h"

namespace kalstream {
namespace {

using Status = Answer::Status;

std::string two_digits(int n) { return (n < 10 ? "0" : "") + std::to_string(n); }

// Hour h of January.
std::string time_of_hour(int h) {
  return "2024-01-" + two_digits(1 + h / 24) + " " + two_digits(h % 24) + ":00";
}

double temp(int h) { return std::sin(0.7 * h) + 0.3 * std::sin(0.11 * h * h); }

std::string row(int h, const std::string& more = "") {
  return "{\"time\":\"" + time_of_hour(h) + "\",\"temp\":" + std::to_string(temp(h)) +
         ",\"other\":0.5" + more + ",\"target\":" + std::to_string(2 * temp(h)) + "}";
}

std::string row_ahead(int h) {
  return "{\"time\":\"" + time_of_hour(h) + "\",\"temp\":" + std::to_string(temp(h)) + "}";
}

class TimedStream {
 public:
  explicit TimedStream(std::vector<std::string> future = {}, std::size_t horizon = 2,
                       const Rule& rule = Rls{}, std::size_t lags = 0)
      : engine_(options(std::move(future), horizon, rule, lags), nullptr) {}

  // The engine's, until the next line.
  const Answer& line(const std::string& text) {
    EXPECT_TRUE(reader_.read(text, record_));
    return *engine_.take({.record = record_});
  }
  void lines(int from, int to) {
    for (int h = from; h < to; ++h) {
      line(row(h));
      engine_.learn();
    }
  }
  Engine& engine() { return engine_; }

  Checkpoint kept() {
    engine_.learn();
    Bytes stream;
    Archive to(stream);
    engine_.exchange(to);
    return checkpoint_of(engine_.image(std::move(stream)).finish());
  }
  void go_on(const Checkpoint& checkpoint) {
    Archive from = stream_of(checkpoint);
    engine_.exchange(from);
    engine_.set_only_model(model_of(checkpoint, &engine_.options().model));
  }

 private:
  static EngineOptions options(std::vector<std::string> future, std::size_t horizon,
                               const Rule& rule, std::size_t lags) {
    EngineOptions o;
    o.recipe = [rule, lags](std::size_t inputs, std::size_t outputs) {
      return Recipe{{.network = {.inputs = inputs, .outputs = outputs}, .rule = rule, .lags = lags},
                    !takes_raw_data(rule)};
    };
    o.model.horizon = horizon;
    o.model.coverage = 0.8;
    o.future = std::move(future);
    return o;
  }

  RecordReader reader_;
  Record record_;
  Engine engine_;
};

TEST(EngineTime, ForecastsCarryTheirTimes) {
  TimedStream stream;
  EXPECT_TRUE(stream.line(row(0)).forecast_time.empty());  // nobody knows the step yet
  stream.lines(1, 10);
  const Answer& answer = stream.line(row(23));
  ASSERT_EQ(answer.forecast_time.size(), 2U);
  EXPECT_EQ(answer.forecast_time[0], "2024-01-02 00:00");
  EXPECT_EQ(answer.forecast_time[1], "2024-01-02 01:00");
  EXPECT_EQ(answer.forecast.size(), 2U);
}

TEST(EngineTime, GapsArePassedStepByStep) {
  TimedStream stream({}, 2, Rls{}, 3);
  stream.lines(0, 30);
  const Answer& answer = stream.line(row(34));
  EXPECT_EQ(answer.status, Status::learnt);
  EXPECT_EQ(answer.sample, 31U);
  EXPECT_EQ(stream.engine().counts().passed, 4U);
  EXPECT_EQ(stream.engine().counts().missing, 0U);
  const StreamModel& model = *stream.engine().models()->only();
  EXPECT_EQ(model.samples(), 31U);
  stream.engine().learn();
  EXPECT_EQ(model.learner().samples(), 35U);
  EXPECT_EQ(model.clock().text(), "1 hour");
}

// One sample of the year 9000, one of 1971, a hundred ahead by 300 days, a hundred behind by as
// much.
TEST(EngineTime, ATimeThatJumpsBothWaysCostsAFewSamples) {
  TimedStream stream;
  constexpr std::int64_t hour = 3600;
  constexpr std::int64_t begin = 1'704'067'200;  // 2024
  std::uint64_t refused = 0;
  for (int h = 0; h < 2000; ++h) {
    std::int64_t at = begin + h * hour;
    if (h == 500) at = 221'845'392'000;
    if (h == 700) at = 31'536'000;
    if (h >= 1000 && h < 1100) at += 7200 * hour;
    if (h >= 1500 && h < 1600) at -= 7200 * hour;
    const Answer& answer = stream.line("{\"time\":" + std::to_string(at) +
                                       ",\"temp\":" + std::to_string(temp(h)) + ",\"target\":1}");
    for (const double said : answer.prediction) EXPECT_LT(std::abs(said), 100) << h;
    refused += answer.status == Status::late || answer.status == Status::repeated ? 1 : 0;
    stream.engine().learn();
  }
  EXPECT_LE(refused, 12U);
  EXPECT_EQ(stream.engine().counts().learnt + refused, 2000U);
  EXPECT_EQ(stream.engine().models()->only()->clock().text(), "1 hour");
}

TEST(EngineTime, LateAndRepeatedSamplesAreToldApartAndNotLearnt) {
  TimedStream once;
  TimedStream twice;
  once.lines(0, 20);
  twice.lines(0, 20);
  EXPECT_EQ(twice.line(row(19)).status, Status::repeated);
  EXPECT_FALSE(twice.line(row(19)).reason.empty());
  EXPECT_EQ(twice.line(row(12)).status, Status::late);
  EXPECT_EQ(twice.engine().counts().repeated, 2U);
  EXPECT_EQ(twice.engine().counts().untimely, 1U);
  EXPECT_EQ(twice.engine().counts().late, 0U);
  const double expected = once.line(row(20)).prediction[0];
  const Answer& answer = twice.line(row(20));
  EXPECT_EQ(answer.prediction[0], expected);
  EXPECT_EQ(answer.sample, 21U);
}

TEST(EngineTime, TargetsThatComeLaterAreNoRepetition) {
  TimedStream stream({}, 0);
  stream.lines(0, 10);
  const std::string waiting =
      "{\"id\":7,\"time\":\"" + time_of_hour(10) + "\",\"temp\":0.1,\"other\":0.5,\"target\":null}";
  EXPECT_EQ(stream.line(waiting).status, Status::predicted);
  EXPECT_EQ(stream.line(row(11)).status, Status::learnt);
  EXPECT_EQ(stream
                .line("{\"id\":7,\"time\":\"" + time_of_hour(10) +
                      "\",\"temp\":0.1,\"other\":0.5,\"target\":0.2}")
                .status,
            Status::labelled);
  EXPECT_EQ(stream.line("{\"id\":7,\"target\":0.2}").status, Status::late);
}

TEST(EngineTime, WhatIsKnownAheadIsUsed) {
  const auto error_of = [](std::vector<std::string> future, bool rows_ahead) {
    TimedStream stream(std::move(future), 3);
    double sum = 0;
    for (int h = 0; h < 200; ++h) {
      for (int k = 1; k <= 3 && h > 0 && rows_ahead; ++k)
        EXPECT_EQ(stream.line(row_ahead(h + k)).status, Status::ahead);
      const Answer& answer = stream.line(row(h));
      EXPECT_EQ(answer.status, Status::learnt);
      if (h > 50) sum += std::abs(answer.forecast[2] - 2 * temp(h + 3));
    }
    return sum / 149;
  };
  EXPECT_LT(error_of({"temp"}, true), 0.15);
  EXPECT_GT(error_of({"temp"}, false), 0.5);
  EXPECT_GT(error_of({}, false), 0.5);
}

TEST(EngineTime, HeldInputsAreSaid) {
  TimedStream stream({"temp"});
  stream.lines(0, 6);
  bool other = false;
  bool unknown = false;
  for (const std::string& remark : stream.engine().take_remarks()) {
    other |= remark.find("forecasts hold \"other\"") == 0;
    unknown |= remark.find("not known for all of the horizon") != remark.npos;
  }
  EXPECT_TRUE(other);
  EXPECT_TRUE(unknown);
  EXPECT_TRUE(stream.engine().take_remarks().empty());
}

TEST(EngineTime, TheTargetsRowNeedNotRepeatWhatIsKnown) {
  TimedStream stream({"temp"});
  stream.lines(0, 6);
  EXPECT_EQ(stream.line(row_ahead(6)).status, Status::ahead);
  EXPECT_EQ(stream.line("{\"time\":\"" + time_of_hour(6) + "\",\"other\":0.5,\"target\":1}").status,
            Status::learnt);
  EXPECT_EQ(stream.line("{\"time\":\"" + time_of_hour(7) + "\",\"other\":0.5,\"target\":1}").status,
            Status::refused);
}

TEST(EngineTime, FutureNeedsATime) {
  EngineOptions o;
  o.recipe = [](std::size_t inputs, std::size_t) {
    return Recipe{{.network = {.inputs = inputs}, .rule = Rls{}}, true};
  };
  o.future = {"a"};
  Engine engine(o, nullptr);
  RecordReader reader;
  Record record;
  reader.read("{\"a\":1,\"target\":2}", record);
  EXPECT_THROW(engine.take({.record = record}), std::invalid_argument);
}

TEST(EngineTime, GoesOnFromACheckpoint) {
  for (const bool with_gap : {false, true}) {
    TimedStream stream({"temp"}, 3, Rls{}, 2);
    stream.lines(0, 40);
    for (int k = 0; k < 5; ++k) stream.line(row_ahead(41 + k));
    TimedStream other({"temp"}, 3, Rls{}, 2);
    other.go_on(stream.kept());
    for (int h = with_gap ? 43 : 40; h < 60; ++h) {
      const Answer& a = stream.line(row(h));
      const Answer& b = other.line(row(h));
      EXPECT_EQ(a.sample, b.sample);
      EXPECT_EQ(a.prediction[0], b.prediction[0]) << h;
      for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(a.forecast[k], b.forecast[k]) << h;
      EXPECT_EQ(a.forecast_time[0], b.forecast_time[0]);
    }
    EXPECT_EQ(stream.engine().counts().passed, other.engine().counts().passed);
  }
}

TEST(EngineTime, TheElapsedTimeIsAnInputWhereAsked) {
  EngineOptions o;
  o.recipe = [](std::size_t inputs, std::size_t) {
    EXPECT_EQ(inputs, 1U);
    return Recipe{{.network = {.inputs = inputs}, .rule = Rls{}}, true};
  };
  o.fields.elapsed = true;
  Engine engine(o, nullptr);
  RecordReader reader;
  Record record;
  // The target is what has elapsed, which nothing else tells.
  double error = 0;
  double off_the_mean = 0;  // what is left to those who do not know it
  double seconds = 0;
  Rng rng(5);
  for (int k = 0; k < 300; ++k) {
    const double apart = 1 - 10 * std::log(1 - rng.uniform());
    seconds += apart;
    reader.read("{\"time\":" + std::to_string(1.7e9 + seconds) +
                    ",\"target\":" + std::to_string(apart) + "}",
                record);
    const Answer& answer = *engine.take({.record = record});
    ASSERT_EQ(answer.status, Status::learnt);
    if (k < 100) continue;
    error += std::abs(answer.prediction[0] - apart);
    off_the_mean += std::abs(11 - apart);
  }
  EXPECT_LT(error, off_the_mean / 3);
  EXPECT_TRUE(engine.models()->only()->clock().is_irregular());
}

TEST(EngineTime, WithoutTimesNothingChanges) {
  EngineOptions o;
  o.recipe = [](std::size_t inputs, std::size_t) {
    return Recipe{{.network = {.inputs = inputs}, .rule = Rls{}}, true};
  };
  o.fields.time = "none";
  Engine engine(o, nullptr);
  RecordReader reader;
  Record record;
  for (const int h : {0, 1, 2, 3, 4, 9, 9, 2}) {
    reader.read(row(h), record);
    EXPECT_EQ(engine.take({.record = record})->status, Status::learnt);
  }
  EXPECT_EQ(engine.counts().passed, 0U);
}

}  // namespace
}  // namespace kalstream

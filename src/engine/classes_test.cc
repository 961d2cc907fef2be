// Streams whose target is a class.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/archive.h"
#include "core/rng.h"
#include "engine/checkpoint.h"
#include "engine/engine.h"
#include "lines/record_reader.h"
#include "schema/rules.h"
#include "session/answers.h"
#include "settings/stream_settings.h"

namespace kalstream {
namespace {

EngineOptions options(const StreamSettings& settings = {}) {
  return engine_options(settings, [](const std::string&) {});
}

/// Lines in, lines of JSON out.
class ClassStream {
 public:
  explicit ClassStream(EngineOptions o = options()) : engine_(std::move(o), nullptr) {}

  std::string line(const std::string& text) {
    if (!reader_.read(text, record_)) return {};
    const Answer* answer = engine_.take({.record = record_});
    std::string said;
    if (answer != nullptr) AnswerWriter(shape()).write(*answer, said);
    engine_.learn();
    return said;
  }
  AnswerWriter::Shape shape() {
    return engine_.settled() ? shape_of(engine_, true) : AnswerWriter::Shape{.json = true};
  }

  Bytes save() {
    Bytes stream;
    Archive to(stream);
    engine_.exchange(to);
    CheckpointImage image = engine_.image(stream);
    return std::move(image).finish();
  }

  Engine engine_;

 private:
  RecordReader reader_{{.format = Format::json}};
  Record record_;
};

std::string sample(Rng& rng, const std::string& extra = "") {
  const double x = rng.uniform(-1, 1);
  const double y = rng.uniform(-1, 1);
  const char* label = x > 0.3 ? "high" : y > 0 ? "mid" : "low";
  return "{\"x\":" + std::to_string(x) + ",\"y\":" + std::to_string(y) + ",\"target\":\"" + label +
         "\"" + extra + "}";
}

TEST(Classes, TextIsAClassByItself) {
  ClassStream stream;
  Rng rng(1);
  EXPECT_EQ(stream.line(R"({"x":1,"y":2,"target":"mid"})"),
            "{\"sample\":1,\"status\":\"learnt\",\"prediction\":null,\"probabilities\":{},"
            "\"target\":\"mid\"}\n");
  ASSERT_TRUE(stream.engine_.schema().has_classes());
  for (int t = 0; t < 400; ++t) stream.line(sample(rng));
  const std::string said = stream.line(R"({"x":0.9,"y":0.1})");
  EXPECT_NE(said.find("\"prediction\":\"high\",\"probabilities\":{\"mid\":"), said.npos) << said;
  const ClassErrors e = stream.engine_.scores()->classes()->errors();
  EXPECT_GT(e.accuracy, 0.75);
  EXPECT_GT(e.kappa, 0.6);
  EXPECT_GT(e.auc, 0.85);
  EXPECT_GT(e.f1, 0.7);
  EXPECT_LT(e.log_loss, 0.7);
  EXPECT_LT(e.calibration, 0.15);
}

TEST(Classes, AreNumbersOnlyIfAsked) {
  StreamSettings settings;
  settings.fields.task = "classify";
  ClassStream asked(options(settings));
  asked.line(R"({"x":1,"target":3})");
  const std::string said = asked.line(R"({"x":1,"target":5})");
  EXPECT_NE(said.find("\"prediction\":\"3\""), said.npos) << said;
  EXPECT_NE(said.find("\"target\":\"5\""), said.npos) << said;

  settings.fields.task = "regress";
  ClassStream numbers(options(settings));
  EXPECT_NE(numbers.line(R"({"x":1,"target":"a"})").find("is text"), std::string::npos);
}

TEST(Classes, ANewOneIsNotKnownBeforeItHasCome) {
  ClassStream stream;
  Rng rng(2);
  for (int t = 0; t < 50; ++t) stream.line(sample(rng));
  const std::string first = stream.line(R"({"x":0,"y":0,"target":"new"})");
  EXPECT_EQ(first.find("\"new\":"), first.npos) << first;
  const std::string second = stream.line(R"({"x":0,"y":0})");
  EXPECT_NE(second.find("\"new\":"), second.npos) << second;
}

TEST(Classes, TooManyAreRefused) {
  StreamSettings settings;
  settings.fields.classes = 2;
  ClassStream stream(options(settings));
  stream.line(R"({"x":1,"target":"a"})");
  stream.line(R"({"x":2,"target":"b"})");
  const std::string said = stream.line(R"({"x":3,"target":"c"})");
  EXPECT_NE(said.find("the class 'c' is one more than the 2 that there may be; --classes allows"),
            said.npos)
      << said;
  EXPECT_EQ(stream.engine_.counts().refused, 1U);
  EXPECT_EQ(stream.line(R"({"x":3})").find("\"c\":"), std::string::npos);
}

TEST(Classes, GoOnAfterACheckpointToTheBit) {
  StreamSettings settings;
  settings.surprise = true;
  ClassStream whole(options(settings));
  ClassStream first(options(settings));
  Rng rng(3);
  std::vector<std::string> lines;
  for (int t = 0; t < 150; ++t) {
    // Some wait for their targets.
    std::string line = sample(rng, ",\"id\":" + std::to_string(t));
    if (t % 7 == 3) {
      const std::size_t at = line.find(",\"target\"");
      const std::size_t end = line.find(",\"id\"");
      std::string later = "{\"id\":" + std::to_string(t) + line.substr(at, end - at) + "}";
      lines.push_back(line.erase(at, end - at));
      lines.push_back(later);
    } else {
      lines.push_back(line);
    }
  }
  lines.insert(lines.begin() + 100, R"({"x":0,"y":0,"target":"rare"})");
  std::vector<std::string> said;
  for (const std::string& line : lines) said.push_back(whole.line(line));
  const std::size_t half = 121;
  for (std::size_t k = 0; k < half; ++k) EXPECT_EQ(first.line(lines[k]), said[k]);
  const Checkpoint checkpoint = checkpoint_of(first.save());
  ClassStream second(options(settings));
  Archive from = stream_of(checkpoint);
  second.engine_.exchange(from);
  const ModelOptions model = second.engine_.options().model;
  second.engine_.set_only_model(model_of(checkpoint, &model));
  for (std::size_t k = half; k < lines.size(); ++k) ASSERT_EQ(second.line(lines[k]), said[k]) << k;
}

TEST(Classes, SurpriseIsTheLogLoss) {
  StreamSettings settings;
  settings.alarm_rate = 0.05;
  ClassStream stream(options(settings));
  Rng rng(4);
  for (int t = 0; t < 500; ++t) stream.line(sample(rng));
  const std::string said = stream.line(R"({"x":0.95,"y":0,"target":"low"})");
  EXPECT_NE(said.find("\"anomaly\":true"), said.npos) << said;
}

TEST(Classes, EveryKeyHasItsOwn) {
  StreamSettings settings;
  settings.fields.key = "k";
  ClassStream stream(options(settings));
  for (int t = 0; t < 10; ++t) {
    stream.line(R"({"k":"a","x":1,"target":"one"})");
    stream.line(R"({"k":"b","x":1,"target":"two"})");
  }
  EXPECT_EQ(stream.line(R"({"k":"a","x":1})").find("two"), std::string::npos);
  EXPECT_EQ(stream.line(R"({"k":"b","x":1})").find("one"), std::string::npos);
}

TEST(Classes, AreNotForBaselinesOrForecasts) {
  StreamSettings settings;
  settings.learner = "rls";
  ClassStream rls(options(settings));
  EXPECT_THROW(rls.line(R"({"x":1,"target":"a"})"), std::invalid_argument);
  settings.learner = "auto";
  settings.horizon = 3;
  ClassStream ahead(options(settings));
  EXPECT_THROW(ahead.line(R"({"x":1,"target":"a"})"), std::invalid_argument);
}

TEST(ClassScores, AreWhatTheirNamesSay) {
  ClassScores scores;
  // Two classes, 8 samples: 3 of 4 right of each, always with 0.8.
  for (int t = 0; t < 8; ++t) {
    const std::size_t y = t % 2;
    const bool right = t >= 2;
    const double p = right == (y == 1) ? 0.8 : 0.2;
    scores.add(std::vector<double>{1 - p, p}, y);
  }
  const ClassErrors e = scores.errors();
  EXPECT_NEAR(e.accuracy, 0.75, 1e-12);
  EXPECT_NEAR(e.kappa, 0.5, 1e-12);
  EXPECT_NEAR(e.f1, 0.75, 1e-12);
  EXPECT_NEAR(e.log_loss, -(6 * std::log(0.8) + 2 * std::log(0.2)) / 8, 1e-12);
  EXPECT_NEAR(e.calibration, 0.05, 1e-12);
  // Of the 16 pairs, 9 in order, 6 equal, 1 against it.
  EXPECT_NEAR(e.auc, (9 + 6 / 2.0) / 16, 1e-12);
  EXPECT_EQ(scores.reliability()[8].count, 8U);
}

TEST(ClassScores, AClassThatIsNewHasAProbabilityStill) {
  ClassScores scores;
  EXPECT_EQ(scores.probability({}, 0), 0.5);
  for (int t = 0; t < 98; ++t) scores.add(std::vector<double>{0.9, 0.1}, 0);
  EXPECT_NEAR(scores.probability(std::vector<double>{0.9, 0.1}, 2), 0.01, 1e-12);
}

}  // namespace
}  // namespace kalstream

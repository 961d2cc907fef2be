// Everything `kalstream stream` can do, from memory: no file, descriptor, clock or thread.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/archive.h"
#include "core/envelope.h"
#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"
#include "lines/record_reader.h"
#include "schema/dataset.h"
#include "schema/rules.h"
#include "stores/memory_store_test_support.h"

namespace kalstream {
namespace {

using Status = Answer::Status;

/// An answer that outlives the engine's next call.
struct Said {
  Status status = Status::refused;
  std::uint64_t sample = 0;
  std::string reason, id, key, time;
  std::vector<double> prediction, target, forecast, bounds;
  std::size_t held = 0;
  std::vector<std::string> forecast_time;

  bool operator==(const Said&) const = default;
};

Said copy_of(const Answer& a) {
  Said said{a.status,          a.sample,           std::string(a.reason),
            std::string(a.id), std::string(a.key), std::string(a.time)};
  said.prediction.assign(a.prediction.begin(), a.prediction.end());
  said.target.assign(a.target.begin(), a.target.end());
  said.forecast.assign(a.forecast.begin(), a.forecast.end());
  for (const auto& intervals : {a.interval, a.forecast_interval})
    for (const Interval& i : intervals) {
      said.bounds.push_back(std::isnan(i.low) ? -1e300 : i.low);
      said.bounds.push_back(std::isnan(i.high) ? 1e300 : i.high);
    }
  said.held = a.held;
  said.forecast_time.assign(a.forecast_time.begin(), a.forecast_time.end());
  return said;
}

EngineOptions options(const Rule& rule = Rls{}) {
  EngineOptions o;
  o.recipe = [rule](std::size_t inputs, std::size_t outputs) {
    return Recipe{
        {.network = {.inputs = inputs, .hidden = 3, .outputs = outputs, .window = 4}, .rule = rule},
        !takes_raw_data(rule)};
  };
  return o;
}

/// An engine with its reader of lines and its store, which can be left and gone on from.
class Stream {
 public:
  explicit Stream(EngineOptions o, MemoryStore* store = nullptr)
      : store_(store), engine_(std::move(o), store) {}

  /// Whatever a line is answered with; nothing if it says nothing.
  std::optional<Said> line(const std::string& text) {
    try {
      if (!reader_.read(text, record_)) return {};
    } catch (const DataError& error) {
      return copy_of(*engine_.take({.is_problem = true, .problem = error.what()}));
    }
    const Answer* answer = engine_.take({.record = record_});
    if (answer == nullptr) return {};
    Said said = copy_of(*answer);
    engine_.learn();
    return said;
  }

  /// That of the line's target.
  std::vector<double> surprise(const std::string& text) {
    reader_.read(text, record_);
    const Answer* answer = engine_.take({.record = record_});
    std::vector<double> p(answer->surprise.begin(), answer->surprise.end());
    engine_.learn();
    return p;
  }

  void commit() {
    begin_commit();
    finish_commit();
  }

  /// Lines may come between these two.
  void begin_commit() {
    engine_.learn();
    ticket_ = store_->begin_commit();
    models_.clear();
    Bytes stream;
    Archive to(stream);
    engine_.exchange(to);
    image_.emplace(engine_.image(std::move(stream)));
    engine_.begin_commit([this](CheckpointImage model) {
      const std::string key = model.key();
      models_.push_back({key, std::move(model).finish()});
    });
  }

  void finish_commit(bool done = true) {
    while (engine_.give_next()) {
    }
    if (done) store_->commit(ticket_, std::move(*image_).finish(), models_);
    engine_.committed(done);
  }

  void resume() {
    const Checkpoint checkpoint = checkpoint_of(*store_->stream());
    Archive from = stream_of(checkpoint);
    engine_.exchange(from);
    if (!checkpoint.model.empty())
      engine_.set_only_model(model_of(checkpoint, &engine_.options().model));
  }

  Engine& engine() { return engine_; }

 private:
  MemoryStore* store_;
  RecordReader reader_;
  Record record_;
  Engine engine_;
  std::uint64_t ticket_ = 0;
  std::optional<CheckpointImage> image_;
  std::vector<KeyedState> models_;
};

double x(int t) { return std::sin(0.7 * t); }
double y(int t) { return 20 + 5 * x(t); }

std::string sample(int t, const std::string& more = "") {
  return "{\"a\":" + std::to_string(x(t)) + more + ",\"target\":" + std::to_string(y(t)) + "}";
}

TEST(Engine, PredictsThenLearns) {
  Stream stream(options());
  double last = 0;
  for (int t = 0; t < 200; ++t) {
    const auto said = stream.line(sample(t));
    ASSERT_TRUE(said);
    EXPECT_EQ(said->status, Status::learnt);
    EXPECT_EQ(said->sample, static_cast<std::uint64_t>(t + 1));
    last = std::abs(said->prediction[0] - y(t));
  }
  EXPECT_LT(last, 0.2);
  EXPECT_EQ(stream.engine().counts().learnt, 200U);
  EXPECT_EQ(stream.engine().scores()->errors().count(), 199U);  // before the first nothing is known
}

// A prediction is made of the targets before it, whatever comes with it.
TEST(Engine, NoLookAhead) {
  Stream one(options());
  Stream other(options());
  for (int t = 0; t < 50; ++t) {
    one.line(sample(t));
    other.line(sample(t));
  }
  const auto a = one.line(R"({"a":0.5,"target":1})");
  const auto b = other.line(R"({"a":0.5,"target":1000})");
  EXPECT_EQ(a->prediction, b->prediction);
}

// The lines of the help text: the first sample has an id and no target, which comes by its id.
TEST(Engine, LabelsComeLaterByTheirId) {
  Stream stream(options());
  double last = 0;
  for (int t = 0; t < 300; ++t) {
    const std::string id = std::to_string(t);
    const auto said = stream.line("{\"id\":" + id + ",\"a\":" + std::to_string(x(t)) + "}");
    EXPECT_EQ(said->status, Status::predicted);
    const auto label = stream.line("{\"id\":" + id + ",\"target\":" + std::to_string(y(t)) + "}");
    EXPECT_EQ(label->status, Status::labelled);
    EXPECT_EQ(label->id, id);
    last = std::abs(said->prediction[0] - y(t));
  }
  EXPECT_LT(last, 0.2);
  EXPECT_EQ(stream.engine().schema().input_names(), std::vector<std::string>{"a"});
}

TEST(Engine, ALabelSettlesNothing) {
  Stream stream(options());
  EXPECT_EQ(stream.line(R"({"id":8,"target":7})")->status, Status::refused);
  EXPECT_FALSE(stream.engine().settled());
  EXPECT_EQ(stream.line(R"({"id":8,"a":1,"b":2})")->status, Status::predicted);
  EXPECT_EQ(stream.engine().schema().inputs(), 2U);
  EXPECT_EQ(stream.line(R"({"id":9,"target":7})")->status, Status::late);
  EXPECT_EQ(stream.line(R"({"id":8,"target":7})")->status, Status::labelled);
}

TEST(Engine, ALabelOfAnUnknownKeyMakesNoModel) {
  EngineOptions o = options();
  o.fields.key = "k";
  Stream stream(o);
  stream.line(R"({"k":"a","id":1,"v":1,"target":3})");
  EXPECT_EQ(stream.line(R"({"k":"b","id":1,"target":3})")->status, Status::late);
  EXPECT_EQ(stream.engine().models()->in_memory(), 1U);
  EXPECT_EQ(stream.line(R"({"v":1,"target":3})")->status, Status::refused);  // of which model?
}

TEST(Engine, TheTargetIsFoundAsRunFindsIt) {
  Stream stream(options());
  stream.line("x,target,z");
  EXPECT_EQ(stream.line("1,2,3")->target, std::vector<double>{2});
  EXPECT_EQ(stream.engine().schema().input_names(), (std::vector<std::string>{"x", "z"}));
}

TEST(Engine, AnswersCarryTheTime) {
  Stream stream(options());
  const auto said = stream.line(R"({"ts":"2024-05-01T10:00:00Z","a":1,"target":2})");
  EXPECT_EQ(said->time, "2024-05-01T10:00:00Z");
  EXPECT_EQ(stream.engine().schema().inputs(), 1U);
}

TEST(Engine, CategoriesAreInputs) {
  EngineOptions o = options();
  o.fields.categories = {"mode"};
  Stream stream(o);
  double last = 0;
  for (int t = 0; t < 200; ++t) {
    const bool high = t % 3 == 0;
    const double d = high ? 10 : -10;
    const auto said = stream.line(std::string(R"({"mode":")") + (high ? "high" : "low") +
                                  R"(","target":)" + std::to_string(d) + "}");
    last = std::abs(said->prediction[0] - d);
  }
  EXPECT_LT(last, 0.5);
  EXPECT_EQ(stream.engine().schema().inputs(), Schema::category_slots);
}

TEST(Engine, MissingInputsAreRefusedOrHeld) {
  Stream strict(options());
  strict.line(R"({"a":1,"b":2,"target":3})");
  const auto refused = strict.line(R"({"a":1,"target":3})");
  EXPECT_EQ(refused->status, Status::refused);
  EXPECT_NE(refused->reason.find("\"b\""), std::string::npos);

  EngineOptions o = options();
  o.missing = MissingInputs::hold;
  Stream holds(o);
  holds.line(R"({"a":1,"b":2,"target":3})");
  const auto held = holds.line(R"({"a":1,"target":3})");
  EXPECT_EQ(held->status, Status::learnt);
  EXPECT_EQ(held->held, 1U);
  EXPECT_EQ(holds.engine().counts().held, 1U);
}

TEST(Engine, ForecastsAndBounds) {
  EngineOptions o = options(Ar{.lags = 3});
  o.fields.inputs = {"none"};
  o.model.horizon = 4;
  o.model.coverage = 0.9;
  Stream stream(o);
  Said last;
  for (int t = 0; t < 300; ++t) last = *stream.line(sample(t));
  ASSERT_EQ(last.forecast.size(), 4U);
  for (int lead = 1; lead <= 4; ++lead) EXPECT_NEAR(last.forecast[lead - 1], y(299 + lead), 0.5);
  EXPECT_EQ(last.bounds.size(), 10U);
  EXPECT_GT(stream.engine().scores()->intervals(), 200U);
}

TEST(Engine, GarbageIsAnsweredAndPassedOver) {
  Stream stream(options());
  stream.line(sample(0));
  for (const char* line : {"{", "{\"a\":\"text\",\"target\":1}", "{\"a\":1e999}", "[1,2"}) {
    const auto said = stream.line(line);
    EXPECT_EQ(said->status, Status::refused) << line;
    EXPECT_FALSE(said->reason.empty());
  }
  EXPECT_EQ(stream.line(sample(1))->sample, 2U);
  EXPECT_EQ(stream.engine().counts().refused, 4U);
  EXPECT_EQ(stream.engine().counts().records, 6U);
}

// With one model and with many, with labels under way, bounds and forecasts: to go on from a commit
// is never to have stopped, and what was put after it is forgotten.
TEST(Engine, ResumingIsNeverHavingStopped) {
  for (const bool keyed : {false, true}) {
    EngineOptions o = options(Algorithm1{});
    o.model = {.coverage = 0.8, .horizon = 2, .max_delay = 5};
    o.max_models = 2;
    if (keyed) o.fields.key = "k";
    const auto at = [&](int t) {
      const std::string key = keyed ? ",\"k\":\"" + std::to_string(t % 5) + '"' : "";
      const std::string id = ",\"id\":" + std::to_string(t);
      if (t % 4 != 0) return sample(t, key + id);
      return "{\"a\":" + std::to_string(x(t)) + key + id + "}";
    };
    const auto label_of = [&](int t) {
      const std::string key = keyed ? ",\"k\":\"" + std::to_string(t % 5) + '"' : "";
      return "{\"id\":" + std::to_string(t) + key + ",\"target\":" + std::to_string(y(t)) + "}";
    };
    std::vector<std::string> lines;
    for (int t = 0; t < 120; ++t) {
      lines.push_back(at(t));
      if (t >= 8 && t % 8 == 0) lines.push_back(label_of(t - 8));
    }
    MemoryStore unbroken_store;
    Stream unbroken(o, &unbroken_store);
    std::vector<std::optional<Said>> expected;
    for (const std::string& line : lines) expected.push_back(unbroken.line(line));

    MemoryStore store;
    auto stream = std::make_unique<Stream>(o, &store);
    std::size_t committed = 0;
    for (std::size_t n = 0; n < lines.size(); ++n) {
      EXPECT_EQ(stream->line(lines[n]), expected[n]) << lines[n];
      if (n % 17 == 5) {
        stream->commit();
        committed = n + 1;
      }
      if (n % 29 == 28) {  // a crash: back to the commit
        store.crash();
        stream = std::make_unique<Stream>(o, &store);
        stream->resume();
        for (std::size_t again = committed; again <= n; ++again)
          EXPECT_EQ(stream->line(lines[again]), expected[again]);
      }
    }
    const Counts& a = stream->engine().counts();
    const Counts& b = unbroken.engine().counts();
    EXPECT_EQ(a.learnt, b.learnt);
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.late, b.late);
    EXPECT_EQ(stream->engine().scores()->errors().all().rmse,
              unbroken.engine().scores()->errors().all().rmse);
    EXPECT_EQ(stream->engine().scores()->coverage(), unbroken.engine().scores()->coverage());
    if (keyed) {
      EXPECT_GT(stream->engine().models()->evictions(), 0U);
    }
  }
}

// What lines change between the beginning of a commit and its end is no part of it, whether models
// are in memory, leave it or come back meanwhile; nor is anything of one that failed.
TEST(Engine, ACommitIsTheMomentItBegan) {
  for (const std::size_t room : {2U, 3U, 100U}) {
    EngineOptions o = options(Algorithm1{});
    o.model = {.coverage = 0.8, .horizon = 2, .max_delay = 5};
    o.max_models = room;
    o.fields.key = "k";
    const auto at = [](int t) {
      return sample(t, ",\"k\":\"" + std::to_string(t * t % 7 + t % 3) + '"');
    };
    MemoryStore unbroken_store;
    Stream unbroken(o, &unbroken_store);
    std::vector<std::optional<Said>> expected;
    for (int t = 0; t < 300; ++t) expected.push_back(unbroken.line(at(t)));

    MemoryStore store;
    auto stream = std::make_unique<Stream>(o, &store);
    int began = 0;
    for (int t = 0; t < 240; ++t) {
      if (t % 40 == 10) {
        stream->begin_commit();
        began = t;
      }
      EXPECT_EQ(stream->line(at(t)), expected[t]);
      if (t % 3 == 0) stream->engine().give_next();
      if (t % 40 != 30) continue;
      const bool fails = t % 120 == 70;
      stream->finish_commit(!fails);
      if (fails) continue;
      store.crash();
      Stream again(o, &store);
      again.resume();
      for (int n = began; n < began + 60; ++n)
        EXPECT_EQ(again.line(at(n)), expected[n]) << "room " << room << ", from " << began;
      // What both have put since means nothing any more.
      store.crash();
      stream = std::make_unique<Stream>(o, &store);
      stream->resume();
      for (int n = began; n <= t; ++n) stream->line(at(n));
    }
  }
}

TEST(Engine, MemoryIsBoundedByBytes) {
  EngineOptions o = options(Algorithm1{});
  o.fields.key = "k";
  const auto at = [](int t) { return sample(t, ",\"k\":\"" + std::to_string(t % 50) + '"'); };
  MemoryStore all_store;
  Stream all(o, &all_store);
  for (int t = 0; t < 50; ++t) all.line(at(t));
  ASSERT_EQ(all.engine().models()->in_memory(), 50U);
  const std::uint64_t needed = all.engine().memory();
  EXPECT_GT(needed, 50U * 1000);

  o.memory = needed / 3;
  MemoryStore store;
  Stream bounded(o, &store);
  Stream homeless(o);
  EngineOptions without = o;
  without.memory = ModelLimits::none;
  Stream free(without);
  for (int t = 0; t < 300; ++t) {
    EXPECT_EQ(bounded.line(at(t)), free.line(at(t)));
    EXPECT_LE(bounded.engine().memory(), o.memory);
  }
  EXPECT_GT(bounded.engine().models()->in_memory(), 10U);
  EXPECT_EQ(bounded.engine().models()->in_memory() + bounded.engine().models()->stored(), 50U);

  // What others take is not there for models.
  bounded.engine().set_memory_beside(o.memory / 2);
  for (int t = 0; t < 50; ++t) bounded.line(at(t));
  EXPECT_LE(bounded.engine().memory(), o.memory);

  // Where they cannot go, there can be no more.
  std::size_t refused = 0;
  for (int t = 0; t < 50; ++t) {
    const auto said = homeless.line(at(t));
    if (said->status != Status::refused) continue;
    ++refused;
    EXPECT_NE(said->reason.find("--memory"), std::string::npos);
  }
  EXPECT_GT(refused, 25U);
}

// Samples that wait for their targets count, too: their models leave earlier.
TEST(Engine, WhatWaitsIsCounted) {
  EngineOptions o = options(Naive{});
  o.fields.key = "k";
  MemoryStore store;
  Stream stream(o, &store);
  const auto wait = [&](int t) {
    stream.line("{\"id\":\"a long name for a sample " + std::to_string(t) +
                "\",\"a\":1,\"k\":\"x\"}");
  };
  wait(0);
  const std::uint64_t before = stream.engine().memory();
  for (int t = 1; t <= 1001; ++t) wait(t);  // the last one is counted with the next line
  const double each = static_cast<double>(stream.engine().memory() - before) / 1000;
  EXPECT_GT(each, 200);
  EXPECT_LT(each, 1000);
  EXPECT_EQ(stream.engine().models()->pending(), 1000U);
}

TEST(Engine, WithoutAStoreThereIsAnEndOfModels) {
  EngineOptions o = options();
  o.fields.key = "k";
  o.max_models = 2;
  Stream stream(o);
  for (const char* key : {"a", "b"})
    EXPECT_EQ(stream.line(sample(0, std::string(",\"k\":\"") + key + '"'))->status, Status::learnt);
  const auto third = stream.line(sample(0, ",\"k\":\"c\""));
  EXPECT_EQ(third->status, Status::refused);
  EXPECT_NE(third->reason.find("--max-models"), std::string::npos);
}

TEST(Engine, IntervalsThatAreNotWantedAnyMoreAreGone) {
  EngineOptions o = options();
  o.model.coverage = 0.9;
  MemoryStore store;
  Stream with(o, &store);
  for (int t = 0; t < 40; ++t) with.line(sample(t));
  with.commit();
  o.model.coverage = 0;
  Stream without(o, &store);
  without.resume();
  EXPECT_TRUE(without.line(sample(40))->bounds.empty());
}

// Asked for later it starts from nothing; the count goes on.
TEST(Engine, AnomaliesAreCounted) {
  EngineOptions o = options();
  o.model.surprise = true;
  o.model.alarm_rate = 0.01;
  MemoryStore store;
  Stream with(o, &store);
  for (int t = 0; t < 400; ++t) with.line(sample(t));
  const auto before = with.engine().counts().anomalies;
  with.line("{\"a\":0.1,\"target\":500}");
  EXPECT_EQ(with.engine().counts().anomalies, before + 1);
  with.commit();

  Stream again(o, &store);
  again.resume();
  EXPECT_EQ(again.engine().counts().anomalies, before + 1);
  EXPECT_FALSE(std::isnan(again.surprise(sample(401))[0]));

  o.model.surprise = false;
  o.model.alarm_rate = 0;
  Stream without(o, &store);
  without.resume();
  EXPECT_TRUE(without.surprise(sample(401)).empty());
  EXPECT_EQ(without.engine().counts().anomalies, before + 1);
  without.commit();

  o.model.surprise = true;
  Stream anew(o, &store);
  anew.resume();
  EXPECT_TRUE(std::isnan(anew.surprise(sample(402))[0]));
}

TEST(Engine, ChangedOptionsAreRefusedNamingBothSides) {
  MemoryStore store;
  Stream stream(options(), &store);
  stream.line(R"({"a":1,"b":2,"target":3})");
  stream.commit();
  const auto complaint = [&](const EngineOptions& o) -> std::string {
    Stream other(o, &store);
    try {
      other.resume();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint(options()), "");
  EngineOptions target = options();
  target.fields.targets = {"b"};
  EXPECT_NE(complaint(target).find("\"b\": what was learnt before has \"target\""),
            std::string::npos)
      << complaint(target);
  EngineOptions inputs = options();
  inputs.fields.inputs = {"b", "a"};  // another order is the same
  EXPECT_EQ(complaint(inputs), "");
  inputs.fields.inputs = {"a"};
  EXPECT_NE(complaint(inputs).find("--inputs"), std::string::npos);
  EngineOptions key = options();
  key.fields.key = "k";
  EXPECT_NE(complaint(key).find("--key"), std::string::npos);
  EngineOptions seed = options();
  seed.recipe = [](std::size_t n, std::size_t m) {
    return Recipe{{.network = {.inputs = n, .hidden = 3, .outputs = m, .window = 4, .seed = 7},
                   .rule = Rls{}}};
  };
  EXPECT_NE(complaint(seed).find("another"), std::string::npos);
}

// Whoever asks what comes next leaves no trace: with and without forecasts of the stream's own,
// while targets are waited for, and with inputs to come.
TEST(Engine, ForesightChangesNothing) {
  for (const std::size_t horizon : {0, 3})
    for (const Rule& rule : {Rule(Rls{}), Rule(Auto{})}) {
      EngineOptions o = options(rule);
      o.model.horizon = horizon;
      o.model.coverage = horizon > 0 ? 0.9 : 0;
      o.model.max_delay = 5;
      Stream asked(o);
      Stream alone(o);
      RecordReader reader;
      std::vector<Record> future(2);
      for (int t = 0; t < 40; ++t) {
        const bool late = t % 7 == 3;
        const std::string line = late ? "{\"id\":" + std::to_string(t) + ",\"a\":1.5}" : sample(t);
        EXPECT_EQ(*asked.line(line), *alone.line(line)) << t;
        reader.read(R"({"a":0.5})", future[0]);
        reader.read(R"({"b":-0.25,"a":2})", future[1]);
        const auto said = asked.engine().foresee("", 5, future);
        ASSERT_TRUE(said);
        EXPECT_EQ(said->value.size(), 5U);
        EXPECT_TRUE(said->interval.empty());
        EXPECT_EQ(asked.engine().foresee("", 2, {})->interval.size(), horizon > 0 ? 2U : 0U);
      }
      EXPECT_EQ(asked.engine().state_of(""), alone.engine().state_of(""));
      EXPECT_FALSE(asked.engine().foresee("other", 1, {}) && asked.engine().has_keys());
    }
}

TEST(Engine, TheFirstStepAheadIsTheNextPrediction) {
  EngineOptions o = options(Ekf{});
  o.recipe = [make = o.recipe](std::size_t inputs, std::size_t outputs) {
    Recipe recipe = make(inputs, outputs);
    recipe.scaled = false;  // moments of inputs stand still in forecasts
    return recipe;
  };
  Stream stream(o);
  RecordReader reader;
  std::vector<Record> future(1);
  stream.line(sample(0));
  for (int t = 1; t < 50; ++t) {
    reader.read(sample(t), future[0]);
    const auto foresight = stream.engine().foresee("", 1, future);
    ASSERT_TRUE(foresight);
    EXPECT_EQ(foresight->value, stream.line(sample(t))->prediction) << t;
  }
}

// What a model is can be taken out, put in elsewhere, and forgotten.
TEST(Engine, AModelCanMove) {
  EngineOptions of_devices = options();
  of_devices.fields.key = "device";
  Stream here(of_devices);
  for (int t = 0; t < 20; ++t) here.line(sample(t, ",\"device\":\"a\""));
  EXPECT_FALSE(here.engine().state_of("b"));
  const auto state = here.engine().state_of("a");
  ASSERT_TRUE(state);

  of_devices.schema = here.engine().schema();
  Stream there(of_devices);
  EXPECT_TRUE(there.engine().settled());
  there.engine().put_state("b", *state);
  for (int t = 20; t < 30; ++t)
    EXPECT_EQ(here.line(sample(t, ",\"device\":\"a\""))->prediction,
              there.line(sample(t, ",\"device\":\"b\""))->prediction);
  EXPECT_TRUE(there.engine().forget("b"));
  EXPECT_FALSE(there.engine().forget("b"));
  EXPECT_EQ(there.line(sample(30, ",\"device\":\"b\""))->sample, 1U);

  const Bytes nonsense(100);
  EXPECT_THROW(here.engine().put_state("a", nonsense), SnapshotError);
  EXPECT_EQ(here.line(sample(30, ",\"device\":\"a\""))->sample, 31U);
}

// Also of forged bytes, behind checksums that are right: what is taken can be told, gone on with,
// and forgotten.
TEST(Engine, AModelThatIsTakenCanBeKept) {
  for (const Rule& rule : {Rule(Rls{}), Rule(Ekf{}), Rule(Auto{.experts = 2}), Rule(Adam{})}) {
    EngineOptions o = options(rule);
    o.model.coverage = 0.9;
    o.model.surprise = true;
    o.model.horizon = 1;
    Stream stream(o);
    for (int t = 0; t < 30; ++t) stream.line(sample(t));
    const Bytes checkpoint = stream.engine().state_of("").value();
    const Bytes snapshot = save(*learnt_of(checkpoint).learner);
    for (const Bytes& state : {checkpoint, snapshot})
      for (std::size_t at = 0; at + 8 <= state.size(); at += 1 + state.size() / 150)
        for (const int bits : {0x01, 0x80, 0xff, 0x1ff}) {
          Bytes forged = state;
          for (std::size_t k = 0; k < (bits > 0xff ? 8 : 1); ++k)
            forged[at + k] ^= static_cast<std::byte>(bits);
          seal(forged);
          try {
            stream.engine().put_state("", forged);
          } catch (const SnapshotError&) {
            continue;
          }
          SCOPED_TRACE(std::to_string(at) + ' ' + std::to_string(bits));
          const auto kept = stream.engine().state_of("");
          ASSERT_TRUE(kept);
          ASSERT_NO_THROW(stream.engine().put_state("", *kept));
          EXPECT_NO_THROW(stream.line(sample(7)));
          EXPECT_TRUE(stream.engine().forget(""));
        }
  }
}

TEST(Engine, AModelOfAnotherLearnerIsRefused) {
  const auto state_of = [](const Rule& rule) {
    Stream stream(options(rule));
    for (int t = 0; t < 20; ++t) stream.line(sample(t));
    return stream.engine().state_of("").value();
  };
  Stream stream(options(Rls{}));
  for (int t = 0; t < 20; ++t) stream.line(sample(t));
  const auto before = stream.engine().state_of("");
  const auto refused = [&](const Bytes& state, const std::string& key, const char* why) {
    try {
      stream.engine().put_state(key, state);
      ADD_FAILURE() << why;
    } catch (const SnapshotError& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
    EXPECT_EQ(stream.engine().state_of(""), before);
    EXPECT_FALSE(stream.engine().state_of(key == "" ? "k" : key));
  };
  refused(state_of(Ekf{}), "", "there: ekf");
  refused(state_of(Rls{.process_noise = 0.01}), "", "process_noise=0.01");
  refused(*before, "k", "has no keys");
  EXPECT_NO_THROW(stream.engine().put_state("", state_of(Rls{})));
}

TEST(Engine, ColumnsMayComeInAnotherOrder) {
  MemoryStore store;
  Stream stream(options(), &store);
  stream.line("a,b,y");
  for (int t = 0; t < 30; ++t)
    stream.line(std::to_string(x(t)) + "," + std::to_string(t % 3) + "," + std::to_string(y(t)));
  stream.commit();
  Stream same(options(), &store);
  Stream swapped(options(), &store);
  same.resume();
  swapped.resume();
  same.line("a,b,y");
  swapped.line("y,b,a");
  EXPECT_EQ(same.line("0.25,1,21")->prediction, swapped.line("21,1,0.25")->prediction);

  Stream renamed(options(), &store);
  renamed.resume();
  renamed.line("a,c,y");
  EXPECT_THROW(renamed.line("0.25,1,21"), SchemaError);
}

TEST(Engine, BeginsWithWhatAnotherHasLearnt) {
  Stream first(options());
  for (int t = 0; t < 100; ++t) first.line(sample(t, ",\"extra\":1"));
  EngineOptions o = options();
  o.start = std::make_shared<CalibratedLearner>(first.engine().models()->only()->learner().clone());
  o.start_schema = first.engine().schema();
  Stream next(o);
  const auto said = next.line(R"({"new":3,"extra":1,"target":20,"a":0})");
  EXPECT_EQ(said->prediction, first.line(R"({"a":0,"extra":1,"target":20})")->prediction);
  Stream lacking(o);
  EXPECT_EQ(lacking.line(R"({"b":3,"extra":1,"target":20})")->status, Status::refused);
  EXPECT_NE(lacking.line(R"({"b":3,"extra":1,"target":20})")->reason.find("\"a\""),
            std::string::npos);
}

// The width of a stream in a checkpoint is only a number: nothing is made of it. (A filter for
// 40,000 inputs would take more memory than there is.)
TEST(Engine, AForgedWidthAsksForNoMemory) {
  const auto forged = [](const Schema& schema) {
    Bytes bytes;
    Archive to(bytes);
    Counts counts;
    counts.exchange(to);
    bool settled = true;
    to.flag(settled);
    Schema copy = schema;
    copy.exchange(to);
    std::string learner = "ekf";
    to.text(learner);
    return bytes;
  };
  Schema wide;
  for (int k = 0; k < 2500; ++k)
    wide.fields.push_back({.name = std::to_string(k), .role = Role::input, .slots = 16});
  wide.fields.push_back({.name = "y", .role = Role::target});
  ASSERT_EQ(wide.inputs(), 40'000U);
  Engine engine(options(Ekf{}), nullptr);
  const Bytes bytes = forged(wide);
  Archive from(bytes);
  EXPECT_THROW(engine.exchange(from), SnapshotError);
  // Nor are there more values of a category than are ever kept.
  wide.fields[0].slots = Schema::category_slots + 1;
  EXPECT_THROW(forged(wide), SnapshotError);
}

TEST(Engine, AModelIsAsWideAsItsStream) {
  Engine engine(options(), nullptr);
  Record record;
  RecordReader reader({}, {});
  ASSERT_TRUE(reader.read(R"({"a":1,"target":2})", record));
  ASSERT_NE(engine.take({.record = record}), nullptr);
  const auto wider = options().recipe(2, 1);
  EXPECT_THROW(
      engine.set_only_model(std::make_unique<StreamModel>(make_from(wider), ModelOptions{})),
      SnapshotError);
}

TEST(Engine, ManySamplesMayWait) {
  EngineOptions o = options(Naive{});
  o.model.max_delay = 200'000;
  Stream stream(o);
  const int n = 100'000;
  for (int t = 0; t < n; ++t) stream.line("{\"id\":" + std::to_string(t) + ",\"a\":1}");
  for (int t = n - 1; t >= 0; --t)  // the worst order for whoever looks from one end
    EXPECT_EQ(stream.line("{\"id\":" + std::to_string(t) + ",\"target\":1}")->status,
              Status::labelled);
  EXPECT_EQ(stream.engine().counts().learnt, static_cast<std::uint64_t>(n));
}

}  // namespace
}  // namespace kalstream

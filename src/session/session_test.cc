#include "session/session.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/rng.h"
#include "core/workers.h"
#include "lines/record_reader.h"
#include "stores/memory_store_test_support.h"

namespace kalstream {
namespace {

/// Writes down every event.
struct Journal final : StreamListener {
  void began(const Engine& engine) override {
    all.push_back(fmt::format("began {}", engine.schema().inputs()));
  }
  void took(std::span<const double> x) override { all.push_back(fmt::format("took {}", x[0])); }
  void scored(std::uint64_t sample, std::span<const double> d_hat,
              std::span<const Interval> interval, std::span<const double> d) override {
    all.push_back(fmt::format("scored {} {} {} {}", sample, d_hat[0], d[0],
                              interval.empty() ? 0 : interval[0].low));
  }
  void stepped(std::uint64_t sample, const StepReport& report) override {
    all.push_back(fmt::format("stepped {} {}", sample, to_string(report.status)));
  }
  void answered(const Answer& answer, std::string_view text) override {
    all.push_back(fmt::format("answered {} {} {} {}", std::string(answer.key), answer.line,
                              answer.has_model, std::string(text)));
  }
  void remarked(const std::string& text) override { all.push_back("remarked " + text); }
  bool store_failed(const StoreError&, int times) override {
    all.push_back(fmt::format("store failed {}", times));
    return times < patience;
  }

  std::vector<std::string> all;
  int patience = 0;
};

EngineOptions options(std::size_t horizon = 0) {
  EngineOptions o;
  o.fields.key = "k";
  o.fields.inputs = {"a", "b"};
  o.recipe = [](std::size_t inputs, std::size_t outputs) {
    return Recipe{{.network = {.inputs = inputs, .outputs = outputs}, .rule = Rls{}}, true};
  };
  o.model.coverage = 0.9;
  o.model.horizon = horizon;
  o.model.max_delay = 3;
  return o;
}

std::vector<Arrival> arrivals(int count) {
  Rng rng(4);
  std::vector<Arrival> all(static_cast<std::size_t>(count));
  RecordReader reader({.format = Format::json});
  for (int t = 0; t < count; ++t) {
    const auto key = rng.below(5);
    const auto what = rng.below(12);
    std::string line =
        fmt::format(R"({{"k":"{}","id":{},"a":{},"b":{})", key, t, rng.normal(), t % 7);
    line += what < 8 ? fmt::format(R"(,"target":{}}})", rng.normal()) : "}";
    if (what == 8) line = "";
    if (what == 9) line = "no json";
    if (what == 10) line = fmt::format(R"({{"k":"{}","a":"text","b":1}})", key);
    if (what == 11) line = fmt::format(R"({{"k":"{}","id":{},"target":1}})", key, t - 1);
    Arrival& arrival = all[static_cast<std::size_t>(t)];
    arrival.line = static_cast<std::uint64_t>(t + 1);
    reader.read(line, arrival);
  }
  return all;
}

std::vector<std::string> journal_of(std::size_t horizon, std::size_t batch, Workers* workers) {
  MemoryStore store;
  Journal journal;
  Engine engine(options(horizon), &store, {&journal});
  RecordPosition position{"here"};
  Session session(engine, position, Session::Header::session);
  const std::vector<Arrival> all = arrivals(600);
  for (std::size_t k = 0; k < all.size(); k += batch)
    session.take(std::span(all).subspan(k, std::min(batch, all.size() - k)), AnswerFormat::csv,
                 workers);
  session.learn();
  return journal.all;
}

TEST(Session, TellsTheSameInTheSameOrderOneByOneAndInBatches) {
  Workers workers(3);
  for (const std::size_t horizon : {0, 2}) {
    const auto one = journal_of(horizon, 1, nullptr);
    ASSERT_GT(one.size(), 1500U);
    EXPECT_EQ(journal_of(horizon, 600, nullptr), one);
    for (const std::size_t batch : {1, 7, 600})
      EXPECT_EQ(journal_of(horizon, batch, &workers), one);
  }
}

// A single record is answered before it is learnt from, and refusals say where they stood.
TEST(Session, AnswersBeforeItLearns) {
  Journal journal;
  EngineOptions o = options();
  Engine engine(o, nullptr, {&journal});
  RecordPosition position{"here"};
  Session session(engine, position, Session::Header::door);
  RecordReader reader;
  Arrival arrival;
  for (const char* line : {R"({"k":"u","a":1,"b":2,"target":3})", R"({"k":"u","a":1,"b":"x"})"}) {
    ++arrival.line;
    reader.read(line, arrival);
    session.take({&arrival, 1}, AnswerFormat::json);
    EXPECT_TRUE(journal.all.back().starts_with("answered u")) << journal.all.back();
    session.learn();
  }
  EXPECT_EQ(
      journal.all.back(),
      "answered u 2 false {\"line\":2,\"status\":\"refused\",\"error\":\"here:2: 'x' in "
      "\\\"b\\\" is not a number; write one, or nothing (in JSON null) if it is missing\"}\n");
}

/// Cannot give any model.
class BrokenStore final : public StateStore {
 public:
  std::optional<Bytes> stream() override { return {}; }
  std::optional<Bytes> get(const std::string&) override { throw StoreError("not now"); }
  bool holds(const std::string&) override { return true; }
  std::size_t models() const override { return 1; }
  void put(std::vector<KeyedState>) override {}
  bool takes_models() const override { return true; }
  std::uint64_t begin_commit() override { return 0; }
  void commit(std::uint64_t, Bytes, const NextState&) override {}
};

TEST(Session, WaitsForAStoreAsLongAsItsListenersWantTo) {
  BrokenStore store;
  Journal journal;
  journal.patience = 3;
  Engine engine(options(), &store, {&journal});
  RecordPosition position{"here"};
  Session session(engine, position, Session::Header::door);
  const std::vector<Arrival> all = arrivals(1);
  EXPECT_THROW(session.take(all, AnswerFormat::none), StoreError);
  EXPECT_EQ(journal.all,
            (std::vector<std::string>{"store failed 1", "store failed 2", "store failed 3"}));
}

// A record that was read before is taken as if it were read now.
TEST(Session, TakesSamplesAsRecords) {
  const std::vector<Arrival> all = arrivals(200);
  Journal of_records;
  EngineOptions o = options();
  Engine first(o, nullptr, {&of_records});
  RecordPosition position{"here"};
  Session(first, position, Session::Header::door).take(all, AnswerFormat::json);

  o.schema = first.schema();
  SampleReader reader(o.schema);
  std::vector<Sample> samples(all.size());
  std::vector<Arrival> read = all;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (!all[k].is_problem && !all[k].is_silent() && reader.read(all[k].record, samples[k])) {
      read[k].record.clear();
      read[k].sample = &samples[k];
    }
  Journal of_samples;
  Engine second(o, nullptr, {&of_samples});
  Session(second, position, Session::Header::door).take(read, AnswerFormat::json);
  std::erase_if(of_records.all,
                [](const std::string& event) { return event.starts_with("remarked"); });
  std::ranges::sort(of_records.all);  // the fields are known at once
  std::ranges::sort(of_samples.all);
  EXPECT_EQ(of_samples.all, of_records.all);
}

}  // namespace
}  // namespace kalstream

// Threads share the models of a stream, and nobody can tell: random streams with everything that
// can happen to one, by one thread and by several.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "core/rng.h"
#include "settings/stream_settings.h"
#include "stream/driver.h"
#include "stream/line_output.h"
#include "stream/line_records.h"
#include "support.h"
#include "temporary_folder.h"

namespace kalstream {
namespace {

/// A store of which every commit can be had again.
class Commits final : public StateStore {
 public:
  using Held = std::map<std::string, Bytes>;  // the stream's is that of no key

  Commits() = default;
  explicit Commits(Held held) : committed_(std::move(held)) {}

  std::optional<Bytes> stream() override { return get(""); }
  std::optional<Bytes> get(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    for (const Held* held : {&put_, &sealed_, &committed_})
      if (const auto found = held->find(key); found != held->end()) return found->second;
    return {};
  }
  bool holds(const std::string& key) override { return get(key).has_value(); }
  std::size_t models() const override { return 0; }
  void put(std::vector<KeyedState> models) override {
    const std::lock_guard lock(mutex_);
    for (KeyedState& m : models) put_[m.key] = std::move(m.state);
  }
  bool takes_models() const override { return true; }
  std::uint64_t begin_commit() override {
    const std::lock_guard lock(mutex_);
    for (auto& [key, state] : put_) sealed_[key] = std::move(state);
    put_.clear();
    return 0;
  }
  using StateStore::commit;
  void commit(std::uint64_t, Bytes stream, const NextState& next) override {
    Held given{{"", std::move(stream)}};
    while (auto model = next()) given[model->key] = std::move(model->state);
    const std::lock_guard lock(mutex_);
    for (Held* held : {&sealed_, &given})
      for (auto& [key, state] : *held) committed_[key] = std::move(state);
    sealed_.clear();
    history_.push_back(committed_);
  }
  const std::vector<Held>& history() const { return history_; }

 private:
  std::mutex mutex_;
  Held committed_;
  Held put_;
  Held sealed_;  // put before the commit that has begun
  std::vector<Held> history_;
};

struct Case {
  const char* options;  // as a served stream has them
  bool csv = false;
  std::size_t max_models = 1000;
  bool with_store = true;
};

/// Lines of many keys, some of which come far more often than others.
class RandomLines {
 public:
  RandomLines(const Case& c, std::uint64_t seed) : csv_(c.csv), rng_(seed) {}

  std::string text(int count) {
    std::string all = csv_ ? "k,id,time,kind,a,b,target\n" : "";
    for (int t = 0; t < count; ++t) all += (csv_ ? row(t) : object(t)) + '\n';
    return all;
  }

 private:
  std::uint64_t next(std::uint64_t below) { return rng_.next() % below; }
  std::string key() { return "key " + std::to_string(next(2) == 0 ? next(3) : next(30)); }
  std::string number() { return std::to_string(static_cast<double>(next(2000)) / 500 - 2); }
  std::string kind() { return next(3) == 0 ? "warm" : "cold " + std::to_string(next(40)); }

  std::string object(int t) {
    const auto what = next(24);
    if (what == 0) return "no json";
    if (what == 1) return "";
    if (what == 2) return "{\"a\":1,\"b\":2,\"target\":1}";
    if (what == 3) return "{\"k\":\"" + key() + "\",\"a\":\"text\",\"b\":2}";
    if (what == 4) return "{\"k\":\"" + key() + "\",\"a\":1e200,\"b\":2,\"target\":1}";
    if (what < 9 && !waiting_.empty()) {  // the target of a sample that waits, or waits no more
      const std::size_t back = 1 + next(std::min<std::uint64_t>(20, waiting_.size()));
      return waiting_[waiting_.size() - back] + ",\"target\":" + number() + "}";
    }
    std::string line = "{\"k\":\"" + key() + "\",\"id\":" + std::to_string(t);
    if (what >= 18) waiting_.push_back(line);
    if (next(10) > 0) line += ",\"time\":" + std::to_string(60 * (t - (next(9) == 0 ? 40 : 0)));
    line += ",\"kind\":\"" + kind() + "\"";
    if (next(12) > 0) line += ",\"a\":" + number();
    line += ",\"b\":" + number();
    if (what < 18) line += ",\"target\":" + number();
    return line + "}";
  }

  std::string row(int t) {
    const auto what = next(40);
    if (what == 0) return "too,few";
    if (what == 1) {  // the log was rotated, and its columns are in another order
      turned_ = !turned_;
      return turned_ ? "target,b,a,kind,time,id,k" : "k,id,time,kind,a,b,target";
    }
    std::vector<std::string> cells{key(),
                                   std::to_string(t),
                                   std::to_string(60 * t),
                                   kind(),
                                   next(12) > 0 ? number() : "",
                                   number(),
                                   what < 30 ? number() : ""};
    if (turned_) std::ranges::reverse(cells);
    std::string line;
    for (const std::string& cell : cells) line += (line.empty() ? "" : ",") + cell;
    return line;
  }

  bool csv_;
  bool turned_ = false;
  std::vector<std::string> waiting_;
  Rng rng_;
};

/// All that can be seen of a stream.
struct Seen {
  std::string answers;
  std::vector<Commits::Held> commits;
  std::map<std::string, std::uint64_t> counts;
  std::vector<std::string> said;
};

std::string content(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class Streams {
 public:
  Streams(const Case& c, const std::string& text) : case_(c), path_(folder_.path / "lines") {
    std::ofstream(path_) << text;
  }

  Seen run(std::size_t jobs, const Commits::Held* from = nullptr) {
    Seen seen;
    DriverOptions o;
    o.engine = engine_options(settings_from_json(case_.options), [](const std::string&) {});
    o.engine.max_models = case_.max_models;
    o.cadence.samples = 83;
    o.jobs = jobs;
    o.monitor.say = [&](const std::string& text) { seen.said.push_back(text); };
    Commits store = from != nullptr ? Commits(*from) : Commits();
    const int in = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    const std::string out_path = folder_.path / ("answers" + std::to_string(++runs_));
    const int out = ::open(out_path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    {
      Signals signals;
      LineRecords source({.in = in}, signals.descriptor());
      Driver driver(o, source, case_.with_store ? &store : nullptr, signals);
      if (from != nullptr) driver.resume();
      LineOutput output(out, signals);
      driver.run(output);
      const StreamStatus status = driver.status();
      seen.counts = {{"lines", status.lines_read},
                     {"refused", status.counts.refused},
                     {"late", status.counts.late},
                     {"anomalies", status.counts.anomalies},
                     {"gated", status.counts.gated}};
      for (std::size_t kind = 0; kind < status.warnings.size(); ++kind)
        seen.counts["warned " + std::to_string(kind)] = status.warnings[kind];
    }
    ::close(in);
    ::close(out);
    seen.answers = content(out_path);
    seen.commits = store.history();
    std::erase_if(seen.said, [](const std::string& text) { return text.starts_with("going on"); });
    return seen;
  }

 private:
  Case case_;
  test::TemporaryFolder folder_;
  std::filesystem::path path_;
  int runs_ = 0;
};

class StreamJobsThreads : public testing::TestWithParam<Case> {};

TEST_P(StreamJobsThreads, AreNotToBeTold) {
  constexpr int lines = 700;
  for (std::uint64_t seed = 1; seed <= 2 / test::one_in(2); ++seed) {
    Streams streams(GetParam(), RandomLines(GetParam(), seed).text(lines));
    const Seen one = streams.run(1);
    ASSERT_GT(one.answers.size(), 10'000U);
    for (const std::size_t jobs : {2, 3, 8}) {
      SCOPED_TRACE(std::to_string(jobs) + " jobs");
      const Seen many = streams.run(jobs);
      EXPECT_EQ(many.answers, one.answers);
      EXPECT_EQ(many.counts, one.counts);
      EXPECT_EQ(many.said, one.said);
      if (!GetParam().with_store) continue;
      // Which of those in the middle were made depends on how fast the store is.
      EXPECT_EQ(many.commits.back(), one.commits.back());
      // Killed after one of them, it goes on by any number of threads.
      const Commits::Held& killed = many.commits[many.commits.size() / 2];
      for (const std::size_t after : {std::size_t{1}, jobs}) {
        const Seen rest = streams.run(after, &killed);
        EXPECT_TRUE(one.answers.ends_with(rest.answers)) << after << " jobs after it was killed";
        EXPECT_EQ(rest.commits.back(), one.commits.back());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, StreamJobsThreads,
    testing::Values(
        Case{R"({"key":"k","inputs":"a,b","learner":"alg1","hidden":2,"window":3})"},
        Case{R"({"key":"k","inputs":"a,b,kind","category":"kind","learner":"rls","interval":0.9,
                 "alarm_rate":0.05,"missing":"hold","max_delay":5})",
             false, 7},
        Case{R"({"key":"k","inputs":"a,b","learner":"rls","horizon":2,"interval":0.8,
                 "time":"time"})",
             false, 1},
        Case{R"({"key":"k","inputs":"a,b","learner":"rls","time":"time"})", true, 20},
        Case{R"({"key":"k","inputs":"a,b","learner":"rls"})", false, 12, false}),
    [](const auto& test) { return "case" + std::to_string(test.index); });

}  // namespace
}  // namespace kalstream

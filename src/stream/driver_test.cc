// A stream from its source to its sink, with sources, sinks and stores made up for it.
#include "stream/driver.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/checkpoint.h"
#include "lines/record_reader.h"
#include "monitor/metrics_server.h"
#include "stores/memory_store_test_support.h"
#include "system/system.h"

namespace kalstream {
namespace {

/// Lines that are all there already.
class Lines final : public Source {
 public:
  explicit Lines(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  Event next(std::vector<Arrival>& arrivals, std::size_t, std::chrono::milliseconds,
             Workers*) override {
    if (line_ == lines_.size()) return Event::end;
    arrivals.resize(1);
    reader_.read(lines_[line_++], arrivals[0]);
    arrivals[0].line = line_;
    return Event::records;
  }
  std::uint64_t line() const override { return line_; }
  const std::string& name() const override { return name_; }
  bool is_json() const override { return true; }
  void exchange(Archive& archive) override { archive.count(line_); }
  std::string go_on() override { return ""; }
  bool can_go_back() const override { return true; }

 private:
  std::vector<std::string> lines_;
  std::size_t line_ = 0;
  RecordReader reader_;
  std::string name_ = "lines";
};

/// Takes answers, and does something before each is gone.
struct Listener final : LineOutput {
  explicit Listener(const Signals& signals) : LineOutput(-1, signals) {}
  void write(std::string_view lines) override {
    predictions.push_back(nlohmann::json::parse(lines)["prediction"]);
  }
  bool flush(const std::function<void()>& meanwhile) override {
    before_it_is_gone(meanwhile);
    return true;
  }

  std::vector<double> predictions;
  std::function<void(const std::function<void()>&)> before_it_is_gone = [](const auto&) {};
};

DriverOptions options() {
  DriverOptions o;
  o.engine.recipe = [](std::size_t inputs, std::size_t outputs) {
    return Recipe{{.network = {.inputs = inputs, .outputs = outputs}, .rule = Rls{}}, true};
  };
  return o;
}

std::vector<std::string> lines(int n, int keys = 0) {
  std::vector<std::string> all;
  for (int t = 0; t < n; ++t) {
    const std::string key =
        keys > 0 ? ",\"k\":\"" + std::to_string(t * t % 11 % keys) + '"' : std::string();
    all.push_back("{\"a\":" + std::to_string(t % 7) + key + ",\"target\":" + std::to_string(t % 5) +
                  "}");
  }
  return all;
}

// Metrics tell of the line that is being answered although nobody takes the answer.
TEST(Driver, MetricsStayLiveWhileNobodyReads) {
  DriverOptions o = options();
  o.monitor.metrics_port = 0;
  Lines source(lines(5));
  Signals signals;
  Driver driver(o, source, nullptr, signals);
  Listener sink(signals);
  sink.before_it_is_gone = [&](const auto& meanwhile) {
    meanwhile();
    const StreamStatus told = status_of(parse_prometheus(fetch_metrics(driver.metrics_port())));
    EXPECT_EQ(told.counts.samples, sink.predictions.size());
    EXPECT_EQ(told.lines_read, sink.predictions.size());
  };
  driver.run(sink);
  EXPECT_EQ(sink.predictions.size(), 5U);
}

/// Remembers what each commit held; lets one be under way for as long as is wished.
class Journal final : public StateStore {
 public:
  std::optional<Bytes> stream() override { return memory_.stream(); }
  std::optional<Bytes> get(const std::string& key) override { return memory_.get(key); }
  bool holds(const std::string& key) override { return memory_.holds(key); }
  std::size_t models() const override { return memory_.models(); }
  void put(std::vector<KeyedState> models) override { memory_.put(std::move(models)); }
  bool takes_models() const override { return true; }
  std::uint64_t begin_commit() override { return memory_.begin_commit(); }
  using StateStore::commit;
  void commit(std::uint64_t ticket, Bytes stream, const NextState& next) override {
    if (++commits_ == 1) throw std::runtime_error("a bad day");
    memory_.commit(ticket, stream, next);
    const std::lock_guard lock(mutex_);
    std::map<std::string, Bytes> models;
    for (int k = 0; k < 11; ++k)
      if (auto state = memory_.get(std::to_string(k))) models[std::to_string(k)] = *state;
    history_.push_back({std::move(stream), std::move(models)});
  }

  struct Held {
    Bytes stream;
    std::map<std::string, Bytes> models;
  };
  const std::vector<Held>& history() const { return history_; }

 private:
  MemoryStore memory_;
  int commits_ = 0;
  std::mutex mutex_;
  std::vector<Held> history_;
};

// Whenever the thread that commits gets to it: to go on from a commit is never to have stopped.
TEST(Driver, AnyCommitCanBeGoneOnFrom) {
  DriverOptions o = options();
  o.engine.fields.key = "k";
  o.cadence.samples = 20;
  const auto all = lines(400, 9);
  Lines unbroken_source(all);
  Signals signals;
  Listener unbroken(signals);
  Driver(o, unbroken_source, nullptr, signals).run(unbroken);

  Journal store;
  Lines source(all);
  Listener heard(signals);
  Driver(o, source, &store, signals).run(heard);
  EXPECT_EQ(heard.predictions, unbroken.predictions);
  ASSERT_FALSE(store.history().empty());
  for (const auto& [stream, models] : store.history()) {
    MemoryStore left;
    std::vector<KeyedState> states;
    for (const auto& [key, state] : models) states.push_back({key, state});
    left.commit(left.begin_commit(), stream, states);
    Lines again(all);
    Listener rest(signals);
    DriverOptions later = o;
    later.cadence.samples = 1000;
    Driver driver(later, again, &left, signals);
    driver.resume();
    const auto from = static_cast<std::ptrdiff_t>(again.line());
    driver.run(rest);
    EXPECT_EQ(rest.predictions,
              std::vector(unbroken.predictions.begin() + from, unbroken.predictions.end()));
  }
}

// A pipe that is full: something else can be done until there is room, and the answer comes whole.
TEST(LineOutput, DoesOtherThingsWhileNobodyReads) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const std::string fill(4096, '-');
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  std::size_t filled = 0;
  for (ssize_t n = 0; (n = ::write(ends[1], fill.data(), fill.size())) > 0;)
    filled += static_cast<std::size_t>(n);
  ::fcntl(ends[1], F_SETFL, 0);

  Signals signals;
  LineOutput output(ends[1], signals);
  const std::string line = std::string(10'000, 'r') + '\n';
  output.write(line);
  std::string read;
  int times = 0;
  const bool gone = output.flush([&] {
    if (++times == 1) return;
    std::array<char, 65536> some;
    const ssize_t n = ::read(ends[0], some.data(), some.size());
    ASSERT_GT(n, 0);
    read.append(some.data(), static_cast<std::size_t>(n));
  });
  EXPECT_TRUE(gone);
  EXPECT_GE(times, 2);
  ::close(ends[1]);
  std::array<char, 65536> some;
  for (ssize_t n = 0; (n = ::read(ends[0], some.data(), some.size())) > 0;)
    read.append(some.data(), static_cast<std::size_t>(n));
  ::close(ends[0]);
  EXPECT_EQ(read.substr(0, filled), std::string(filled, '-'));
  EXPECT_NE(read.find(line), std::string::npos);
  EXPECT_EQ(read.back(), '\n');
}

}  // namespace
}  // namespace kalstream

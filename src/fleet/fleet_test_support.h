// A small fleet on a log in memory, and what one engine makes of the same inputs.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/envelope.h"
#include "core/rng.h"
#include "fleet/memory_log_test_support.h"
#include "fleet/worker.h"
#include "schema/dataset.h"
#include "schema/rules.h"
#include "settings/stream_settings.h"
#include "stores/memory_store_test_support.h"
#include "temporary_folder.h"

namespace kalstream::fleet {

using TestFolder = test::TemporaryFolder;

inline WorkerOptions test_options(const TestFolder& folder, const std::string& instance) {
  StreamSettings settings;
  settings.fields.key = "device";
  settings.learner = "alg1";
  settings.hidden = 2;
  settings.window = 3;
  settings.interval = Coverages({0.9});
  settings.max_delay = 4;
  settings.strangeness = true;
  settings.alarm_above = 1.8;
  WorkerOptions options;
  options.shard.engine = engine_options(settings, [](const std::string&) {});
  options.shard.input = "readings";
  Record record;
  RecordReader({.format = Format::json}).read(R"({"device":"a","id":1,"x":0.5,"w":0.25})", record);
  options.shard.engine.schema = settle(record, options.shard.engine.fields);
  options.instance = instance;
  options.transaction = Milliseconds(0);
  options.snapshot_every = 16;
  options.spill = folder.path;
  options.has_thread = false;
  return options;
}

/// All kinds of inputs: samples with and without targets, labels in time, late, twice and for
/// unknown keys, verdicts on alarms, records that cannot be used, keys to be forgotten.
class TestInputs {
 public:
  TestInputs(int partitions, std::uint64_t seed) : partitions_(partitions), rng_(seed) {}

  void add(MemoryBroker& broker, int count) {
    for (int k = 0; k < count; ++k) {
      const auto key = "k" + std::to_string(next(3 * partitions_));
      const int p = std::stoi(key.substr(1)) % partitions_;
      const int kind = next(20);
      if (kind == 0) {
        put(broker, p, key, "{\"device\":\"" + key + "\",\"x\":\"oops\"}");
      } else if (kind == 1) {
        put(broker, p, key, "no json");
      } else if (kind == 2) {
        put(broker, p, std::nullopt, "{\"device\":\"" + key + "\",\"x\":1,\"w\":2}");
      } else if (kind == 3 && next(3) == 0) {
        put(broker, p, key, std::nullopt);
      } else if (kind == 4 && next(3) == 0) {
        put(broker, p, key, "{\"device\":\"" + key + "\",\"alarm\":\"false\"}");
      } else if (kind < 8) {  // a label: of one that waits, or of none
        put(broker, p, key,
            "{\"device\":\"" + key + "\",\"id\":" + std::to_string(ids_ - next(9)) +
                ",\"target\":" + std::to_string(next(1000) / 500.0) + "}");
      } else {
        const bool with_target = kind < 14;
        put(broker, p, key,
            "{\"device\":\"" + key + "\",\"id\":" + std::to_string(++ids_) +
                ",\"x\":" + std::to_string(next(1000) / 500.0 - 1) +
                ",\"w\":" + std::to_string(next(1000) / 500.0 - 1) +
                (with_target ? ",\"target\":" + std::to_string(next(1000) / 500.0) : "") + "}");
      }
    }
  }

  struct Item {
    int partition = 0;
    Offset offset = 0;
    std::optional<std::string> key;
    std::optional<std::string> value;
  };
  const std::vector<Item>& items() const { return items_; }
  int partitions() const { return partitions_; }

 private:
  int next(int below) { return static_cast<int>(rng_.next() % static_cast<std::uint64_t>(below)); }
  void put(MemoryBroker& broker, int p, std::optional<std::string> key,
           std::optional<std::string> value) {
    const Offset offset = broker.add_input(p, key, value);
    items_.push_back({p, offset, std::move(key), std::move(value)});
  }

  int partitions_;
  Rng rng_;
  int ids_ = 10;
  std::vector<Item> items_;
};

/// One engine that is never stopped, over all inputs.
class Unbroken {
 public:
  Unbroken(const WorkerOptions& options, const TestInputs& inputs)
      : partitions_(inputs.partitions()), engine_(options.shard.engine, &store_) {
    const AnswerWriter writer({.json = true, .keys = true, .intervals = true});
    RecordReader reader({.format = Format::json});
    Record record;
    for (const auto& item : inputs.items()) {
      std::string text;
      if (!item.value) {
        engine_.forget(*item.key);
        models_.erase(*item.key);
        text = "{\"key\":\"" + *item.key + "\",\"status\":\"forgotten\"}";
      } else if (!item.key) {
        text = "refused";
      } else {
        try {
          if (!item.value->starts_with('{')) throw DataError("");
          reader.read(*item.value, record);
          const Answer* answer = engine_.take({.record = record});
          if (answer->status == Answer::Status::refused) {
            text = "refused";
          } else {
            writer.write(*answer, text);
            text.pop_back();
          }
          if (engine_.knows(*item.key)) models_.insert(*item.key);
          engine_.learn();
        } catch (const DataError&) {
          text = "refused";
        }
      }
      answers_[{item.partition, item.offset}] = text;
    }
  }

  const std::map<std::pair<int, Offset>, std::string>& answers() const { return answers_; }
  const std::set<std::string>& models() const { return models_; }
  Bytes state_of(const std::string& key) { return *engine_.state_of(key); }
  int partitions() const { return partitions_; }

 private:
  int partitions_;
  MemoryStore store_;
  Engine engine_;
  std::map<std::pair<int, Offset>, std::string> answers_;
  std::set<std::string> models_;
};

/// What is wrong with the committed answers; empty: every input has one, equal to the bit, in
/// order.
inline std::string wrong_with_answers(const MemoryBroker& broker, const Unbroken& unbroken) {
  std::map<std::pair<int, Offset>, std::string> left = unbroken.answers();
  for (int p = 0; p < broker.partitions(); ++p) {
    Offset last = -1;
    for (const auto& [offset, stored] : broker.committed(Topic::answers, p)) {
      std::string place;
      for (const Header& h : stored->headers)
        if (h.name == input_header) place = h.value;
      const Offset input = std::stoll(place.substr(place.find(':') + 1));
      const auto expected = left.find({p, input});
      if (expected == left.end()) return "answered twice: " + place;
      if (input <= last) return "out of order: " + place;
      last = input;
      const bool refused = stored->value->find("\"status\":\"refused\"") != std::string::npos;
      if (expected->second != (refused ? "refused" : *stored->value))
        return place + " is answered " + *stored->value + ", not " + expected->second;
      left.erase(expected);
    }
  }
  return left.empty() ? "" : std::to_string(left.size()) + " are not answered";
}

inline bool all_committed(const MemoryBroker& broker, const TestInputs& inputs) {
  std::map<int, Offset> ends;
  for (const auto& item : inputs.items()) ends[item.partition] = item.offset + 1;
  for (const auto& [p, end] : ends) {
    const auto progress = broker.progress(p);
    if (!progress || progress->offset < end) return false;
  }
  return true;
}

/// A worker and its log, which can be killed.
struct TestWorker {
  TestWorker(MemoryBroker& broker, const WorkerOptions& options)
      : log(broker, options.instance), worker(options, log) {}
  MemoryLog log;
  Worker worker;
};

/// The models of all partitions, which `one` has, are those of the unbroken engine.
inline void expect_states(TestWorker& one, Unbroken& unbroken) {
  std::set<std::string> models;
  for (const std::string& key : unbroken.models()) {
    Shard* const shard = one.worker.live(std::stoi(key.substr(1)) % unbroken.partitions());
    ASSERT_NE(shard, nullptr);
    EXPECT_EQ(shard->state_of(key), unbroken.state_of(key)) << key;
  }
}

/// Workers come, go, hang for longer than their session and come back, partitions move, and
/// transactions fail, until all inputs are committed. Without threads each run of a seed is the
/// same, and ends after so many rounds; with threads after a minute.
inline void run_chaos(std::uint64_t seed, MemoryBroker& broker, TestInputs& inputs,
                      const WorkerOptions& options) {
  Rng rng(seed);
  const auto one_in = [&](int n) { return rng.next() % static_cast<std::uint64_t>(n) == 0; };
  Rng rng_of_steps(seed + 100);  // these may be another thread's
  std::map<std::string, std::unique_ptr<TestWorker>> workers;
  std::map<std::string, int> hangs;  // for so many rounds
  const std::vector<std::string> names{"a", "b", "c"};
  int fails = 0;
  broker.before_step = [&](const std::string& step) {
    const bool is_of_transaction = step.ends_with("flush") || step.ends_with("send_offsets") ||
                                   step.ends_with("produce") || step.ends_with("commit");
    if (is_of_transaction && rng_of_steps.below(60) == 0 && ++fails % 2 == 0)
      throw TransactionFailed("so it is");
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto is_over = [&](int round) {
    return options.has_thread ? std::chrono::steady_clock::now() > end : round == 20'000;
  };
  for (int rounds = 1; !is_over(rounds) && (rounds <= 400 || !all_committed(broker, inputs));
       ++rounds) {
    const bool quiet = rounds > 2'000;  // at last it must come to an end
    if (rounds % 20 == 0 && rounds < 400) inputs.add(broker, 20);
    for (const std::string& name : names) {
      auto& one = workers[name];
      if (!one && (quiet ? name == "a" : one_in(10))) {
        auto mine = options;
        mine.instance = name;
        one = std::make_unique<TestWorker>(broker, mine);
      }
      if (!one) continue;
      if (hangs[name] > 0) {  // its session and its transaction may time out meanwhile
        if (--hangs[name] == 5) broker.declare_dead(name);
        if (hangs[name] == 2 && one_in(2)) broker.time_out_transaction(name);
        continue;
      }
      if (!quiet && one_in(150)) {  // killed
        one.reset();
        if (one_in(2)) {
          broker.declare_dead(name);
          broker.time_out_transaction(name);
        }
        continue;
      }
      if (!quiet && one_in(150)) hangs[name] = 8;
      if (!quiet && one_in(100)) broker.rebalance();
      if (one_in(200)) broker.compact();
      try {
        if (!quiet && one_in(150)) {
          one->worker.finish();
          one.reset();
        } else {
          one->worker.step(Milliseconds(0));
        }
      } catch (const MembershipLost&) {
        one.reset();
      } catch (const Fenced&) {
        one.reset();
      }
    }
    // A member that was killed and does not come back times out.
    if (rounds % 50 == 0)
      for (const std::string& name : names)
        if (!workers[name]) {
          broker.declare_dead(name);
          broker.time_out_transaction(name);
        }
  }
  workers.clear();
  broker.before_step = [](const std::string&) {};
}

}  // namespace kalstream::fleet

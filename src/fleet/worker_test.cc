#include "fleet/worker.h"

#include <cerrno>

#include "faulty_system.h"
#include "fleet/find_schema.h"
#include "fleet/fleet_test_support.h"
#include "support.h"

namespace kalstream::fleet {
namespace {

constexpr int partitions = 4;
using namespace std::chrono_literals;

// What people are told, by any thread.
class Told {
 public:
  auto say() {
    return [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      all_ += text + '\n';
    };
  }
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  std::mutex mutex_;
  std::string all_;
};

void run_until_done(MemoryBroker& broker, const TestInputs& inputs, TestWorker& one) {
  for (int k = 0; k < 100'000 && !all_committed(broker, inputs); ++k) one.worker.step(0ms);
}

TEST(FleetWorker, AnswersAsOneEngineDoes) {
  TestFolder folder;
  MemoryBroker broker(partitions);
  TestInputs inputs(partitions, 1);
  inputs.add(broker, 400);
  const WorkerOptions options = test_options(folder, "one");
  TestWorker one(broker, options);
  run_until_done(broker, inputs, one);
  Unbroken unbroken(options, inputs);
  EXPECT_EQ(wrong_with_answers(broker, unbroken), "");
  expect_states(one, unbroken);
  const auto refused = std::ranges::count(unbroken.answers(), std::string("refused"),
                                          [](const auto& a) { return a.second; });
  std::ptrdiff_t dead = 0;
  for (int p = 0; p < partitions; ++p) dead += std::ssize(broker.committed(Topic::dead, p));
  EXPECT_EQ(dead, refused);
  EXPECT_GT(dead, 20);
}

// The whole of it, killed before its first, second, … step, and begun anew by another process of
// the same name, which may be killed as well.
TEST(FleetWorker, CanBeKilledAtEveryStep) {
  TestFolder folder;
  const WorkerOptions options = test_options(folder, "one");
  int crashes = 0;
  constexpr int each = test::one_in(3);
  for (int crash_at = 1;; crash_at += each) {
    MemoryBroker broker(2);
    TestInputs inputs(2, 7);
    inputs.add(broker, 60);
    int steps = 0;
    bool crashed = false;
    broker.before_step = [&](const std::string&) {
      ++steps;
      const bool again = steps == crash_at + 40 || steps == crash_at + 55;
      if (steps != crash_at && !again) return;
      crashed = true;
      throw Crash{};
    };
    for (int lives = 0; lives < 10 && !all_committed(broker, inputs); ++lives) {
      try {
        TestWorker one(broker, options);
        run_until_done(broker, inputs, one);
      } catch (const Crash&) {
        ++crashes;
        if (crash_at % 2 == 0) broker.compact();
      }
    }
    broker.before_step = [](const std::string&) {};
    TestWorker after(broker, options);
    for (int k = 0; k < 1000; ++k) after.worker.step(0ms);
    Unbroken unbroken(options, inputs);
    ASSERT_EQ(wrong_with_answers(broker, unbroken), "") << "killed at " << crash_at;
    for (const std::string& key : unbroken.models()) {
      Shard* const shard = after.worker.live(std::stoi(key.substr(1)) % 2);
      ASSERT_NE(shard, nullptr);
      ASSERT_EQ(shard->state_of(key), unbroken.state_of(key)) << key << ", " << crash_at;
    }
    if (!crashed) break;
  }
  EXPECT_GT(crashes, 100 / each);
}

TEST(FleetWorker, SurvivesChaos) {
  TestFolder folder;
  const WorkerOptions options = test_options(folder, "");
  constexpr std::uint64_t each = test::one_in(4);
  for (std::uint64_t seed = each; seed <= 8; seed += each) {
    MemoryBroker broker(partitions);
    TestInputs inputs(partitions, seed);
    run_chaos(seed, broker, inputs, options);
    ASSERT_TRUE(all_committed(broker, inputs)) << seed;
    Unbroken unbroken(options, inputs);
    ASSERT_EQ(wrong_with_answers(broker, unbroken), "") << seed;
    for (const char* name : {"a", "b", "c"}) {
      broker.declare_dead(name);
      broker.time_out_transaction(name);
    }
    auto mine = options;
    mine.instance = "after";
    TestWorker after(broker, mine);
    for (int k = 0; k < 3000; ++k) after.worker.step(0ms);
    expect_states(after, unbroken);
  }
}

// The control: without transactions the same chaos must be noticed.
TEST(FleetWorker, ChaosIsNoticedWithoutTransactions) {
  TestFolder folder;
  auto options = test_options(folder, "");
  options.shard.accept_replay = true;
  int noticed = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    MemoryBroker broker(partitions);
    broker.has_transactions = false;
    TestInputs inputs(partitions, seed);
    try {
      run_chaos(seed, broker, inputs, options);
      Unbroken unbroken(options, inputs);
      noticed += wrong_with_answers(broker, unbroken).empty() ? 0 : 1;
    } catch (const std::runtime_error&) {
      ++noticed;
    }
  }
  EXPECT_EQ(noticed, 5);
}

TEST(FleetWorker, ADrainedWorkerLeavesNothingToReplay) {
  TestFolder folder;
  MemoryBroker broker(partitions);
  TestInputs inputs(partitions, 3);
  inputs.add(broker, 200);
  const WorkerOptions options = test_options(folder, "one");
  {
    TestWorker one(broker, options);
    run_until_done(broker, inputs, one);
    one.worker.finish();
  }
  for (int p = 0; p < partitions; ++p) {
    const Progress progress = progress_of(*broker.progress(p));
    EXPECT_EQ(progress.replay_from, progress.offset);
  }
  TestWorker two(broker, options);
  for (int k = 0; k < 200; ++k) two.worker.step(0ms);
  EXPECT_EQ(two.worker.status().replayed, 0);
  Unbroken unbroken(options, inputs);
  expect_states(two, unbroken);
}

// Whatever it waits in: here for a broker that takes nothing, while the group wants partitions
// back.
TEST(FleetWorker, StopsThoughNothingCanBeCommitted) {
  TestFolder folder;
  MemoryBroker broker(partitions);
  TestInputs inputs(partitions, 3);
  inputs.add(broker, 20);
  std::atomic<bool> stop = false;
  WorkerOptions options = test_options(folder, "one");
  options.has_thread = true;
  options.patience = 1ms;
  options.stop = [&] { return stop.load(); };
  broker.before_step = [](const std::string& step) {
    if (step.ends_with(" commit")) throw TransactionFailed("the broker is gone");
  };
  TestWorker one(broker, options);
  while (one.worker.status().inputs == 0) one.worker.step(1ms);
  EXPECT_THROW(one.worker.finish(), std::runtime_error);

  TestWorker two(broker, options);
  while (two.worker.status().inputs == 0) two.worker.step(1ms);
  broker.rebalance();
  stop = true;
  EXPECT_THROW(two.worker.step(1ms), std::runtime_error);
  EXPECT_FALSE(broker.progress(0));
}

TEST(FleetWorker, AReplayThatDiffersIsNotGoneOnWith) {
  TestFolder folder;
  MemoryBroker broker(partitions);
  TestInputs inputs(partitions, 3);
  inputs.add(broker, 200);
  WorkerOptions options = test_options(folder, "one");
  {
    TestWorker one(broker, options);
    run_until_done(broker, inputs, one);
  }
  options.shard.engine.model.horizon = 1;  // answers otherwise
  const auto go_on = [&] {
    TestWorker two(broker, options);
    for (int k = 0; k < 200; ++k) two.worker.step(0ms);
  };
  EXPECT_THROW(go_on(), ReplayDiffers);
  Told told;
  options.shard.accept_replay = true;
  options.shard.say = told.say();
  go_on();
  EXPECT_NE(told.take().find("from now on that counts"), std::string::npos);
}

TEST(FleetWorker, ModelsThatDoNotFitInMemoryAreOnDisk) {
  TestFolder folder;
  MemoryBroker broker(partitions);
  TestInputs inputs(partitions, 4);
  inputs.add(broker, 300);
  WorkerOptions options = test_options(folder, "one");
  options.memory = 1;
  TestWorker one(broker, options);
  run_until_done(broker, inputs, one);
  EXPECT_LE(one.worker.status().models_in_memory, 2u * partitions);
  EXPECT_GT(one.worker.status().models, 2u * partitions);
  options.memory = ModelLimits::none;
  Unbroken unbroken(options, inputs);
  EXPECT_EQ(wrong_with_answers(broker, unbroken), "");
  expect_states(one, unbroken);
}

// Partitions' snapshots read from the log, when a worker begins with what is on its disk.
std::size_t states_read(MemoryBroker& broker, const WorkerOptions& options, Unbroken& unbroken) {
  std::size_t read = 0;
  TestWorker one(broker, options);
  one.log.heard_state = [&](const StateRecord& record) { read += record.is_end ? 0 : 1; };
  for (int k = 0; k < 300; ++k) one.worker.step(0ms);
  expect_states(one, unbroken);
  return read;
}

TEST(FleetWorker, BeginsWithTheSnapshotsOnItsDisk) {
  TestFolder folder;
  MemoryBroker broker(partitions);
  TestInputs inputs(partitions, 15);
  inputs.add(broker, 300);
  WorkerOptions options = test_options(folder, "one");
  Told told;
  const auto cache = [&](const std::string& fleet) {
    auto opened = std::make_unique<SnapshotCache>(folder.path, fleet, told.say());
    options.cache = opened.get();
    return opened;
  };
  {
    const auto of_fleet = cache("fleet");
    TestWorker one(broker, options);
    run_until_done(broker, inputs, one);
  }
  Unbroken unbroken(options, inputs);
  {
    const auto of_fleet = cache("fleet");
    EXPECT_EQ(states_read(broker, options, unbroken), 0u);
  }
  EXPECT_EQ(told.take(), "");
  {  // others have gone on meanwhile
    options.cache = nullptr;
    inputs.add(broker, 40);
    TestWorker other(broker, options);
    run_until_done(broker, inputs, other);
  }
  Unbroken further(options, inputs);
  {
    const auto of_fleet = cache("fleet");
    const std::size_t read = states_read(broker, options, further);
    EXPECT_GT(read, 0u);
    EXPECT_LT(read, 40u);
  }
  {
    const auto of_another = cache("another");
    EXPECT_GT(states_read(broker, options, further), 40u);
    EXPECT_NE(told.take().find("another fleet"), std::string::npos);
  }
  // One that is damaged, or lies, is not believed.
  for (const char* damage :
       {"UPDATE snapshots SET state = substr(state, 1, 100)", "DELETE FROM snapshots",
        "UPDATE snapshots SET chain = '00000000000000aa'"}) {
    told.take();
    {
      for (int p = 0; p < partitions; ++p)
        Database(folder.path / ("snapshots-" + std::to_string(p) + ".db")).run(damage);
    }
    const auto of_another = cache("another");
    EXPECT_GT(states_read(broker, options, further), 40u) << damage;
    EXPECT_NE(told.take(), "") << damage;
  }
}

// A disk that takes nothing stops nobody; one that cannot be read makes partitions be restored.
TEST(FleetWorker, GoesOnWithoutADisk) {
  TestFolder folder;
  MemoryBroker broker(partitions);
  TestInputs inputs(partitions, 6);
  inputs.add(broker, 200);
  WorkerOptions options = test_options(folder, "one");
  Told told;
  options.shard.say = told.say();
  test::BrokenSystem system(EIO, {System::Call::read, System::Call::write});
  system.broken = true;
  SnapshotCache cache(folder.path, "fleet", told.say(), system);
  options.cache = &cache;
  options.system = &system;
  options.memory = 1;
  {
    TestWorker one(broker, options);
    run_until_done(broker, inputs, one);
  }
  system.broken = false;
  TestWorker two(broker, options);
  inputs.add(broker, 100);
  run_until_done(broker, inputs, two);
  EXPECT_LE(two.worker.status().models_in_memory, 2u * partitions);
  told.take();
  system.broken = true;
  inputs.add(broker, 100);
  for (int k = 0; k < 100; ++k) two.worker.step(0ms);
  EXPECT_NE(told.take().find("is restored"), std::string::npos);
  system.broken = false;
  run_until_done(broker, inputs, two);
  options.memory = ModelLimits::none;
  Unbroken unbroken(options, inputs);
  EXPECT_EQ(wrong_with_answers(broker, unbroken), "");
}

TEST(FleetWorker, FindsTheSchemaInTheFirstInputThatTellsIt) {
  MemoryBroker broker(2);
  MemoryLog log(broker, "one");
  broker.add_input(0, "a", R"({"device":"a","id":1,"target":2})");
  broker.add_input(0, "a", "nonsense");
  broker.add_input(1, "b", R"({"device":"b","id":1,"x":0.5,"weather":"dry","target":2})");
  broker.add_input(1, "b", R"({"device":"b","id":2,"x":0.5,"weather":"wet","target":2})");
  const FieldChoice choice{.targets = {"target"}, .categories = {"weather"}, .key = "device"};
  const auto schema = find_schema(
      log, choice, [] { return false; }, [](const std::string&) {});
  ASSERT_TRUE(schema);
  EXPECT_EQ(schema->inputs(), 1u + 3);  // dry, wet and all others
  EXPECT_EQ(schema->target_names(), std::vector<std::string>{"target"});
  EXPECT_EQ(find_schema(
                log, {.key = "no such"}, [n = 0]() mutable { return ++n > 3; },
                [](const std::string&) {}),
            std::nullopt);
}

TEST(FleetWorker, AModelCanBeImported) {
  TestFolder folder;
  MemoryBroker broker(1);
  const WorkerOptions options = test_options(folder, "one");
  MemoryStore store;
  Engine engine(options.shard.engine, &store);
  Record record;
  RecordReader reader({.format = Format::json});
  for (int k = 0; k < 20; ++k) {
    reader.read(R"({"device":"a","x":0.5,"w":)" + std::to_string(k) + R"(,"target":1})", record);
    engine.take({.record = record});
  }
  const Bytes state = *engine.state_of("a");
  broker.add_input(0, "b", std::string(as_text(state)), {{import_header, "1"}});
  broker.add_input(0, "b", "nonsense", {{import_header, "1"}});
  broker.add_input(0, "b", R"({"device":"b","x":0.5,"w":0.5})");
  TestWorker one(broker, options);
  for (int k = 0; k < 50; ++k) one.worker.step(0ms);
  const auto answers = broker.committed(Topic::answers, 0);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(*answers[0].second->value, R"({"key":"b","status":"imported"})");
  EXPECT_NE(answers[1].second->value->find("refused"), std::string::npos);
  EXPECT_NE(answers[2].second->value->find("\"sample\":21,"), std::string::npos);
}

}  // namespace
}  // namespace kalstream::fleet

// The thread that commits, beside the one that takes inputs. Under the thread sanitizer, too.
#include "fleet/transactor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "fleet/fleet_test_support.h"
#include "support.h"

namespace kalstream::fleet {
namespace {

using namespace std::chrono_literals;

/// A member of a group by itself, which has been given all partitions.
class OnlyMember final : private GroupListener {
 public:
  explicit OnlyMember(Log& log) : log_(log) {
    log_.join(*this);
    log_.poll_group();
  }

  /// One answer for each of these inputs of a partition, and the progress behind them.
  Batch batch(int partition, Offset from, Offset to) const {
    Batch batch;
    for (Offset k = from; k < to; ++k)
      batch.messages.push_back({.partition = partition, .value = std::to_string(k)});
    batch.messages.push_back(
        {.topic = Topic::state, .partition = partition, .key = "k", .value = std::to_string(to)});
    batch.progress[partition] = {.offset = to, .replay_from = to};
    batch.membership = log_.membership();
    return batch;
  }

 private:
  void assigned(std::span<const int>) override {}
  void revoked(std::span<const int>) override {}
  void lost(std::span<const int>) override {}

  Log& log_;
};

std::vector<std::string> answers_of(const MemoryBroker& broker, int partition) {
  std::vector<std::string> all;
  for (const auto& [offset, stored] : broker.committed(Topic::answers, partition))
    all.push_back(*stored->value);
  return all;
}

// While one batch is committed the next is made, and everything is asked that a worker asks.
// Transactions fail at any step now and then; what is committed is whole, in order, and once there.
TEST(TransactorThreads, CommitsBesideTheOneWhoGivesBatches) {
  constexpr int batches = 60;
  constexpr Offset each = 5;
  MemoryBroker broker(2);
  MemoryLog log(broker, "one");
  OnlyMember member(log);
  int steps = 0;
  std::uint64_t failures = 0;
  broker.before_step = [&](const std::string& step) {
    const bool is_of_transaction = step.ends_with("begin") || step.ends_with("produce") ||
                                   step.ends_with("flush") || step.ends_with("send_offsets") ||
                                   step.ends_with("commit");
    if (!is_of_transaction || ++steps % 97 != 0) return;
    ++failures;
    throw TransactionFailed("not now");
  };
  std::vector<Offset> told;  // by the thread that commits
  {
    Transactor transactor(log, /*has_thread=*/true, [&](Batch batch) {
      told.push_back(batch.progress.begin()->second.offset);
    });
    transactor.set_state_upto(0, -1);
    transactor.set_state_upto(1, -1);
    Offset made[2] = {0, 0};
    for (int k = 0; k < batches; ++k) {
      const int partition = k % 2;
      Batch batch = member.batch(partition, made[partition], made[partition] + each);
      while (!transactor.is_idle()) {
        for (const int p : {0, 1})
          if (const auto committed = transactor.committed(p)) {
            EXPECT_LE(committed->offset, made[p]);
          }
        EXPECT_LE(transactor.counts().transactions, static_cast<std::uint64_t>(k));
        transactor.failure();
        log.poll_inputs(1, 0ms);
        std::this_thread::yield();
      }
      transactor.give(std::move(batch));
      made[partition] += each;
    }
    transactor.wait_until_idle(Milliseconds(60'000));
    const Transactor::Counts counts = transactor.counts();
    EXPECT_EQ(counts.transactions, static_cast<std::uint64_t>(batches));
    EXPECT_EQ(counts.aborts, failures);
    EXPECT_GT(failures, 3U);
    EXPECT_EQ(transactor.failure(), "");
  }
  ASSERT_EQ(told.size(), static_cast<std::size_t>(batches));
  for (const int p : {0, 1}) {
    std::vector<std::string> expected;
    for (Offset k = 0; k < each * batches / 2; ++k) expected.push_back(std::to_string(k));
    EXPECT_EQ(answers_of(broker, p), expected);
    const Progress progress = progress_of(*broker.progress(p));
    EXPECT_EQ(progress.offset, each * batches / 2);
    // The state that belongs to it is the last one.
    EXPECT_EQ(broker.committed(Topic::state, p).back().first, progress.state_upto);
  }
}

// As a worker that is killed while the broker takes nothing.
TEST(TransactorThreads, EndsWhileACommitIsTriedAgain) {
  for (const char* step : {"commit", "abort"}) {
    MemoryBroker broker(1);
    MemoryLog log(broker, "one");
    OnlyMember member(log);
    broker.before_step = [&](const std::string& now) {
      if (now.ends_with("commit") || now.ends_with(step)) throw TransactionFailed("no broker");
    };
    {
      Transactor transactor(log, true);
      transactor.give(member.batch(0, 0, 3));
      while (transactor.failure().empty()) std::this_thread::yield();
      EXPECT_FALSE(transactor.is_idle());
    }
    broker.before_step = [](const std::string&) {};
    EXPECT_TRUE(answers_of(broker, 0).empty());
    EXPECT_FALSE(broker.progress(0));
  }
}

/// Waits in flush() for a broker that never answers, as librdkafka may, until it is given up.
class SilentLog final : public MemoryLog {
 public:
  using MemoryLog::MemoryLog;

  std::map<int, Offset> flush() override {
    waits = true;
    given_up_.wait(false);
    throw MembershipLost("given up");
  }
  void give_up() override {
    given_up_ = true;
    given_up_.notify_all();
  }

  std::atomic<bool> waits = false;

 private:
  std::atomic<bool> given_up_ = false;
};

TEST(TransactorThreads, EndsACallThatWaits) {
  MemoryBroker broker(1);
  SilentLog log(broker, "one");
  OnlyMember member(log);
  {
    Transactor transactor(log, true);
    transactor.give(member.batch(0, 0, 3));
    while (!log.waits) std::this_thread::yield();
    EXPECT_FALSE(transactor.wait_until_idle(1ms));
  }
  EXPECT_TRUE(answers_of(broker, 0).empty());
}

TEST(TransactorThreads, TellsWhatHasEndedAllCommits) {
  MemoryBroker broker(1);
  MemoryLog log(broker, "one");
  OnlyMember member(log);
  Transactor transactor(log, true);
  transactor.give(member.batch(0, 0, 3));
  transactor.wait_until_idle(Milliseconds(60'000));
  const MemoryLog other(broker, "one");  // a process of the same name
  transactor.give(member.batch(0, 3, 6));
  EXPECT_THROW(transactor.wait_until_idle(Milliseconds(60'000)), Fenced);
  EXPECT_THROW(transactor.is_idle(), Fenced);
  EXPECT_THROW(transactor.give(member.batch(0, 3, 6)), Fenced);
  EXPECT_EQ(answers_of(broker, 0).size(), 3U);
  EXPECT_EQ(transactor.committed(0)->offset, 3);
}

TEST(FleetWorkerThreads, CommitsBesideTakingInputs) {
  TestFolder folder;
  MemoryBroker broker(3);
  TestInputs inputs(3, 5);
  WorkerOptions options = test_options(folder, "one");
  options.has_thread = true;
  options.jobs = 2;
  std::atomic<int> steps = 0;
  broker.before_step = [&](const std::string& step) {
    if (step.ends_with("commit") && ++steps % 20 == 7) throw TransactionFailed("not now");
  };
  {
    TestWorker one(broker, options);
    for (int part = 0; part < 4; ++part) {
      inputs.add(broker, 100);
      while (!all_committed(broker, inputs)) {
        one.worker.step(1ms);
        one.worker.status();
      }
    }
    one.worker.finish();
  }
  Unbroken unbroken(options, inputs);
  EXPECT_EQ(wrong_with_answers(broker, unbroken), "");
  broker.before_step = [](const std::string&) {};
  options.has_thread = false;
  TestWorker after(broker, options);
  const auto is_live = [](const PartitionStatus& p) { return p.phase == "live"; };
  while (!after.worker.live(0) || !std::ranges::all_of(after.worker.status().partitions, is_live))
    after.worker.step(0ms);
  expect_states(after, unbroken);
}

TEST(FleetWorkerThreads, SurviveChaos) {
  TestFolder folder;
  WorkerOptions options = test_options(folder, "");
  options.has_thread = true;
  for (std::uint64_t seed = test::one_in(2); seed <= 2; ++seed) {
    MemoryBroker broker(3);
    TestInputs inputs(3, seed);
    run_chaos(seed, broker, inputs, options);
    ASSERT_TRUE(all_committed(broker, inputs)) << seed;
    Unbroken unbroken(options, inputs);
    ASSERT_EQ(wrong_with_answers(broker, unbroken), "") << seed;
  }
}

}  // namespace
}  // namespace kalstream::fleet

// Threads share a worker's models, and nobody can tell.
#include <gtest/gtest.h>

#include "fleet/fleet_test_support.h"
#include "support.h"

namespace kalstream::fleet {
namespace {

using namespace std::chrono_literals;

/// All that a fleet has written: answers with their chains, dead letters, progress.
struct Written {
  std::vector<std::string> messages;
  std::vector<std::uint64_t> checksums;
  bool operator==(const Written&) const = default;
};

Written written(const MemoryBroker& broker) {
  Written all;
  for (int p = 0; p < broker.partitions(); ++p) {
    for (const Topic topic : {Topic::answers, Topic::dead})
      for (const auto& [offset, stored] : broker.committed(topic, p)) {
        std::string text = stored->key.value_or("-") + ' ' + stored->value.value_or("-");
        for (const Header& h : stored->headers) text += ' ' + h.name + '=' + h.value;
        all.messages.push_back(std::move(text));
      }
    all.checksums.push_back(progress_of(*broker.progress(p)).checksum);
  }
  return all;
}

// Also across a worker that is gone, after which inputs are taken again by another.
Written work_through(std::size_t jobs, std::uint64_t seed, std::size_t restart_after) {
  constexpr int partitions = 3;
  TestFolder folder;
  MemoryBroker broker(partitions);
  TestInputs inputs(partitions, seed);
  WorkerOptions options = test_options(folder, "one");
  options.jobs = jobs;
  std::size_t steps = 0;
  for (int part = 0; part < 3; ++part) {
    inputs.add(broker, 150);
    while (!all_committed(broker, inputs) && steps < 100'000) {
      TestWorker one(broker, options);
      for (std::size_t k = 0; k < restart_after && !all_committed(broker, inputs); ++k, ++steps)
        one.worker.step(0ms);
    }
  }
  Unbroken unbroken(options, inputs);
  EXPECT_EQ(wrong_with_answers(broker, unbroken), "");
  return written(broker);
}

TEST(FleetJobsThreads, AnswerAsOne) {
  for (const std::uint64_t seed : {1, 2})
    for (const std::size_t restart_after : {100'000, 60}) {
      const Written one = work_through(1, seed, restart_after);
      for (const std::size_t jobs : {2, 3}) {
        const Written many = work_through(jobs, seed, restart_after);
        EXPECT_EQ(many.messages, one.messages);
        EXPECT_EQ(many.checksums, one.checksums);
      }
    }
}

}  // namespace
}  // namespace kalstream::fleet

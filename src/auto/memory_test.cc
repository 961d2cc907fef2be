#include "auto/memory.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <utility>

#include "auto/panel.h"
#include "auto/scale.h"
#include "support.h"

namespace kalstream {
namespace {

using test::same_bits;
using test::Vector;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(SampleMemory, KeepsTheLastOnes) {
  SampleMemory memory({.inputs = 1, .lags = 2, .outputs = 1}, 3);
  EXPECT_EQ(memory.size(), 0U);
  for (double n = 1; n <= 5; ++n) {
    memory.push(Vector{n}, Vector{n + 0.1, n + 0.2}, Vector{-n});
    EXPECT_EQ(memory.size(), std::size_t(std::min(n, 3.0)));
    for (std::size_t age = 1; age <= memory.size(); ++age) {
      const double m = n + 1 - double(age);
      EXPECT_TRUE(same_bits(memory[age].x, Vector{m}));
      EXPECT_TRUE(same_bits(memory[age].past, Vector{m + 0.1, m + 0.2}));
      EXPECT_TRUE(same_bits(memory[age].d, Vector{-m}));
      EXPECT_TRUE(memory[age].is_whole());
    }
  }
  memory.keep(7);
  EXPECT_EQ(memory.size(), 3U);
  memory.keep(2);
  EXPECT_EQ(memory.size(), 2U);
  EXPECT_EQ(memory[1].x[0], 5);
  EXPECT_EQ(memory[2].x[0], 4);
  memory.push(Vector{6}, Vector{6.1, 6.2}, Vector{nan});
  EXPECT_FALSE(memory[1].is_whole());
  EXPECT_EQ(memory.size(), 3U);
  EXPECT_EQ(memory[3].x[0], 4);
  memory.reset();
  EXPECT_EQ(memory.size(), 0U);
  memory.push(Vector{8}, Vector{8.1, 8.2}, Vector{-8});
  EXPECT_EQ(memory[1].x[0], 8);
}

// Fifty samples of a linear function; the tenth was not believed.
struct Remembered {
  Remembered() {
    Rng rng(7);
    for (int t = 0; t < 50; ++t) {
      const Vector x = test::normals(rng, sight.inputs);
      const Vector d{t == 9 ? nan : 3 + x[0] - 2 * x[1]};
      memory.push(x, past, d);
      scale.add_inputs(x);
      if (t == 9) continue;
      scale.add_targets(d);
      past = d;
    }
    scale.hold();
  }

  Expert expert(const char* name) const {
    for (ExpertPlan& plan : plan_experts(options, network))
      if (plan.name == name) return {std::move(plan), sight};
    throw std::invalid_argument(name);
  }

  Vector predictions_of(const Expert& e) const {
    const auto learner = e.learner->clone();
    Vector all;
    Vector seen(sight.size());
    for (std::size_t age = memory.size(); age > 0; --age) {
      scale.see(memory[age].x, memory[age].past, seen);
      all.push_back(learner->predict(e.view(seen))[0]);
    }
    return all;
  }

  const Auto options{.lags = 1};
  const NetworkOptions network = test::small_network(2, 8, 1);
  const Sight sight = sight_of(options, network);
  Scale scale{sight};
  SampleMemory memory{sight};
  Vector past{0};
};

TEST(Replay, LearnsAsManySamplesAsPlanned) {
  const Remembered r;
  for (const auto& [name, replays] :
       {std::pair("window2", 0), std::pair("replay2", 2), std::pair("replay4", 4)}) {
    Expert e = r.expert(name);
    for (std::uint64_t step = 0; step < 20; ++step) {
      const std::uint64_t before = e.learner->samples();
      replay(e, *e.learner, r.memory, r.scale, step);
      const std::uint64_t learnt = e.learner->samples() - before;
      ASSERT_LE(learnt, std::uint64_t(replays)) << name;
      ASSERT_GE(learnt + 1, std::uint64_t(replays)) << name;  // one may be that not believed
    }
    const SampleMemory empty(r.sight);
    const std::uint64_t before = e.learner->samples();
    replay(e, *e.learner, empty, r.scale, 1);
    EXPECT_EQ(e.learner->samples(), before) << name;
  }
}

// Which samples come again depends on the step, not on what was replayed before.
TEST(Replay, HasNoMemoryOfItsOwn) {
  const Remembered r;
  Expert one = r.expert("replay3");
  Expert other = one;
  Expert third = one;
  replay(one, *one.learner, r.memory, r.scale, 5);
  replay(other, *other.learner, r.memory, r.scale, 5);
  replay(third, *third.learner, r.memory, r.scale, 6);
  EXPECT_TRUE(same_bits(r.predictions_of(one), r.predictions_of(other)));
  EXPECT_FALSE(same_bits(r.predictions_of(one), r.predictions_of(third)));
}

// Learns all that is remembered, so many samples a step.
void begin_and_prepare(Expert& e, const Remembered& r, std::uint64_t step, std::size_t samples) {
  begin_again(e, r.memory);
  while (e.next) prepare(e, r.memory, r.scale, step, samples);
}

TEST(BeginAgain, LeavesNothingOfWhatWasBefore) {
  const Remembered r;
  for (const char* name : {"replay3", "recurrent-lag1", "rls"}) {
    Expert fresh = r.expert(name);
    Expert used = fresh;
    for (std::uint64_t step = 1; step < 9; ++step) begin_and_prepare(used, r, step, 50);
    begin_and_prepare(fresh, r, 9, 50);
    begin_and_prepare(used, r, 9, 50);
    EXPECT_TRUE(same_bits(r.predictions_of(used), r.predictions_of(fresh))) << name;
    if (fresh.plan.replays == 0 && fresh.plan.has_network()) {
      EXPECT_EQ(fresh.learner->samples(), 49U) << name;
    }
  }
}

TEST(BeginAgain, IsTheSameInOneStepOrInMany) {
  const Remembered r;
  for (const char* name : {"replay3", "recurrent-lag1", "rls"}) {
    Expert at_once = r.expert(name);
    Expert in_many = at_once;
    begin_and_prepare(at_once, r, 9, 50);
    begin_and_prepare(in_many, r, 9, 3);
    EXPECT_TRUE(same_bits(r.predictions_of(at_once), r.predictions_of(in_many))) << name;
  }
}

// The learner of before goes on until the next one knows all samples.
TEST(BeginAgain, TakesItsPlaceWhenItKnowsAllSamples) {
  Remembered r;
  Expert e = r.expert("replay3");
  const Learner* before = &*e.learner;
  begin_again(e, r.memory);
  for (int step = 0; step < 4; ++step) {
    prepare(e, r.memory, r.scale, 1, 12);
    EXPECT_EQ(&*e.learner, before) << step;
  }
  prepare(e, r.memory, r.scale, 1, 12);
  EXPECT_NE(&*e.learner, before);
  EXPECT_EQ(e.next, nullptr);
}

}  // namespace
}  // namespace kalstream

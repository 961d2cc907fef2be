#include "engine/models.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"
#include "stores/memory_store.h"

namespace kalstream {
namespace {

struct Deaf final : ModelListener {
  void scored(std::span<const double>, std::span<const Interval>,
              std::span<const double>) override {}
  void stepped(const StepReport&) override {}
};

std::unique_ptr<Learner> make() { return make_learner({.network = {.inputs = 1}, .rule = Mean{}}); }

void learn(StreamModel& model, double d) {
  Deaf deaf;
  model.take({.kind = Sample::Kind::inputs, .x = {0}, .d = {d}}, deaf);
  model.learn(deaf);
}

/// A commit's models, all at once.
std::vector<KeyedState> changed(Models& models) {
  std::vector<KeyedState> states;
  models.begin_commit([&](CheckpointImage model) {
    const std::string key = model.key();
    states.push_back({key, std::move(model).finish()});
  });
  while (models.give_next()) {
  }
  return states;
}

TEST(Models, ThoseNotUsedGoToTheStoreAndComeBack) {
  MemoryStore store;
  {
    Models models(make, {}, &store, {.models = 4});
    for (int round = 0; round < 3; ++round)
      for (int k = 0; k < 10; ++k) learn(models.of("key " + std::to_string(k)), k);
    EXPECT_LE(models.in_memory(), 4U);
    EXPECT_EQ(models.in_memory() + models.stored(), 10U);
    EXPECT_GT(models.evictions(), 10U);
    for (int k = 0; k < 10; ++k) EXPECT_EQ(models.of("key " + std::to_string(k)).samples(), 3U);
    store.commit(store.begin_commit(), {}, changed(models));
    EXPECT_EQ(models.in_memory() + models.stored(), 10U);
  }
  Models again(make, {}, &store, {.models = 100});
  EXPECT_EQ(again.stored(), 10U);
  for (int k = 0; k < 10; ++k) EXPECT_EQ(again.of("key " + std::to_string(k)).samples(), 3U);
  EXPECT_EQ(again.stored(), 0U);
}

TEST(Models, OnlyWhatWasUsedHasChanged) {
  MemoryStore store;
  Models models(make, {}, &store, {.models = 10});
  for (const char* key : {"a", "b", "c"}) learn(models.of(key), 1);
  EXPECT_EQ(changed(models).size(), 3U);
  models.committed(true);
  EXPECT_TRUE(changed(models).empty());
  learn(models.of("b"), 1);
  EXPECT_EQ(changed(models).size(), 1U);
  models.committed(false);  // it could not be written
  EXPECT_EQ(changed(models).size(), 1U);
}

// A model whose state is on its way to the store may have to leave before it has got there.
TEST(Models, WhatIsOnItsWayIsNotLost) {
  MemoryStore store;
  Models models(make, {}, &store, {.models = 2});
  learn(models.of("a"), 1);
  const auto ticket = store.begin_commit();
  auto states = changed(models);
  for (const char* key : {"b", "c", "d"}) learn(models.of(key), 1);
  EXPECT_EQ(models.of("a").samples(), 1U);
  store.commit(ticket, {}, states);
  models.committed(true);
}

// A store that cannot take them for a while: they stay, and nobody is refused.
TEST(Models, StayWhereTheStoreFails) {
  struct Full final : StateStore {
    std::optional<Bytes> stream() override { return memory.stream(); }
    std::optional<Bytes> get(const std::string& key) override { return memory.get(key); }
    bool holds(const std::string& key) override { return memory.holds(key); }
    std::size_t models() const override { return memory.models(); }
    void put(std::vector<KeyedState> models) override {
      if (is_full) throw std::runtime_error("full");
      memory.put(std::move(models));
    }
    bool takes_models() const override { return true; }
    std::uint64_t begin_commit() override { return 0; }
    void commit(std::uint64_t, Bytes, const NextState&) override {}

    MemoryStore memory;
    bool is_full = true;
  } store;
  Models models(make, {}, &store, {.models = 2});
  const auto all = [&] {
    for (int k = 0; k < 6; ++k) learn(models.of("key " + std::to_string(k)), k);
  };
  all();
  EXPECT_EQ(models.in_memory(), 6U);
  EXPECT_EQ(models.store_failure(), "full");
  store.is_full = false;
  learn(models.of("another"), 1);
  learn(models.of("and another"), 1);
  all();
  EXPECT_EQ(models.store_failure(), "");
  EXPECT_LE(models.in_memory(), 7U);
  for (int k = 0; k < 6; ++k) EXPECT_EQ(models.of("key " + std::to_string(k)).samples(), 2U);
}

// Those due are given as they were, before they change or leave; those that came later are not.
TEST(Models, WhatIsDueIsGivenBeforeItChanges) {
  MemoryStore store;
  Models models(make, {}, &store, {.models = 4});
  for (const char* key : {"a", "b", "c", "d"}) learn(models.of(key), 1);
  std::map<std::string, std::uint64_t> samples;
  models.begin_commit([&](CheckpointImage image) {
    const Checkpoint checkpoint = checkpoint_of(std::move(image).finish());
    EXPECT_FALSE(samples.contains(checkpoint.key)) << checkpoint.key;
    samples[checkpoint.key] = model_of(checkpoint)->samples();
  });
  EXPECT_TRUE(samples.empty());
  learn(models.of("b"), 2);
  EXPECT_EQ(samples.size(), 1U);
  learn(models.of("b"), 3);
  learn(models.of("new"), 1);  // "a" has to leave
  EXPECT_EQ(samples.size(), 2U);
  EXPECT_TRUE(samples.contains("a"));
  learn(models.of("a"), 2);  // and comes back, for "c"
  while (models.give_next()) {
  }
  EXPECT_EQ(samples,
            (std::map<std::string, std::uint64_t>{{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}));
  models.committed(true);
  for (const char* key : {"a", "b"}) EXPECT_GT(models.of(key).samples(), 1U);
}

// Of a commit that failed all are due again, also those that have not changed since.
TEST(Models, AFailedCommitIsMadeUpForByTheNext) {
  MemoryStore store;
  Models models(make, {}, &store, {.models = 10});
  for (const char* key : {"a", "b", "c"}) learn(models.of(key), 1);
  EXPECT_EQ(changed(models).size(), 3U);
  learn(models.of("a"), 1);
  models.committed(false);
  EXPECT_EQ(changed(models).size(), 3U);
  models.committed(false);
  EXPECT_EQ(changed(models).size(), 3U);
  models.committed(true);
  EXPECT_TRUE(changed(models).empty());
}

TEST(Models, OneHasRoomWhateverItTakes) {
  MemoryStore store;
  Models models(make, {}, &store, {.bytes = 1000, .of_one_model = [] { return 10'000; }});
  for (const char* key : {"a", "b", "a"}) learn(models.of(key), 1);
  EXPECT_EQ(models.in_memory(), 1U);
  EXPECT_EQ(models.of("a").samples(), 2U);
}

TEST(Models, AForgottenOneBeginsAnew) {
  MemoryStore store;
  Models models(make, {}, &store, {.models = 2});
  for (const char* key : {"a", "b", "c", "d"}) learn(models.of(key), 1);
  EXPECT_FALSE(models.forget("e"));
  store.commit(store.begin_commit(), {}, changed(models));
  models.committed(true);
  std::size_t bytes = models.bytes();
  for (const char* key : {"a", "d"}) {  // one is in the store, one in memory
    EXPECT_TRUE(models.forget(key));
    EXPECT_EQ(models.find(key), nullptr);
    EXPECT_FALSE(models.forget(key));
  }
  EXPECT_LT(models.bytes(), bytes);
  EXPECT_EQ(models.in_memory() + models.stored(), 2U);
  learn(models.of("a"), 1);
  EXPECT_EQ(models.of("a").samples(), 1U);

  // A commit under way has it, the next one has not.
  std::vector<KeyedState> states;
  models.begin_commit([&](CheckpointImage model) {
    const std::string key = model.key();
    states.push_back({key, std::move(model).finish()});
  });
  const std::uint64_t ticket = store.begin_commit();
  EXPECT_TRUE(models.forget("a"));
  while (models.give_next()) {
  }
  store.commit(ticket, {}, states);
  models.committed(true);
  EXPECT_EQ(models.find("a"), nullptr);
}

TEST(Models, NobodyIsMadeByLookingForThem) {
  Models models(make, {}, nullptr, {.models = 2});
  EXPECT_EQ(models.find("a"), nullptr);
  EXPECT_EQ(models.in_memory(), 0U);
}

TEST(Models, WithoutAStoreThereIsAnEnd) {
  Models models(make, {}, nullptr, {.models = 2});
  learn(models.of("a"), 1);
  learn(models.of("b"), 1);
  EXPECT_THROW(models.of("c"), std::runtime_error);
  EXPECT_EQ(models.of("a").samples(), 1U);
}

TEST(Models, WhatIsDamagedIsRefusedByItsKey) {
  MemoryStore store;
  Models models(make, {}, &store, {.models = 4});
  learn(models.of("a"), 1);
  auto states = changed(models);
  states[0].state.push_back(std::byte{0});
  store.commit(store.begin_commit(), {}, states);
  Models again(make, {}, &store, {.models = 4});
  try {
    again.of("a");
    FAIL();
  } catch (const SnapshotError& error) {
    EXPECT_NE(std::string(error.what()).find("\"a\""), std::string::npos);
  }
  // The state of another key is not taken for one's own.
  states[0].state.pop_back();
  states[0].key = "b";
  store.commit(store.begin_commit(), {}, states);
  EXPECT_THROW(again.of("b"), SnapshotError);
  learn(again.of("c"), 1);  // others go on
}

}  // namespace
}  // namespace kalstream

#include "engine/models.h"

#include <gtest/gtest.h>

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

TEST(Models, ThoseNotUsedGoToTheStoreAndComeBack) {
  MemoryStore store;
  {
    Models models(make, {}, &store, 4);
    for (int round = 0; round < 3; ++round)
      for (int k = 0; k < 10; ++k) learn(models.of("key " + std::to_string(k)), k);
    EXPECT_LE(models.in_memory(), 4U);
    EXPECT_EQ(models.in_memory() + models.stored(), 10U);
    EXPECT_GT(models.evictions(), 10U);
    for (int k = 0; k < 10; ++k) EXPECT_EQ(models.of("key " + std::to_string(k)).samples(), 3U);
    store.commit(store.begin_commit(), {}, models.changed());
    EXPECT_EQ(models.in_memory() + models.stored(), 10U);
  }
  Models again(make, {}, &store, 100);
  EXPECT_EQ(again.stored(), 10U);
  for (int k = 0; k < 10; ++k) EXPECT_EQ(again.of("key " + std::to_string(k)).samples(), 3U);
  EXPECT_EQ(again.stored(), 0U);
}

TEST(Models, OnlyWhatWasUsedHasChanged) {
  MemoryStore store;
  Models models(make, {}, &store, 10);
  for (const char* key : {"a", "b", "c"}) learn(models.of(key), 1);
  EXPECT_EQ(models.changed().size(), 3U);
  models.committed(true);
  EXPECT_TRUE(models.changed().empty());
  learn(models.of("b"), 1);
  EXPECT_EQ(models.changed().size(), 1U);
  models.committed(false);  // it could not be written
  EXPECT_EQ(models.changed().size(), 1U);
}

// A model whose state is on its way to the store may have to leave before it has got there.
TEST(Models, WhatIsOnItsWayIsNotLost) {
  MemoryStore store;
  Models models(make, {}, &store, 2);
  learn(models.of("a"), 1);
  const auto ticket = store.begin_commit();
  auto states = models.changed();
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
    void commit(std::uint64_t, Bytes, std::vector<KeyedState>) override {}

    MemoryStore memory;
    bool is_full = true;
  } store;
  Models models(make, {}, &store, 2);
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

TEST(Models, NobodyIsMadeByLookingForThem) {
  Models models(make, {}, nullptr, 2);
  EXPECT_EQ(models.find("a"), nullptr);
  EXPECT_EQ(models.in_memory(), 0U);
}

TEST(Models, WithoutAStoreThereIsAnEnd) {
  Models models(make, {}, nullptr, 2);
  learn(models.of("a"), 1);
  learn(models.of("b"), 1);
  EXPECT_THROW(models.of("c"), std::runtime_error);
  EXPECT_EQ(models.of("a").samples(), 1U);
}

TEST(Models, WhatIsDamagedIsRefusedByItsKey) {
  MemoryStore store;
  Models models(make, {}, &store, 4);
  learn(models.of("a"), 1);
  auto states = models.changed();
  states[0].state.push_back(std::byte{0});
  store.commit(store.begin_commit(), {}, states);
  Models again(make, {}, &store, 4);
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

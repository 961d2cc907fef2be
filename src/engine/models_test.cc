#include "engine/models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"
#include "stores/memory_store_test_support.h"

namespace kalstream {
namespace {

std::unique_ptr<Learner> make() { return make_learner({.network = {.inputs = 1}, .rule = Mean{}}); }

void learn(StreamModel& model, double d) {
  StreamListener deaf;
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

// ---- Packed models: these pretend to be large when they live.

constexpr std::uint64_t large = 100'000;

ModelLimits room_for(std::size_t live, std::size_t models = 1000) {
  return {
      .models = models, .bytes = live * large + large / 2, .of_one_model = [] { return large; }};
}

std::unique_ptr<Learner> make_network() {
  return make_scaled_learner({.network = {.inputs = 1, .hidden = 2}, .rule = Algorithm1{}});
}

const ModelOptions waiting_for_targets{.coverage = 0.8, .horizon = 2, .max_delay = 3};

/// Samples whose targets come, come later or never, so that some wait.
void learn_late(Models& models, const std::string& key, int t) {
  StreamListener deaf;
  StreamModel& model = models.of(key);
  if (!model.has_begun()) model.begin(make_network());
  const std::string id = std::to_string(t);
  Sample sample{.kind = Sample::Kind::inputs, .id = id, .x = {std::sin(t)}};
  if (t % 3 == 0) sample.d = {std::cos(t)};
  model.take(sample, deaf);
  model.learn(deaf);
  if (t % 3 != 1) return;
  model.take({.kind = Sample::Kind::label, .id = id, .d = {std::cos(t)}}, deaf);
  model.learn(deaf);
}

std::string key_of(int k) { return "key " + std::to_string(k); }

// With a store and without, in batches and one by one, under commits: each model is what it would
// be by itself, and so is what is told of all of them.
TEST(Models, PackedOnesAreTheSameToTheBit) {
  MemoryStore store;
  Models free(make_network, waiting_for_targets, nullptr, {});
  Models packing(make_network, waiting_for_targets, nullptr, room_for(4));
  Models leaving(make_network, waiting_for_targets, &store, room_for(2, 12));
  for (int t = 0; t < 400; ++t) {
    const std::string key = key_of(t * t % 17 + t % 3);
    if (t % 40 == 10)
      for (Models* models : {&free, &packing, &leaving}) models->begin_batch();
    for (Models* models : {&free, &packing, &leaving}) learn_late(*models, key, t);
    if (t % 40 == 12)
      for (Models* models : {&free, &packing, &leaving}) models->end_batch();
    if (t % 90 == 50) {
      const auto ticket = store.begin_commit();
      store.commit(ticket, {}, changed(leaving));
      leaving.committed(t % 180 == 50);
    }
    EXPECT_LE(packing.bytes(), packing.most_bytes());
    if (t % 40 < 10 || t % 40 > 12) {
      EXPECT_EQ(packing.pending(), free.pending()) << t;
    }
  }
  EXPECT_EQ(free.packed(), 0U);
  EXPECT_GT(packing.packed(), 8U);
  EXPECT_EQ(packing.in_memory(), free.in_memory());
  EXPECT_GT(leaving.packed(), 4U);
  EXPECT_GT(leaving.stored(), 0U);
  EXPECT_EQ(leaving.in_memory() + leaving.stored(), free.in_memory());
  for (int k = 0; k < 20; ++k) {
    const auto expected = free.state(key_of(k));
    EXPECT_EQ(packing.state(key_of(k)), expected) << k;
    EXPECT_EQ(leaving.state(key_of(k)), expected) << k;
    auto image = packing.image(key_of(k));
    ASSERT_EQ(image.has_value(), expected.has_value());
    if (image) {
      EXPECT_EQ(std::move(*image).finish(), expected);
    }
  }
}

// A commit has what is packed as it was, once; what it has need not be written when it leaves.
TEST(Models, PackedOnesArePartOfCommits) {
  struct Counting final : StateStore {
    std::optional<Bytes> stream() override { return memory.stream(); }
    std::optional<Bytes> get(const std::string& key) override { return memory.get(key); }
    bool holds(const std::string& key) override { return memory.holds(key); }
    std::size_t models() const override { return memory.models(); }
    void put(std::vector<KeyedState> models) override {
      written += models.size();
      memory.put(std::move(models));
    }
    bool takes_models() const override { return true; }
    std::uint64_t begin_commit() override { return memory.begin_commit(); }
    using StateStore::commit;
    void commit(std::uint64_t ticket, Bytes stream, const NextState& next) override {
      memory.commit(ticket, std::move(stream), next);
    }

    MemoryStore memory;
    std::size_t written = 0;
  } store;
  Models models(make, {}, &store, room_for(2, 8));
  for (int k = 0; k < 8; ++k) learn(models.of(key_of(k)), k);
  EXPECT_EQ(models.packed(), 6U);
  EXPECT_EQ(store.written, 0U);

  std::map<std::string, std::uint64_t> samples;
  std::vector<KeyedState> states;
  const auto ticket = store.begin_commit();
  models.begin_commit([&](CheckpointImage image) {
    const std::string key = image.key();
    states.push_back({key, std::move(image).finish()});
    samples[key] += model_of(checkpoint_of(states.back().state))->samples();
  });
  learn(models.of(key_of(0)), 1);  // was packed: comes back, and another goes
  EXPECT_EQ(models.packed(), 6U);
  while (models.give_next()) {
  }
  EXPECT_EQ(samples.size(), 8U);
  for (const auto& [key, n] : samples) EXPECT_EQ(n, 1U) << key;
  store.commit(ticket, {}, states);
  models.committed(true);

  for (int k = 8; k < 14; ++k) learn(models.of(key_of(k)), k);  // those that had not changed leave
  EXPECT_EQ(models.in_memory(), 8U);
  EXPECT_EQ(store.written, 0U);
  for (int k = 14; k < 20; ++k) learn(models.of(key_of(k)), k);
  EXPECT_GT(store.written, 0U);
  EXPECT_EQ(models.of(key_of(0)).samples(), 2U);
  for (int k = 1; k < 20; ++k) EXPECT_EQ(models.of(key_of(k)).samples(), 1U) << k;
}

TEST(Models, AForgottenOneIsGoneAlsoIfItWasPacked) {
  Models models(make, {}, nullptr, room_for(1));
  for (int k = 0; k < 5; ++k) learn(models.of(key_of(k)), k);
  EXPECT_EQ(models.packed(), 4U);
  const std::uint64_t before = models.bytes();
  EXPECT_TRUE(models.forget(key_of(2)));
  EXPECT_FALSE(models.holds(key_of(2)));
  EXPECT_EQ(models.packed(), 3U);
  EXPECT_LT(models.bytes(), before);
  EXPECT_TRUE(models.forget(key_of(4)));  // the last that was alive
  EXPECT_EQ(models.packed(), 3U);
  EXPECT_EQ(models.pending(), 0U);
  for (int k : {0, 1, 3}) {
    learn(models.of(key_of(k)), k);
    EXPECT_EQ(models.of(key_of(k)).samples(), 2U);
  }
  EXPECT_EQ(models.of(key_of(2)).samples(), 0U);
}

TEST(Models, SmallOnesAndThoseThatBecomeNoSmallerAreNotPacked) {
  MemoryStore store;
  Models small(make, {}, &store, {.bytes = 50'000, .of_one_model = [] { return 10'000; }});
  Models dense([] { return make_learner({.network = {.inputs = 150}, .rule = Rls{}}); }, {}, &store,
               {.bytes = 500'000, .of_one_model = [] { return large; }});
  for (int k = 0; k < 20; ++k) {
    learn(small.of(key_of(k)), k);
    dense.of("dense " + std::to_string(k));
  }
  for (Models* models : {&small, &dense}) {
    EXPECT_EQ(models->packed(), 0U);
    EXPECT_LE(models->in_memory(), 5U);
    EXPECT_EQ(models->evictions(), 20 - models->in_memory());
  }
}

// As many as may be: a quarter of the memory is for those that live.
TEST(Models, PackedOnesHaveAnEnd) {
  const ModelLimits limits = room_for(4);
  const auto network = [] { return make_learner({.network = {.inputs = 70}, .rule = Rls{}}); };
  Models alone(network, {}, nullptr, limits);
  std::size_t refused = 0;
  for (int k = 0; k < 20; ++k) {
    try {
      alone.of(key_of(k));
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find("--memory"), std::string::npos);
      ++refused;
    }
  }
  EXPECT_GT(alone.packed(), 2U);
  EXPECT_GT(alone.in_memory(), 5U);
  EXPECT_EQ(alone.in_memory() + refused, 20U);
  EXPECT_LE(alone.bytes(), limits.bytes);
  for (int round = 0; round < 2; ++round)
    for (int k = 0; k < 20; ++k)
      EXPECT_EQ(alone.find(key_of(k)) != nullptr, k < static_cast<int>(20 - refused));

  MemoryStore store;
  Models with_store(network, {}, &store, limits);
  for (int k = 0; k < 20; ++k) with_store.of(key_of(k));
  EXPECT_GT(with_store.packed(), 2U);
  EXPECT_GE(with_store.in_memory() - with_store.packed(), 1U);
  EXPECT_EQ(with_store.in_memory() + with_store.stored(), 20U);
  EXPECT_LE(with_store.bytes(), limits.bytes);
}

}  // namespace
}  // namespace kalstream

// What every store promises, and what is peculiar to each.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <span>

#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"
#include "stores/file_store.h"
#include "stores/folder_store.h"
#include "stores/memory_store_test_support.h"
#include "temporary_folder.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

Bytes bytes(const std::string& text) {
  Checkpoint checkpoint;
  for (const char c : text) checkpoint.stream.push_back(static_cast<std::byte>(c));
  return to_bytes(checkpoint);
}

KeyedState state(const std::string& key, const std::string& text) { return {key, bytes(text)}; }

void commit(StateStore& store, const std::string& stream, std::vector<KeyedState> models) {
  store.commit(store.begin_commit(), bytes(stream), std::move(models));
}

// Memory and folder alike.
void keeps_models(StateStore& store) {
  EXPECT_FALSE(store.stream());
  EXPECT_FALSE(store.get("a"));
  store.put({state("a", "1"), state("", "none")});
  EXPECT_EQ(store.get("a"), bytes("1"));
  EXPECT_EQ(store.get(""), bytes("none"));
  EXPECT_EQ(store.models(), 2U);
  commit(store, "s1", {state("b", "1")});
  EXPECT_EQ(store.stream(), bytes("s1"));
  EXPECT_TRUE(store.holds("b"));
  EXPECT_FALSE(store.holds("c"));
  EXPECT_EQ(store.models(), 3U);

  // Put after a commit has begun: it is there, but not part of it.
  store.put({state("a", "2")});
  const std::uint64_t ticket = store.begin_commit();
  store.put({state("a", "3"), state("b", "3")});
  store.commit(ticket, bytes("s2"), {state("b", "2")});
  EXPECT_EQ(store.get("a"), bytes("3"));
  EXPECT_EQ(store.get("b"), bytes("3"));
  EXPECT_EQ(store.models(), 3U);
}

// A model without a state is gone, whatever was put or committed before.
void forgets_models(StateStore& store) {
  commit(store, "s1", {state("a", "1"), state("b", "1")});
  store.put({state("c", "1")});
  store.put({{"a", {}}, {"c", {}}, {"d", {}}});
  for (const char* key : {"a", "c", "d"}) {
    EXPECT_FALSE(store.holds(key)) << key;
    EXPECT_FALSE(store.get(key)) << key;
  }
  EXPECT_EQ(store.models(), 1U);
  commit(store, "s2", {});
  EXPECT_FALSE(store.get("a"));
  EXPECT_EQ(store.models(), 1U);

  // One that comes back before the commit, and one that goes while another is under way.
  store.put({{"b", {}}});
  const std::uint64_t ticket = store.begin_commit();
  store.put({{"e", {}}});
  store.commit(ticket, bytes("s3"), {state("b", "3"), state("e", "3")});
  EXPECT_EQ(store.get("b"), bytes("3"));
  EXPECT_FALSE(store.get("e"));
  commit(store, "s4", {});
  EXPECT_EQ(store.get("b"), bytes("3"));
  EXPECT_FALSE(store.get("e"));
}

TEST(MemoryStore, ForgetsModels) {
  MemoryStore store;
  forgets_models(store);
}

TEST(FolderStore, ForgetsModels) {
  const TemporaryFolder folder;
  {
    FolderStore store(folder.path / "s");
    forgets_models(store);
    for (int k = 0; k < 17; ++k) commit(store, "s5", {});  // also as the previous one
  }
  FolderStore again(folder.path / "s");
  EXPECT_EQ(again.remark(), "");
  EXPECT_EQ(again.models(), 1U);
  EXPECT_EQ(again.keys(10), std::vector<std::string>{"b"});
  EXPECT_TRUE(again.keys(0).empty());
  EXPECT_EQ(again.get("b"), bytes("3"));
}

TEST(MemoryStore, KeepsModels) {
  MemoryStore store;
  keeps_models(store);
  store.crash();
  EXPECT_EQ(store.get("a"), bytes("2"));
  EXPECT_EQ(store.get("b"), bytes("2"));
}

TEST(FolderStore, KeepsModels) {
  const TemporaryFolder folder;
  {
    FolderStore store(folder.path / "s");
    keeps_models(store);
  }
  FolderStore again(folder.path / "s");
  EXPECT_EQ(again.stream(), bytes("s2"));
  EXPECT_EQ(again.get("a"), bytes("2"));  // what was put after the commit means nothing any more
  EXPECT_EQ(again.get("b"), bytes("2"));
  EXPECT_EQ(again.models(), 3U);
  EXPECT_EQ(read_folder(folder.path / "s", "b"), bytes("2"));
  EXPECT_EQ(read_folder(folder.path / "s", std::nullopt), bytes("s2"));
  EXPECT_FALSE(read_folder(folder.path / "s", "c"));
}

// A model may leave memory while the first commit that has it is written, or fails.
TEST(FolderStore, CountsEveryModelOnce) {
  const TemporaryFolder folder;
  FolderStore store(folder.path / "s");
  for (const bool fails : {true, false, false}) {
    int step = 0;
    const auto next = [&]() -> std::optional<KeyedState> {
      switch (step++) {
        case 0:
          return state("a", "1");
        case 1:
          return state("b", "1");
        case 2:
          store.put({state("a", "2"), state("c", "2")});
          return state("d", "1");
        default:
          if (fails) throw std::runtime_error("no more");
          return {};
      }
    };
    const std::uint64_t ticket = store.begin_commit();
    if (fails)
      EXPECT_THROW(store.commit(ticket, bytes("s"), next), std::runtime_error);
    else
      store.commit(ticket, bytes("s"), next);
    EXPECT_EQ(store.models(), fails ? 2U : 4U);
    EXPECT_EQ(store.get("a"), bytes("2"));
  }
}

TEST(FolderStore, AnyKeyIsAKey) {
  const TemporaryFolder folder;
  FolderStore store(folder.path / "s");
  const std::vector<std::string> keys{"../a b",
                                      std::string("a\0b", 3),
                                      "ä",
                                      "A",
                                      "a",
                                      std::string(100'000, 'x'),
                                      std::string(100'001, 'x')};
  std::vector<KeyedState> models;
  for (const std::string& key : keys) models.push_back(state(key, key));
  commit(store, "s", models);
  for (const std::string& key : keys) EXPECT_EQ(store.get(key), bytes(key));
  EXPECT_EQ(store.models(), keys.size());
}

TEST(FolderStore, IsForOneProcessAtATime) {
  const TemporaryFolder folder;
  FolderStore store(folder.path / "s");
  try {
    FolderStore second(folder.path / "s");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("in use by process " + std::to_string(::getpid())),
              std::string::npos)
        << error.what();
  }
}

TEST(FolderStore, LeavesTheFoldersOfOthersAlone) {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "letters.txt") << "dear";
  EXPECT_THROW(FolderStore(folder.path), std::invalid_argument);
}

/// What a folder held after each of its commits: the stream and three models, of which two change.
class History {
 public:
  explicit History(const fs::path& folder) : folder_(folder) {
    for (int n = 1; n <= 20; ++n) {
      now_["a"] = now_[n % 2 == 0 ? "b" : "c"] = std::string(2000, 'x') + std::to_string(n);
      states_[std::to_string(n)] = now_;
    }
  }

  /// Makes all commits; before the store is closed, `then`.
  void write(const std::function<void()>& then = [] {}) const {
    FolderStore store(folder_);
    for (int n = 1; n <= 20; ++n) {
      const auto& models = states_.at(std::to_string(n));
      const std::string other = n % 2 == 0 ? "b" : "c";
      commit(store, std::to_string(n),
             {state("a", models.at("a")), state(other, models.at(other))});
    }
    then();
  }

  /// Which commit the folder holds, whole; 0: none.
  int commit_in(FolderStore& store) const {
    for (const auto& [n, models] : states_) {
      if (store.stream() != bytes(n)) continue;
      for (const auto& [key, text] : models) EXPECT_EQ(store.get(key), bytes(text)) << n << key;
      return std::stoi(n);
    }
    return 0;
  }

 private:
  fs::path folder_;
  std::map<std::string, std::string> now_;
  std::map<std::string, std::map<std::string, std::string>> states_;
};

TEST(FolderStore, TheOneBeforeStandsInForADamagedOne) {
  const TemporaryFolder folder(test::in_memory());
  const fs::path sound = folder.path / "sound";
  const fs::path damaged = folder.path / "s";
  const History history(sound);
  history.write();
  const auto size = static_cast<std::int64_t>(fs::file_size(sound / "state.db"));
  const auto expect_recovered = [&](const std::function<void(const fs::path&)>& damage) {
    fs::remove_all(damaged);
    fs::copy(sound, damaged);
    damage(damaged / "state.db");
    FolderStore store(damaged);
    const int n = history.commit_in(store);
    EXPECT_GE(n, 16);
    EXPECT_EQ(store.remark().empty(), n == 20) << store.remark();
    commit(store, "21", {});
    return n;
  };
  int found = 0;
  for (std::int64_t at = 0; at < size; at += 509)
    found += expect_recovered([at](const fs::path& path) {
               std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
               char c = 0;
               file.seekg(at).get(c);
               file.seekp(at).put(static_cast<char>(c ^ 0x10));
             }) < 20;
  EXPECT_GT(found, 0);
  for (const std::int64_t length : {std::int64_t{0}, std::int64_t{50}, size / 2, size - 4096})
    expect_recovered([length](const fs::path& path) {
      fs::resize_file(path, static_cast<std::uintmax_t>(length));
    });
  EXPECT_TRUE(fs::exists(damaged / "state.db.damaged"));
  EXPECT_LT(expect_recovered([](const fs::path& path) { fs::remove(path); }), 20);

  fs::remove(sound / "state.db.previous");
  fs::resize_file(sound / "state.db", 5000);
  EXPECT_THROW(FolderStore{sound}, SnapshotError);
  EXPECT_EQ(fs::file_size(sound / "state.db"), 5000U);  // left as it is
}

// A disk that gives one block for another: wherever that is, it is noticed when the store is
// opened.
TEST(FolderStore, PagesInEachOthersPlacesAreNoticed) {
  const TemporaryFolder folder(test::in_memory());
  const History history(folder.path / "sound");
  history.write();
  constexpr std::size_t page = 4096;
  std::string whole;
  {
    std::ifstream file(folder.path / "sound" / "state.db", std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::size_t pages = whole.size() / page;
  ASSERT_GT(pages, 8U);
  for (std::size_t a = 0; a < pages; ++a)
    for (std::size_t b = a + 1; b < pages; ++b) {
      fs::remove_all(folder.path / "s");
      fs::copy(folder.path / "sound", folder.path / "s");
      std::string swapped = whole;
      std::ranges::swap_ranges(std::span(swapped).subspan(a * page, page),
                               std::span(swapped).subspan(b * page, page));
      std::ofstream(folder.path / "s" / "state.db", std::ios::binary) << swapped;
      FolderStore store(folder.path / "s");
      const int n = history.commit_in(store);
      EXPECT_GE(n, 16);
      EXPECT_EQ(store.remark().empty(), n == 20) << a << ' ' << b << store.remark();
      for (int k = 0; k < 3; ++k) commit(store, "21", {state("a", "21"), state("c", "21")});
      EXPECT_EQ(store.get("a"), bytes("21"));
    }
}

// The one that was set aside is kept, however often that happens, and what SQLite had beside it.
TEST(FolderStore, NothingDamagedIsOverwritten) {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "s";
  const History history(path);
  for (int times = 1; times <= 2; ++times) {
    history.write();
    fs::resize_file(path / "state.db", 5000);
    FolderStore store(path);
    EXPECT_FALSE(store.remark().empty());
  }
  EXPECT_TRUE(fs::exists(path / "state.db.damaged"));
  EXPECT_TRUE(fs::exists(path / "state.db.damaged-2"));
}

// Killed, and then somebody removes the log: what is left is part of one commit and part of
// another.
TEST(FolderStore, ALogThatIsGoneIsNoticed) {
  const TemporaryFolder folder;
  const History history(folder.path / "running");
  history.write([&] { fs::copy(folder.path / "running", folder.path / "killed"); });
  ASSERT_TRUE(fs::exists(folder.path / "killed" / "state.db-wal"));
  fs::copy(folder.path / "killed", folder.path / "without");
  fs::remove(folder.path / "without" / "state.db-wal");
  fs::remove(folder.path / "without" / "state.db-shm");
  FolderStore with(folder.path / "killed");
  EXPECT_EQ(history.commit_in(with), 20);
  FolderStore without(folder.path / "without");
  EXPECT_GE(history.commit_in(without), 16);
}

TEST(FolderStore, AStateWithoutItsSealIsRefused) {
  const TemporaryFolder folder;
  const History history(folder.path / "s");
  history.write();
  {
    Database(folder.path / "s" / "state.db").run("DROP TABLE seal");
    fs::remove(folder.path / "s" / "state.db.previous");
  }
  EXPECT_THROW(FolderStore(folder.path / "s"), SnapshotError);
}

TEST(FileStore, TheOneBeforeStandsInForADamagedOne) {
  const TemporaryFolder folder;
  const auto path = folder.path / "s.kal";
  FileStore store(path);
  EXPECT_FALSE(store.stream());
  commit(store, "1", {});
  commit(store, "2", {});
  EXPECT_EQ(store.stream(), bytes("2"));
  EXPECT_EQ(store.remark(), "");
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_EQ(store.stream(), bytes("1"));
  EXPECT_NE(store.remark().find("s.kal.previous"), std::string::npos);
  EXPECT_TRUE(fs::exists(path.string() + ".damaged"));
  commit(store, "3", {});  // the one before it is a sound one
  std::ofstream(path, std::ios::app) << "more";
  EXPECT_EQ(store.stream(), bytes("1"));
  EXPECT_TRUE(fs::exists(path.string() + ".damaged-2"));
  std::ofstream(path, std::ios::app) << "more";
  std::ofstream(path.string() + ".previous", std::ios::app) << "more";
  EXPECT_THROW(store.stream(), SnapshotError);
}

TEST(FileStore, IsForOneProcessAtATime) {
  const TemporaryFolder folder;
  const FileStore store(folder.path / "s.kal");
  EXPECT_THROW(FileStore(folder.path / "s.kal"), std::runtime_error);
}

}  // namespace
}  // namespace kalstream

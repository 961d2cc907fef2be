// What every store promises, and what is peculiar to each.
#include <gtest/gtest.h>

#include <fstream>

#include "engine/checkpoint.h"
#include "kalstream/snapshot.h"
#include "stores/file_store.h"
#include "stores/folder_store.h"
#include "stores/memory_store.h"
#include "temporary_folder.h"

namespace kalstream {
namespace {

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

TEST(FolderStore, TakesOverTheFilesOfEarlierVersions) {
  const TemporaryFolder folder;
  const auto write = [&](const std::filesystem::path& path, const Bytes& content) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size()));
  };
  write(folder.path / "stream.kal", bytes("old"));
  const Bytes model = to_bytes({.key = "a/b", .model = Bytes(3)});
  write(folder.path / "models" / "a%2Fb.kal", model);
  {
    FolderStore store(folder.path);
    EXPECT_EQ(store.stream(), bytes("old"));
    EXPECT_EQ(store.get("a/b"), model);
    EXPECT_EQ(store.models(), 1U);
    commit(store, "new", {});
  }
  EXPECT_EQ(FolderStore(folder.path).stream(), bytes("new"));
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

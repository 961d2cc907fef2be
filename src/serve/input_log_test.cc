#include "serve/input_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "faulty_system.h"
#include "support.h"
#include "temporary_folder.h"

namespace kalstream::serve {
namespace {

namespace fs = std::filesystem;
using test::BrokenSystem;
using test::Fault;
using test::FaultySystem;
using test::TemporaryFolder;

struct Entry {
  Input::Kind kind;
  std::int64_t at;
  std::string key;
  std::string body;
  bool operator==(const Entry&) const = default;
};

/// What the k-th holds; some are large.
Entry entry(int k) {
  return {
      k % 3 == 0 ? Input::Kind::csv : Input::Kind::object, 1000 + k, k % 2 ? "key" : "",
      std::string(k % 4 == 3 ? 70'000 : static_cast<std::size_t>(k), static_cast<char>('a' + k))};
}

void append(InputLog& log, int k) {
  const Entry e = entry(k);
  log.append({e.kind, e.at, e.key, e.body});
}

std::vector<Entry> all_from(InputLog& log, std::uint64_t from,
                            std::vector<std::string>* remarks = nullptr) {
  std::vector<Entry> all;
  auto said = log.replay(from, [&](const Input& i) {
    all.push_back({i.kind, i.at, std::string(i.key), std::string(i.body)});
  });
  if (remarks != nullptr) *remarks = said;
  return all;
}

std::vector<Entry> entries(int first, int last) {
  std::vector<Entry> all;
  for (int k = first; k < last; ++k) all.push_back(entry(k));
  return all;
}

fs::path last_file(const fs::path& folder) {
  fs::path last;
  for (const auto& file : fs::directory_iterator(folder)) last = std::max(last, file.path());
  return last;
}

class InputLogTest : public testing::Test {
 protected:
  std::string path() const { return folder_.path.string(); }

  TemporaryFolder folder_{test::in_memory()};
};

TEST_F(InputLogTest, WhatWasWrittenComesBack) {
  {
    InputLog log(path(), /*sync=*/false);
    EXPECT_TRUE(all_from(log, 1).empty());
    for (int k = 0; k < 8; ++k) {
      if (k == 3 || k == 5) log.begin_file();
      append(log, k);
    }
    EXPECT_EQ(log.next(), 9U);
  }
  InputLog log(path(), /*sync=*/true);
  std::vector<std::string> remarks;
  EXPECT_EQ(all_from(log, 1, &remarks), entries(0, 8));
  EXPECT_TRUE(remarks.empty());
  EXPECT_EQ(all_from(log, 5), entries(4, 8));
  append(log, 8);
  EXPECT_EQ(all_from(log, 8), entries(7, 9));
  EXPECT_TRUE(all_from(log, 10).empty());
}

TEST_F(InputLogTest, OldFilesGo) {
  InputLog log(path(), false);
  all_from(log, 1);
  for (int k = 0; k < 6; ++k) {
    log.begin_file();
    append(log, k);
  }
  log.remove_before(4);
  EXPECT_EQ(all_from(log, 4), entries(3, 6));
  std::vector<std::string> remarks;
  EXPECT_EQ(all_from(log, 2, &remarks), entries(3, 6));
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_NE(remarks[0].find("inputs 2 to 3 are missing"), std::string::npos) << remarks[0];
}

// A process that is killed, or a machine that loses its power, leaves a part of the last entry.
TEST_F(InputLogTest, ALastEntryThatIsNotWholeIsLeftOut) {
  std::uintmax_t whole = 0;
  {
    InputLog log(path(), false);
    all_from(log, 1);
    for (int k = 0; k < 5; ++k) append(log, k);
    whole = fs::file_size(last_file(folder_.path));
    append(log, 5);
  }
  const fs::path file = last_file(folder_.path);
  const auto size = fs::file_size(file);
  const TemporaryFolder copy(test::in_memory());
  for (std::uintmax_t cut = whole + 1; cut < size; ++cut) {
    const fs::path there = copy.path / file.filename();
    fs::copy_file(file, there, fs::copy_options::overwrite_existing);
    fs::resize_file(there, cut);
    InputLog log(copy.path.string(), false);
    std::vector<std::string> remarks;
    EXPECT_EQ(all_from(log, 1, &remarks), entries(0, 5)) << cut;
    ASSERT_EQ(remarks.size(), 1U);
    append(log, 5);
    EXPECT_EQ(all_from(log, 1, &remarks), entries(0, 6));
    EXPECT_TRUE(remarks.empty());
    for (const auto& left : fs::directory_iterator(copy.path)) fs::remove(left.path());
  }
}

/// Changes one bit of a file.
void flip(const fs::path& path, std::uintmax_t byte, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(byte));
  const int c = file.get();
  file.seekp(static_cast<std::streamoff>(byte));
  file.put(static_cast<char>(c ^ (1 << bit)));
}

// Any bit of any entry, whether it is the last one, or others follow in the file or in the next.
TEST_F(InputLogTest, DamageCostsTheEntryThatItHit) {
  std::vector<Entry> whole;
  {
    InputLog log(path(), false);
    all_from(log, 1);
    for (const int k : {0, 1, 2, 4, 5, 6}) {
      if (k == 4) log.begin_file();
      append(log, k);
      whole.push_back(entry(k));
    }
  }
  for (const auto& file : fs::directory_iterator(folder_.path))
    for (std::uintmax_t bit = 0; bit < 8 * file.file_size(); bit += test::one_in(7)) {
      const TemporaryFolder copy(test::in_memory());
      fs::copy(folder_.path, copy.path);
      const fs::path damaged = copy.path / file.path().filename();
      flip(damaged, bit / 8, static_cast<int>(bit % 8));
      std::vector<Entry> expected = whole;
      std::vector<std::string> remarks;
      InputLog log(copy.path.string(), false);
      const auto found = all_from(log, 1, &remarks);
      ASSERT_EQ(found.size(), whole.size() - 1) << bit;
      const auto lost = std::ranges::mismatch(found, whole).in2;
      const auto number = lost - whole.begin();
      expected.erase(expected.begin() + number);
      ASSERT_EQ(found, expected) << bit;
      ASSERT_EQ(remarks.size(), 1U);
      ASSERT_EQ(remarks[0].find(damaged.string() + ": input " + std::to_string(number + 1) + ' '),
                0U)
          << remarks[0];
      ASSERT_NE(remarks[0].find(damaged.string() + ".damaged"), std::string::npos) << remarks[0];
      ASSERT_EQ(log.next(), 7U);
      append(log, 7);
      expected.push_back(entry(7));
      EXPECT_EQ(all_from(log, 1), expected);
      log.begin_file();
      append(log, 8);
      log.remove_before(8);
      EXPECT_TRUE(fs::exists(damaged.string() + ".damaged"));
      EXPECT_EQ(log.replay(8, [](const Input&) {}).size(), 0U);
    }
}

// Its length is not known: the next one is looked for, as far as it takes.
TEST_F(InputLogTest, ALongEntryWithADamagedHeadIsPassedOver) {
  const std::string long_body(3'000'001, 'x');
  {
    InputLog log(path(), false);
    all_from(log, 1);
    log.append({.body = long_body});
    append(log, 1);
  }
  flip(last_file(folder_.path), 9, 3);
  InputLog log(path(), false);
  EXPECT_EQ(all_from(log, 1), entries(1, 2));
  EXPECT_EQ(log.next(), 3U);
}

TEST_F(InputLogTest, AFullDiskLeavesNothingBehind) {
  BrokenSystem system(ENOSPC, {System::Call::write, System::Call::sync});
  InputLog log(path(), true, system);
  all_from(log, 1);
  append(log, 0);
  system.broken = true;
  EXPECT_THROW(append(log, 1), std::runtime_error);
  EXPECT_THROW(append(log, 1), std::runtime_error);
  system.broken = false;
  append(log, 1);
  EXPECT_EQ(all_from(log, 1), entries(0, 2));
}

// Whatever call fails: an entry that append() has returned from is there, and in its order.
TEST_F(InputLogTest, NothingAcknowledgedIsLost) {
  for (const Fault fault :
       {Fault::io_error, Fault::disk_full, Fault::interruption, Fault::half_done})
    for (std::uint64_t number = 1;; ++number) {
      const TemporaryFolder folder(test::in_memory());
      FaultySystem system(fault, number);
      std::vector<Entry> acknowledged;
      try {
        InputLog log(folder.path.string(), true, system);
        all_from(log, 1);
        for (int k = 0; k < 6; ++k) {
          if (k == 3) log.begin_file();
          if (k == 5) log.remove_before(2);
          try {
            append(log, k);
            acknowledged.push_back(entry(k));
          } catch (const std::runtime_error&) {
          }
        }
      } catch (const std::runtime_error&) {  // could not even be opened, or cleaned up
      }
      InputLog log(folder.path.string(), false);
      EXPECT_EQ(all_from(log, 1), acknowledged) << static_cast<int>(fault) << ' ' << number;
      if (!system.met()) break;
    }
}

}  // namespace
}  // namespace kalstream::serve

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "io/atomic_file.h"
#include "support.h"
#include "temporary_folder.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Learner> learner_after(std::size_t samples) {
  auto learner = make_scaled_learner({test::small_network(2, 2, 1), Algorithm1{}});
  const auto stream = test::random_stream(1, 2, 1, samples);
  for (std::size_t t = 0; t < samples; ++t) learner->learn(stream.x[t], stream.d[t]);
  return learner;
}

std::unique_ptr<Learner> read_snapshot(const fs::path& file) { return load(read_bytes(file)); }

std::string error_of(const fs::path& file) {
  try {
    read_snapshot(file);
    return "";
  } catch (const SnapshotError& error) {
    return error.what();
  }
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(SnapshotFile, ComesBackAndKeepsThePreviousOne) {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path / "learnt.kal";
  for (const std::size_t samples : {5, 9, 14}) {
    const auto learner = learner_after(samples);
    write_snapshot(file, *learner);
    EXPECT_EQ(save(*read_snapshot(file)), save(*learner));
  }
  EXPECT_EQ(read_snapshot(file.string() + ".previous")->samples(), 9U);
  EXPECT_EQ(files_in(folder.path), 2U);
}

TEST(SnapshotFile, ALinkIsFollowed) {
  const test::TemporaryFolder folder;
  write_snapshot(folder.path / "real", *learner_after(3));
  fs::create_symlink("real", folder.path / "link");
  write_snapshot(folder.path / "link", *learner_after(4));
  EXPECT_TRUE(fs::is_symlink(folder.path / "link"));
  EXPECT_EQ(read_snapshot(folder.path / "real")->samples(), 4U);
  EXPECT_EQ(read_snapshot(folder.path / "real.previous")->samples(), 3U);
}

TEST(SnapshotFile, WhatCannotBeWrittenLeavesWhatWasThere) {
  const test::TemporaryFolder folder;
  const fs::path file = folder.path / "learnt.kal";
  write_snapshot(file, *learner_after(5));
  fs::create_directories(folder.path / "learnt.kal.previous" / "in the way");
  EXPECT_THROW(write_snapshot(file, *learner_after(6)), std::runtime_error);
  EXPECT_EQ(read_snapshot(file)->samples(), 5U);
  EXPECT_EQ(files_in(folder.path), 2U);
  EXPECT_THROW(write_snapshot(folder.path / "no" / "such", *learner_after(6)), std::runtime_error);
}

TEST(SnapshotFile, ErrorsSayWhy) {
  const test::TemporaryFolder folder;
  folder.write("text", "not what you think");
  folder.write("empty", "");
  write_snapshot(folder.path / "cut", *learner_after(5));
  fs::resize_file(folder.path / "cut", 1000);
  for (const auto& [name, why] : {std::pair("missing", "cannot open"), std::pair(".", "cannot"),
                                  std::pair("text", "not a kalstream snapshot"),
                                  std::pair("empty", "not a kalstream snapshot"),
                                  std::pair("cut", "cut off: 1000 bytes of ")}) {
    const std::string error = error_of(folder.path / name);
    EXPECT_NE(error.find(why), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace kalstream

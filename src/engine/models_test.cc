#include "stream/models.h"

#include <gtest/gtest.h>

#include <fstream>

#include "kalstream/snapshot.h"
#include "temporary_folder.h"

namespace kalstream {
namespace {

using test::TemporaryFolder;

struct Deaf final : ModelListener {
  void answered(const Answer&) override {}
  void scored(std::span<const double>, std::span<const Interval>,
              std::span<const double>) override {}
  void stepped(const StepReport&) override {}
};

std::unique_ptr<Learner> make() { return make_learner({.network = {.inputs = 1}, .rule = Mean{}}); }

void learn(Models& models, const std::string& key, double d) {
  Deaf deaf;
  models.of(key).take({.kind = Sample::Kind::inputs, .x = {0}, .d = {d}}, deaf);
}

TEST(Models, ThoseNotUsedGoToDiskAndComeBack) {
  const TemporaryFolder folder;
  const auto files = folder.path / "models";
  {
    Models models(make, {}, files, 4);
    for (int round = 0; round < 3; ++round)
      for (int k = 0; k < 10; ++k) learn(models, "key " + std::to_string(k), k);
    EXPECT_LE(models.in_memory(), 4U);
    EXPECT_EQ(models.in_memory() + models.on_disk(), 10U);
    EXPECT_GT(models.evictions(), 10U);
    for (int k = 0; k < 10; ++k) EXPECT_EQ(models.of("key " + std::to_string(k)).samples(), 3U);
    models.write();
  }
  Models again(make, {}, files, 100);
  EXPECT_EQ(again.on_disk(), 10U);
  for (int k = 0; k < 10; ++k) EXPECT_EQ(again.of("key " + std::to_string(k)).samples(), 3U);
  EXPECT_EQ(again.on_disk(), 0U);
}

TEST(Models, WithoutAFolderThereIsAnEnd) {
  Models models(make, {}, {}, 2);
  learn(models, "a", 1);
  learn(models, "b", 1);
  EXPECT_THROW(learn(models, "c", 1), DataError);
  EXPECT_EQ(models.of("a").samples(), 1U);
}

TEST(Models, AnyKeyIsAFileName) {
  EXPECT_EQ(Models::file_name("plant-7_b"), "plant-7_b.kal");
  EXPECT_EQ(Models::file_name("../a b"), "%2E%2E%2Fa%20b.kal");
  EXPECT_EQ(Models::file_name("\xc3\xa4"), "%C3%A4.kal");
  const std::string longest = Models::file_name(std::string(5000, 'x'));
  EXPECT_LT(longest.size(), 200U);
  EXPECT_NE(longest, Models::file_name(std::string(5001, 'x')));
  EXPECT_NE(Models::file_name("A"), Models::file_name("a"));
}

TEST(Models, ADamagedFileIsRefusedByName) {
  const TemporaryFolder folder;
  {
    Models models(make, {}, folder.path, 4);
    learn(models, "a", 1);
    models.write();
  }
  std::ofstream(folder.path / "a.kal", std::ios::app) << "more";
  Models models(make, {}, folder.path, 4);
  try {
    models.of("a");
    FAIL();
  } catch (const SnapshotError& error) {
    EXPECT_NE(std::string(error.what()).find("a.kal: the checkpoint is followed by other bytes"),
              std::string::npos);
  }
  learn(models, "b", 1);  // others go on
}

}  // namespace
}  // namespace kalstream

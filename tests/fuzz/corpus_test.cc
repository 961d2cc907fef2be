// Every fuzz target over its seeds, which hold all that was ever found.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz.h"

namespace kalstream::fuzz {
namespace {

TEST(FuzzCorpus, DoesNoHarm) {
  ASSERT_FALSE(targets().empty());
  for (const Target& target : targets()) {
    std::size_t seeds = 0;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(KALSTREAM_CORPUS) / target.name)) {
      SCOPED_TRACE(entry.path().string());
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      const auto all = std::as_bytes(std::span(text));
      EXPECT_NO_THROW(target.run(all));
      for (const std::size_t part : {0, 1, 2, 3})  // and cut off
        EXPECT_NO_THROW(target.run(all.first(all.size() * part / 4)));
      ++seeds;
    }
    EXPECT_GT(seeds, 0U) << target.name;
  }
}

}  // namespace
}  // namespace kalstream::fuzz

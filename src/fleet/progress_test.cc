#include "fleet/progress.h"

#include <gtest/gtest.h>

namespace kalstream::fleet {
namespace {

TEST(FleetProgress, ComesBackFromItsMetadata) {
  const Progress progress{.offset = 12345678901,
                          .replay_from = 12345670000,
                          .state_upto = 77,
                          .checksum = 0xfedcba9876543210,
                          .engine = "numerics \"1\", kernels x"};
  EXPECT_EQ(progress_of({.offset = progress.offset, .metadata = metadata_of(progress)}), progress);
  EXPECT_LT(metadata_of(progress).size(), 400u);  // brokers take 4096 bytes
}

TEST(FleetProgress, IsNotReadFromWhatOthersCommit) {
  for (const char* metadata : {"", "x", "{}", "[]", R"({"replay_from":"x"})",
                               R"({"replay_from":1,"state_upto":1,"checksum":"xy","engine":"e"})"})
    EXPECT_THROW(progress_of({.offset = 1, .metadata = metadata}), DataError) << metadata;
}

TEST(FleetProgress, AChainTellsEveryAnswerAndTheirOrder) {
  const Chain ab = chained(chained(first_chain, "a"), "b");
  EXPECT_NE(ab, chained(chained(first_chain, "b"), "a"));
  EXPECT_NE(ab, chained(first_chain, "b"));
  EXPECT_NE(part_of_checksum("k1", ab) + part_of_checksum("k2", 5),
            part_of_checksum("k2", ab) + part_of_checksum("k1", 5));
}

TEST(FleetProgress, NumbersAsText) {
  EXPECT_EQ(from_hex(hex_of(0xabc)), 0xabcu);
  EXPECT_EQ(hex_of(0xabc), "0000000000000abc");
  EXPECT_EQ(offset_of("42"), 42);
  for (const char* text : {"", "x", "4 2", "1e3"}) EXPECT_THROW(offset_of(text), DataError) << text;
}

}  // namespace
}  // namespace kalstream::fleet

#include "core/hash.h"

#include <gtest/gtest.h>

#include <span>

namespace kalstream {
namespace {

// From an independent transcription in Python.
TEST(Hash, KnownValues) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8c);
  EXPECT_EQ(fnv1a("b"), 0xaf63df4c8601f1a5);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8);
  EXPECT_EQ(fnv1a("\xff"), 0xaf64724c8602eb6e);
}

TEST(Hash, PartByPart) {
  const std::string_view text = "foobar";
  const auto bytes = std::as_bytes(std::span(text));
  EXPECT_EQ(fnv1a(bytes.subspan(2), fnv1a(bytes.first(2))), fnv1a(text));
}

}  // namespace
}  // namespace kalstream

#include "schema/record.h"

#include <gtest/gtest.h>

namespace kalstream {
namespace {

TEST(Record, KeepsFieldsInTheirOrder) {
  Record record;
  EXPECT_TRUE(record.empty());
  record.add("a").number = 1;
  Value& b = record.add("b");
  b.kind = Value::Kind::text;
  b.quoted = true;
  b.text = "t";
  ASSERT_EQ(record.fields().size(), 2U);
  EXPECT_EQ(record.fields()[0].name, "a");
  EXPECT_EQ(record.fields()[1].value.text, "t");

  record.clear();  // and nothing is left of what was there
  record.add("c");
  const Value& again = record.add("b");
  EXPECT_EQ(again.kind, Value::Kind::missing);
  EXPECT_FALSE(again.quoted);
  EXPECT_EQ(again.text, "");
}

TEST(Record, FindsByName) {
  Record record;
  for (const char* name : {"a", "b", "c"}) record.add(name);
  std::size_t at = 7;
  EXPECT_EQ(record.find("b", at), &record.fields()[1].value);
  EXPECT_EQ(at, 1U);
  EXPECT_EQ(record.find("b", at), &record.fields()[1].value);
  EXPECT_EQ(record.find("c", at), &record.fields()[2].value);
  EXPECT_EQ(record.find("d", at), nullptr);
  record.clear();
  EXPECT_EQ(record.find("c", at), nullptr);
}

TEST(Record, FindsAmongMany) {
  Record record;
  for (const int turn : {1, -1}) {
    record.clear();
    for (int k = 0; k < 40'000; ++k) record.add(field_name(20'000 + turn * (k - 20'000)));
    std::size_t at = 0;
    for (int k = 0; k < 40'000; ++k) {
      const std::string name = field_name(20'000 + turn * (k - 20'000));
      ASSERT_NE(record.find(name, at), nullptr) << name;
      ASSERT_EQ(at, static_cast<std::size_t>(k));
      at = 0;
    }
    EXPECT_EQ(record.find("other", at), nullptr);
  }
  record.add("other");
  std::size_t at = 0;
  EXPECT_NE(record.find("other", at), nullptr);
}

TEST(Record, NamelessFieldsAreCounted) {
  EXPECT_EQ(field_name(0), "x1");
  EXPECT_EQ(field_name(9, 'd'), "d10");
}

}  // namespace
}  // namespace kalstream

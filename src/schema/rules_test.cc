#include "schema/rules.h"

#include <gtest/gtest.h>

#include "schema/sample.h"
#include "support.h"

namespace kalstream {
namespace {

using Names = std::vector<std::string>;
using Fields = std::vector<std::pair<std::string, std::string>>;  // name and text

/// A line of JSON, free to have other fields, or a row of a table; numbers are what look like it.
Record record(const Fields& fields, bool is_row = false) {
  Record r;
  r.is_row = is_row;
  for (const auto& [name, text] : fields) {
    Value& value = r.add(name);
    value.text = text;
    interpret(text, '.', value);
  }
  return r;
}
Record row(const Fields& fields) { return record(fields, true); }

std::string complaint(const Record& r, const FieldChoice& choice) {
  try {
    settle(r, choice);
  } catch (const SchemaError& error) {
    return error.what();
  }
  return "";
}

std::string said_of(const Schema& schema) {
  std::string all;
  for (const std::string& line : remarks(schema)) all += line + "\n";
  return all;
}

TEST(Rules, TheTargetIsNamedSoOrTheLastNumber) {
  const Fields three{{"x", "1"}, {"Target", "2"}, {"z", "3"}};
  EXPECT_EQ(settle(row(three), {}).target_names(), Names{"Target"});
  EXPECT_EQ(settle(row(three), {}).input_names(), (Names{"x", "z"}));
  EXPECT_EQ(settle(row({{"a", "1"}, {"y", "2"}, {"note", "dry"}}), {}).target_names(), Names{"y"});
  const Schema list = settle(record({{"a", "1"}, {"target.1", "2"}, {"target.2", "3"}}), {});
  EXPECT_EQ(list.target_names(), (Names{"target.1", "target.2"}));
  EXPECT_NE(complaint(row({{"note", "dry"}}), {}).find("--target"), std::string::npos);
}

TEST(Rules, TheUserNamesFieldsOrTheirPlaces) {
  const Record r = row({{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}});
  const Schema named = settle(r, {.targets = {"a"}, .inputs = {"4", "b"}});
  EXPECT_EQ(named.target_names(), Names{"a"});
  EXPECT_EQ(named.input_names(), (Names{"d", "b"}));  // in the user's order
  EXPECT_EQ(settle(r, {.inputs = {"none"}}).inputs(), 0U);
  EXPECT_NE(complaint(r, {.targets = {"aa"}}).find("did you mean 'a'"), std::string::npos);
  EXPECT_NE(complaint(r, {.targets = {"a"}, .inputs = {"a"}}).find("\"a\" is the target"),
            std::string::npos);
  EXPECT_NE(complaint(r, {.inputs = {"b", "2"}}).find("named twice"), std::string::npos);
  EXPECT_NE(complaint(row({{"a", "x"}, {"b", "1"}}), {.inputs = {"a"}}).find("--category"),
            std::string::npos);
}

TEST(Rules, TextIsLeftOutAndTold) {
  const Schema schema = settle(row({{"note", "dry"}, {"", "7"}, {"a", "1"}, {"y", "2"}}), {});
  EXPECT_EQ(schema.input_names(), Names{"a"});
  const std::string said = said_of(schema);
  EXPECT_NE(said.find("left out: \"note\" (text)"), std::string::npos) << said;
  EXPECT_NE(said.find("(no name)"), std::string::npos) << said;
}

TEST(Rules, TimesAreNeverInputsByAccident) {
  const auto time_of = [](const Record& r) {
    const Schema schema = settle(r, {});
    return std::pair(schema.names(Role::time), std::string(to_string(schema.time_form)));
  };
  using Found = std::pair<Names, std::string>;
  const std::pair<std::string, std::string> a{"a", "1"}, y{"y", "2"};
  EXPECT_EQ(time_of(row({{"when", "2024-01-31T12:30:00Z"}, a, y})), Found({"when"}, "year first"));
  EXPECT_EQ(time_of(row({{"day", "31.01.2024"}, {"clock", "12:30"}, a, y})),
            Found({"day", "clock"}, "day first"));
  EXPECT_EQ(time_of(record({a, {"event_time", "1700000000"}, y})),
            Found({"event_time"}, "seconds"));
  EXPECT_EQ(time_of(record({a, {"createdAt", "1700000000000"}, y})),
            Found({"createdAt"}, "milliseconds"));
  EXPECT_EQ(time_of(record({a, {"counter", "1700000000"}, y})), Found({}, "none"));
  EXPECT_EQ(time_of(row({{"time", "0.25"}, a, y})), Found({"time"}, "number"));
  EXPECT_EQ(time_of(row({a, {"time", "0.25"}, y})), Found({}, "none"));  // a duration, perhaps
  // One is enough; another is no input either.
  const Schema two = settle(row({{"t1", "2024-01-31"}, {"t2", "2024-02-01"}, a, y}), {});
  EXPECT_EQ(two.names(Role::time), Names{"t1"});
  EXPECT_EQ(two.input_names(), Names{"a"});
  // But the user may say so, or that there is none.
  const Record epoch = record({{"ts", "1700000000"}, y});
  EXPECT_EQ(settle(epoch, {.inputs = {"ts"}}).input_names(), Names{"ts"});
  EXPECT_EQ(settle(epoch, {.time = "none"}).input_names(), Names{"ts"});
  EXPECT_NE(said_of(settle(row({{"d", "01/02/2024"}, y}), {})).find("other way round"),
            std::string::npos);
}

TEST(Rules, TargetsMayComeLaterByTheirId) {
  const Schema schema = settle(record({{"id", "8"}, {"a", "1"}, {"b", "2"}}), {});
  EXPECT_EQ(schema.input_names(), (Names{"a", "b"}));
  EXPECT_EQ(schema.target_names(), Names{"target"});
  EXPECT_NE(said_of(schema).find("\"target\" may come later"), std::string::npos);
  // A table has all the columns it will ever have.
  EXPECT_EQ(settle(row({{"id", "8"}, {"a", "1"}, {"b", "2"}}), {}).target_names(), Names{"b"});
  // An id may come in later lines, too; nothing is said of it.
  const Schema without = settle(record({{"a", "1"}, {"target", "2"}}), {});
  EXPECT_EQ(without.names(Role::id), Names{"id"});
  EXPECT_EQ(said_of(without), "");
}

TEST(Rules, SomeRecordsSettleNothing) {
  EXPECT_FALSE(can_settle(record({{"id", "8"}, {"target", "7"}}), {}));
  EXPECT_FALSE(can_settle(record({{"id", "8"}, {"ts", "2024-01-31"}, {"target", "7"}}), {}));
  EXPECT_FALSE(can_settle(record({{"id", "8"}}), {}));
  EXPECT_FALSE(can_settle(row({{"id", "8"}, {"a", ""}, {"target", "7"}}), {}));
  EXPECT_FALSE(can_settle(row({{"a", ""}, {"b", ""}}), {}));
  EXPECT_TRUE(can_settle(row({{"id", "8"}, {"target", "7"}}), {}));  // nothing else will come
  EXPECT_TRUE(can_settle(record({{"id", "8"}, {"target", "7"}}), {.inputs = {"none"}}));
  EXPECT_TRUE(can_settle(record({{"target", "7"}}), {}));
  EXPECT_TRUE(can_settle(row({{"value", ""}}), {}));
  EXPECT_FALSE(can_settle(record({{"id", "8"}, {"y", "7"}}), {.targets = {"y"}}));
}

TEST(Rules, ConstantsByNameAreLeftOut) {
  EXPECT_EQ(settle(row({{"a", "1"}, {"bias", "1"}, {"y", "2"}}), {}).input_names(), Names{"a"});
  EXPECT_EQ(settle(row({{"a", "1"}, {"bias", "3"}, {"y", "2"}}), {}).inputs(), 2U);
}

TEST(Rules, WhatWasLearntBeforeIsFoundByName) {
  const Schema before = settle(row({{"a", "1"}, {"b", "2"}, {"y", "3"}}), {});
  const Schema again = settle_as(
      before, row({{"new", "9"}, {"y", "3"}, {"b", "2"}, {"k", "dev"}, {"a", "1"}}), {.key = "k"});
  EXPECT_EQ(again.input_names(), before.input_names());
  EXPECT_EQ(again.target_names(), Names{"y"});
  EXPECT_EQ(again.names(Role::key), Names{"k"});
  EXPECT_NE(said_of(again).find("\"new\" (not learnt from before)"), std::string::npos);
  try {
    settle_as(before, row({{"aa", "1"}, {"b", "2"}, {"y", "3"}}), {});
    FAIL();
  } catch (const SchemaError& error) {
    EXPECT_EQ(std::string(error.what()),
              "what was learnt before has \"a\", which this stream lacks; it has \"aa\", \"b\", "
              "\"y\"; did you mean 'aa'?");
  }
  EXPECT_THROW(settle_as(before, row({{"a", "1"}, {"b", "2"}, {"y", "3"}}), {.targets = {"b"}}),
               SchemaError);
  // Lines of JSON may leave fields away.
  EXPECT_NO_THROW(require_fields(before, record({{"a", "1"}})));
  EXPECT_THROW(require_fields(before, record({{"a", "1"}, {"bb", "1"}})), SchemaError);
}

TEST(Rules, CategoriesHaveAnInputForEachValueAndOneForOthers) {
  SampleReader reader(settle(row({{"mode", "v0"}, {"y", "1"}}), {.categories = {"mode"}}));
  Sample sample;
  for (int k = 0; k < 20; ++k) {
    const std::string value = "v" + std::to_string(k);
    ASSERT_TRUE(reader.read(row({{"mode", value}, {"y", "1"}}), sample));
    ASSERT_EQ(sample.x.size(), Schema::category_slots);
    for (std::size_t j = 0; j < sample.x.size(); ++j)
      EXPECT_EQ(sample.x[j], static_cast<int>(j) == std::min(k, 15) ? 1 : 0) << k;
  }
  ASSERT_TRUE(reader.read(row({{"mode", ""}, {"y", "1"}}), sample));
  EXPECT_EQ(std::count(sample.x.begin(), sample.x.end(), 1.0), 0);
  EXPECT_EQ(reader.schema().input_names().back(), "mode.other");
  // The values are kept.
  Schema schema = reader.schema();
  Schema read;
  test::set_state(read, test::state_of(schema));
  EXPECT_EQ(read.fields, schema.fields);
}

TEST(Rules, ManyFieldsAreNoTrouble) {
  Fields many;
  for (int k = 0; k < 40'000; ++k) many.emplace_back("f" + std::to_string(k), "1.5");
  const Record wide = record(many);
  ASSERT_TRUE(can_settle(wide, {}));
  SampleReader reader(settle(wide, {}));
  Sample sample;
  EXPECT_TRUE(reader.read(wide, sample));
  EXPECT_EQ(sample.x.size(), 39'999U);
}

TEST(SampleReader, DatesAndClocksAreOneMoment) {
  const Record first = row({{"day", "31.01.2024"}, {"clock", "12:30:00"}, {"y", "1"}});
  SampleReader reader(settle(first, {}));
  Sample sample;
  ASSERT_TRUE(reader.read(first, sample));
  EXPECT_EQ(sample.time, "31.01.2024 12:30:00");
  ASSERT_TRUE(sample.has_moment);
  EXPECT_EQ(iso_text(sample.moment), "2024-01-31T12:30:00Z");
}

}  // namespace
}  // namespace kalstream

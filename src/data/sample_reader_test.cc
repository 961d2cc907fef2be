#include "data/sample_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/archive.h"
#include "kalstream/snapshot.h"

namespace kalstream {
namespace {

using Kind = Sample::Kind;
using Numbers = std::vector<double>;
using Names = std::vector<std::string>;

class SampleReaderTest : public testing::Test {
 protected:
  SampleReader reader(const SampleFields& fields = {}) { return {"source", fields}; }

  const Sample& read(SampleReader& r, const std::string& line) { return r.read(line, ++line_); }

  std::string complaint(SampleReader& r, const std::string& line) {
    try {
      r.read(line, ++line_);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no complaint";
  }

  std::uint64_t line_ = 0;
};

TEST_F(SampleReaderTest, ObjectsWithATarget) {
  auto r = reader();
  const Sample& s = read(r, R"({"a": 1, "id": 17, "target": 3, "b": -2.5e1})");
  EXPECT_EQ(s.kind, Kind::inputs);
  EXPECT_EQ(s.x, (Numbers{1, -25}));
  EXPECT_EQ(s.d, Numbers{3});
  EXPECT_EQ(s.id, "17");
  EXPECT_FALSE(s.id_is_text);
  EXPECT_EQ(r.input_names(), (Names{"a", "b"}));
  EXPECT_EQ(r.target_names(), Names{"target"});

  // Another order, something more, no target, another kind of id.
  read(r, R"({"new": "text", "b": 2, "id": "x\"y", "a": true})");
  EXPECT_EQ(s.x, (Numbers{1, 2}));
  EXPECT_TRUE(s.d.empty());
  EXPECT_EQ(s.id, "x\"y");
  EXPECT_TRUE(s.id_is_text);
}

TEST_F(SampleReaderTest, TheTargetIsTheLastNumberUnlessNamed) {
  auto r = reader();
  EXPECT_EQ(read(r, R"({"a": 1, "y": 3, "time": "10:30"})").d, Numbers{3});
  EXPECT_EQ(r.ignored(), Names{"time"});

  auto named = reader({.columns = {.targets = {"y", "a"}, .inputs = {"b"}}});
  const Sample& s = read(named, R"({"a": 1, "y": 3, "b": 4, "c": 5})");
  EXPECT_EQ(s.x, Numbers{4});
  EXPECT_EQ(s.d, (Numbers{3, 1}));
  EXPECT_TRUE(read(named, R"({"a": 1, "y": null, "b": 4})").d.empty());  // half a target is none

  auto ambiguous = reader();
  EXPECT_NE(complaint(ambiguous, R"({"id": 1, "a": 1, "b": 4})").find("--target"),
            std::string::npos);
  EXPECT_FALSE(ambiguous.settled());
}

TEST_F(SampleReaderTest, LabelsComeById) {
  auto r = reader({.columns = {.targets = {"y"}, .inputs = {}}});
  EXPECT_EQ(read(r, R"({"id": 1, "a": 1, "b": 2})").kind, Kind::inputs);
  const Sample& s = read(r, R"({"id": 1, "y": 5})");
  EXPECT_EQ(s.kind, Kind::label);
  EXPECT_EQ(s.d, Numbers{5});
  EXPECT_NE(complaint(r, R"({"y": 5})").find("needs all inputs"), std::string::npos);
  EXPECT_NE(complaint(r, R"({"id": 1, "a": 1, "y": 5})").find("without a number: \"b\""),
            std::string::npos);
}

TEST_F(SampleReaderTest, LinesMayLackInputsWhereThatIsAllowed) {
  const auto missing = [](const Sample& s) {
    std::vector<bool> all;
    for (const double v : s.x) all.push_back(std::isnan(v));
    return all;
  };
  using Which = std::vector<bool>;
  auto r = reader({.columns = {.targets = {"y"}, .inputs = {}}, .partial = true});
  const Sample& s = read(r, R"({"id": 1, "a": 1, "b": null, "list": [1, 2]})");
  EXPECT_EQ(s.kind, Kind::inputs);
  EXPECT_EQ(missing(s), (Which{false, true, false, false}));
  EXPECT_EQ(s.missing, 1U);
  EXPECT_EQ(r.missing_inputs(), "\"b\"");
  read(r, R"({"b": 2, "list": [null, 2], "y": 5})");
  EXPECT_EQ(missing(s), (Which{true, false, true, false}));
  EXPECT_EQ(r.missing_inputs(), "\"a\", \"list\"");
  EXPECT_EQ(s.d, Numbers{5});
  EXPECT_EQ(read(r, R"({"a": 1, "b": 2, "list": [3, 4]})").missing, 0U);
  // A target alone is one of an earlier sample if it has an id, and else of one without inputs.
  EXPECT_EQ(read(r, R"({"id": 1, "a": null, "y": 5})").kind, Kind::label);
  EXPECT_EQ(s.missing, 0U);
  EXPECT_EQ(read(r, R"({"y": 5})").kind, Kind::inputs);
  EXPECT_EQ(s.missing, 4U);
  EXPECT_EQ(read(r, R"({"id": 2})").kind, Kind::inputs);
  EXPECT_NE(complaint(r, "{}").find("nothing else in the line"), std::string::npos);
  EXPECT_NE(complaint(r, R"({"a": "text"})").find("'text'"), std::string::npos);

  auto rows = reader({.partial = true});
  read(rows, "a,b,y");
  EXPECT_EQ(missing(read(rows, "1,,3")), (Which{false, true}));
  EXPECT_EQ(missing(read(rows, ",,3")), (Which{true, true}));
  EXPECT_NE(complaint(rows, ",,").find("nothing else in the line"), std::string::npos);

  // Elsewhere a list with a gap is no label, whatever else is in the line.
  auto whole = reader({.columns = {.targets = {"y"}, .inputs = {}}});
  read(whole, R"({"id": 1, "list": [1, 2]})");
  EXPECT_NE(complaint(whole, R"({"id": 1, "list": [1, null], "y": 3})").find("needs all inputs"),
            std::string::npos);
}

TEST_F(SampleReaderTest, ListsAndArrays) {
  auto r = reader();
  const Sample& s = read(r, R"({"x": [1, 2, 3], "meta": {"x": 9}, "target": [4, 5]})");
  EXPECT_EQ(s.x, (Numbers{1, 2, 3}));
  EXPECT_EQ(s.d, (Numbers{4, 5}));
  EXPECT_EQ(r.input_names(), (Names{"x.1", "x.2", "x.3"}));
  EXPECT_NE(complaint(r, R"({"x": [1, 2], "target": [4, 5]})").find("2 numbers, not 3"),
            std::string::npos);
  EXPECT_NE(complaint(r, R"({"x": [1, "a", 2], "target": [4, 5]})").find("not a number"),
            std::string::npos);

  auto rows = reader();
  EXPECT_EQ(read(rows, "[1, 2, 3]").x, (Numbers{1, 2}));
  EXPECT_TRUE(read(rows, "[1, 2, null]").d.empty());
}

TEST_F(SampleReaderTest, DelimitedTextWithAHeader) {
  auto r = reader({.key = "sensor"});
  EXPECT_EQ(read(r, "\xef\xbb\xbf# a comment").kind, Kind::nothing);
  EXPECT_EQ(read(r, "time;sensor;id;a;y\r").kind, Kind::nothing);
  EXPECT_NE(complaint(r, "10:30;s1;7;1;2").find("--target"), std::string::npos);

  auto named = reader({.columns = {.targets = {"y"}, .inputs = {}}, .key = "sensor"});
  read(named, "time;sensor;id;a;y\r");
  const Sample& s = read(named, "10:30;\"s 1\";7;1;2\r");
  EXPECT_EQ(s.x, Numbers{1});
  EXPECT_EQ(s.d, Numbers{2});
  EXPECT_EQ(s.key, "s 1");
  EXPECT_EQ(s.id, "7");
  EXPECT_EQ(named.ignored(), Names{"time"});
  EXPECT_EQ(read(named, "").kind, Kind::nothing);
  EXPECT_EQ(read(named, "time;sensor;id;a;y").kind, Kind::nothing);  // once more, as after rotation
  EXPECT_EQ(read(named, "10:31;s2;8;;5").kind, Kind::label);
  EXPECT_EQ(read(named, "10:31;s2;8;3;").kind, Kind::inputs);
  EXPECT_TRUE(s.d.empty());
  EXPECT_NE(complaint(named, "10:31;s2;8;3").find("4 fields, but there are 5"), std::string::npos);
  EXPECT_NE(complaint(named, "10:31;;8;3;4").find("which model"), std::string::npos);
  EXPECT_NE(complaint(named, "10:31;s;8;oops;4").find("'oops'"), std::string::npos);
  read(named, "sensor;id;y;a;time");  // another order
  EXPECT_EQ(read(named, "s1;7;2;1;10:30").d, Numbers{2});
}

TEST_F(SampleReaderTest, DelimitedTextWithoutOne) {
  auto r = reader();
  const Sample& s = read(r, "1.5 2 3");
  EXPECT_EQ(s.x, (Numbers{1.5, 2}));
  EXPECT_EQ(s.d, Numbers{3});
  auto series = reader();
  EXPECT_EQ(read(series, "7").d, Numbers{7});
  EXPECT_EQ(series.inputs(), 0U);
}

TEST_F(SampleReaderTest, BadLinesNameThePlaceAndChangeNothing) {
  auto r = reader();
  EXPECT_EQ(complaint(r, "{nonsense"),
            "source:1: invalid JSON at character 3; write one object or array per line");
  read(r, R"({"a": 1, "target": 2})");
  for (const std::string line :
       {"hello", "{\"a\": 1", "3", "\"text\"", R"({"a": "1", "target": 2})", R"({"a": 1e999})",
        R"({"a": 1e101})", R"({"a": null, "target": 2})", "{}", "[]", R"({"a": [1], "target": {}})",
        "\xff\xfe"})
    EXPECT_TRUE(complaint(r, line).starts_with("source:")) << line;
  EXPECT_NE(complaint(r, std::string(2 * SampleReader::longest_line, '1')).find("longer"),
            std::string::npos);
  const Sample& s = read(r, R"({"a": 1, "target": 2})");
  EXPECT_EQ(s.x, Numbers{1});
  EXPECT_EQ(s.d, Numbers{2});
  // Nested far too deeply: refused or passed over, but no crash.
  complaint(r, std::string(500'000, '['));
  complaint(r, R"({"a": )" + std::string(500'000, '['));
}

// Garbage before the first sample must not decide what the stream is.
TEST_F(SampleReaderTest, GarbageSettlesNothing) {
  auto r = reader();
  read(r, "Connected to broker.");
  EXPECT_EQ(read(r, R"({"a": 1, "target": 2})").d, Numbers{2});
  auto delimited = reader();
  read(delimited, "Connected to broker");
  read(delimited, "a,b,c");
  EXPECT_EQ(read(delimited, "1,2,3").d, Numbers{3});
  EXPECT_EQ(delimited.target_names(), Names{"c"});
}

TEST_F(SampleReaderTest, GoesOnFromACheckpoint) {
  for (const bool json : {true, false}) {
    auto r = reader({.key = "k"});
    if (!json) read(r, "k,b,target,a");
    read(r, json ? R"({"k": "u", "b": [1, 2], "target": 3})" : "u,1,3,2");
    std::vector<std::byte> bytes;
    Archive to(bytes);
    r.exchange(to);

    auto again = reader();
    Archive from{std::span<const std::byte>(bytes)};
    again.exchange(from);
    EXPECT_EQ(from.left(), 0U);
    EXPECT_EQ(again.input_names(), r.input_names());
    const Sample& s =
        read(again, json ? R"({"target": 3, "k": "u", "b": [1, 2], "c": 9})" : "u,1,3,2");
    EXPECT_EQ(s.x, (Numbers{1, 2}));
    EXPECT_EQ(s.key, "u");

    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      auto half = reader();
      Archive short_one{std::span<const std::byte>(bytes).first(cut)};
      EXPECT_THROW(half.exchange(short_one), SnapshotError);
    }
  }
}

}  // namespace
}  // namespace kalstream

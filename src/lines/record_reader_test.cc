#include "lines/record_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "core/archive.h"
#include "kalstream/snapshot.h"
#include "schema/value.h"
#include "support.h"

namespace kalstream {
namespace {

using namespace std::string_literals;
using Names = std::vector<std::string>;

/// What a line says: "name=value …"; a text in quotes, ? for what is missing, ! for what is too
/// large.
std::string said(const Record& record) {
  std::string text;
  for (const Record::Field& f : record.fields()) {
    if (!text.empty()) text += ' ';
    text += f.name + '=';
    switch (f.value.kind) {
      case Value::Kind::missing:
        text += '?';
        break;
      case Value::Kind::too_large:
        text += '!';
        break;
      case Value::Kind::text:
        text += '\'' + f.value.text + '\'';
        break;
      case Value::Kind::number: {
        std::ostringstream number;
        number << f.value.number;
        text += number.str();
      }
    }
  }
  return text;
}

class RecordReaderTest : public testing::Test {
 protected:
  /// Of all lines: what they say, "-" for those that say nothing, "(complaint)".
  static Names read(RecordReader& reader, const Names& lines) {
    Names all;
    Record record;
    for (const std::string& line : lines) {
      try {
        all.push_back(reader.read(line, record) ? said(record) : "-");
      } catch (const DataError& error) {
        all.push_back('(' + std::string(error.what()) + ')');
      }
    }
    return all;
  }
  static Names read(const Names& lines) {
    RecordReader reader;
    return read(reader, lines);
  }
  static std::string last(const Names& lines) { return read(lines).back(); }
};

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// JSON.

TEST_F(RecordReaderTest, ObjectsKeepTheirOrder) {
  EXPECT_EQ(last({R"({"z": 2, "a": null, "y": true, "t": "abc", "n": -1.5e1})"}),
            "z=2 a=? y=1 t='abc' n=-15");
  EXPECT_EQ(last({R"({"a": 18446744073709551615, "b": -9223372036854775808})"}),
            "a=1.84467e+19 b=-9.22337e+18");
  EXPECT_EQ(last({"\xef\xbb\xbf {\"a\": 1}\r"}), "a=1");
}

TEST_F(RecordReaderTest, StringsAreInterpreted) {
  EXPECT_EQ(last({R"({"a": "1.5", "b": "NA", "c": "true", "t": "2024-01-31", "d": "1,5"})"}),
            "a=1.5 b=? c=1 t='2024-01-31' d='1,5'");
  RecordReader reader;
  Record record;
  reader.read(R"({"id": "007", "n": 7.50})", record);
  EXPECT_EQ(record.fields()[0].value.text, "007");
  EXPECT_TRUE(record.fields()[0].value.quoted);
  EXPECT_EQ(record.fields()[1].value.text, "7.50");
  EXPECT_FALSE(record.fields()[1].value.quoted);
  EXPECT_TRUE(record.named);
  EXPECT_FALSE(record.is_row);
}

TEST_F(RecordReaderTest, NumbersThatAreNoJson) {
  EXPECT_EQ(last({R"({"a": NaN, "b": Infinity, "c": -Infinity, "d": 1e999, "e": 1e-999})"}),
            "a=? b=! c=! d=! e=0");
}

TEST_F(RecordReaderTest, EscapesInStrings) {
  EXPECT_EQ(last({R"({"\u0061\n": "\"\\\/\b\f\r\t", "u": "\u00e9\u20ac\ud83d\ude00"})"}),
            "a\n='\"\\/\b\f\r\t' u='é€😀'");
  EXPECT_EQ(last({"{\"u\": \"é€😀\"}"}), "u='é€😀'");
}

TEST_F(RecordReaderTest, StructuresAreFlat) {
  EXPECT_EQ(last({R"({"a": {"b": {"c": 1}, "d": 2}, "l": [1, null, "x"], "e": 3})"}),
            "a.b.c=1 a.d=2 l.1=1 l.2=? l.3='x' e=3");
  EXPECT_EQ(last({R"({"one": [7], "none": [], "empty": {}, "deep": [[7]], "o": [{"b": 1}]})"}),
            "one=7 none=? empty=? deep=7 o.b=1");
  EXPECT_EQ(last({R"({"l": [{"b": 1}, {"b": 2}]})"}), "l.1.b=1 l.2.b=2");
  EXPECT_EQ(last({"[1, [2, 3], {\"a\": 4}, [5]]"}), "x1=1 x2.1=2 x2.2=3 x3.a=4 x4=5");
}

TEST_F(RecordReaderTest, ArraysAreRows) {
  RecordReader reader;
  EXPECT_EQ(
      read(reader, {"[1, 2.5, null]", "[]", "[1, 2]", R"({"a": 1})", "[3, \"4\", 5]"}),
      (Names{"x1=1 x2=2.5 x3=?", "(the line has no values; write one object or array per line)",
             "(the array has 2 values, but the first had 3; write as many, with null for a "
             "missing one)",
             "(objects and arrays are mixed; write either)", "x1=3 x2=4 x3=5"}));
  Record record;
  reader.read("[1, 2, 3]", record);
  EXPECT_TRUE(record.is_row);
  EXPECT_FALSE(record.named);
  EXPECT_EQ(last({R"({"a": 1})", "[1]"}), "(objects and arrays are mixed; write either)");
}

TEST_F(RecordReaderTest, BadJson) {
  expect_contains(last({"{\"x\":2,"}), "invalid JSON at character ");
  for (const char* line : {"{\"x\":nan}",
                           "{\"x\":01}",
                           "{\"x\":1.}",
                           "{\"x\":.5}",
                           "{\"x\":+1}",
                           "{\"x\":1e}",
                           "{\"x\":-}",
                           "{\"x\":1,}",
                           "[1,]",
                           "[,1]",
                           "{,}",
                           "{\"x\" 1}",
                           "{x:1}",
                           "{\"x\":'a'}",
                           "{\"x\":\"\t\"}",
                           "{\"x\":\"\\x\"}",
                           "{\"x\":\"\\u12\"}",
                           "{\"x\":\"\\ud800\"}",
                           "{\"x\":\"\\udc00\"}",
                           "{\"x\":\"\xff\"}",
                           "{\"x\":\"\xc3\"}",
                           "{\"x\":\"\xed\xa0\x80\"}",
                           "{\"x\":tru}",
                           "{\"x\":truer}",
                           "{\"x\"",
                           "{",
                           "[",
                           "{\"x\":1]",
                           "[1}",
                           "{\"x\":\"a",
                           "{\"x\":\"a\\",
                           "{\"x\":0x10}",
                           "{\"x\":1 2}"})
    expect_contains(last({line}), "invalid JSON at character ");
  expect_contains(last({"{\"x\":1} 7"}), "invalid JSON");
  expect_contains(last({R"({"x":1,"x":2})"}), "the key \"x\" appears twice");
  expect_contains(last({R"({"x":1,"y":2})", R"({"x":1,"x":2})"}), "the key \"x\" appears twice");
  expect_contains(last({R"({"a.b":1,"a":{"b":2}})"}), "the key \"a.b\" appears twice");
  expect_contains(last({"{}"}), "no values");
  expect_contains(last({"{\"a\":1}", "5"}), "invalid JSON");
  expect_contains(last({"{\"a\":1}", "\"text\""}), "invalid JSON");
  expect_contains(last({"{\"a\":1}", "a,b"}), "invalid JSON");
  expect_contains(last({std::string(500'000, '[')}), "nested deeper");
  expect_contains(last({"{\"a\": " + std::string(500'000, '[')}), "nested deeper");
  EXPECT_EQ(last({"{" + std::string(30, ' ') + "\"a\":" + std::string(31, '[') + "1" +
                  std::string(31, ']') + "}"}),
            "a=1");
}

/// What one reads as JSON the other does, and what one refuses.
TEST_F(RecordReaderTest, ReadsWhatOthersRead) {
  constexpr std::string_view spice = "\"\\{}[]:, 01.-eEutfn\xc3\xa9\x01";
  std::mt19937 random(11);
  std::size_t good = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string line =
        R"({"a": [1, -2.5e+1, "\u00e9\n"], "b": {"c": true, "d": null}, "é": 0.5, "f": ""})";
    for (std::size_t k = random() % 4; k > 0; --k) {
      const std::size_t at = random() % line.size();
      const char c = spice[random() % spice.size()];
      if (random() % 2 == 0)
        line[at] = c;
      else if (random() % 2 == 0)
        line.insert(at, 1, c);
      else
        line.erase(at, 1);
    }
    const bool expected = line.starts_with('{') && nlohmann::json::accept(line);
    Record record;
    RecordReader reader({.format = Format::json});
    bool read = true;
    try {
      reader.read(line, record);
    } catch (const DataError& error) {
      read = std::string_view(error.what()).find("invalid JSON") == std::string_view::npos;
    }
    ASSERT_EQ(read && line.starts_with('{'), expected) << line;
    good += expected ? 1 : 0;
  }
  EXPECT_GT(good, 5000U);
}

TEST_F(RecordReaderTest, ManyFieldsAreNoTrouble) {
  for (const bool backwards : {false, true}) {
    std::string line = "{";
    for (int k = 0; k < 40'000; ++k)
      line += (k > 0 ? ",\"f" : "\"f") + std::to_string(backwards ? 40'000 - k : k) + "\":1";
    RecordReader reader;
    Record record;
    EXPECT_TRUE(reader.read(line + "}", record));
    EXPECT_EQ(record.fields().size(), 40'000U);
  }
  std::string names = "a";
  for (int k = 1; k < 40'000; ++k) names += ",a";
  EXPECT_EQ(last({names}), "-");
  EXPECT_EQ(last({"[" + std::string(200'000, '1') + "]"}), "x1=!");
  std::string many = "[1";
  for (int k = 0; k < 100'000; ++k) many += ",1";
  expect_contains(last({many + "]"}), "more than 100000 fields");
  expect_contains(last({"a,b", std::string(200'000, ',')}), "more than 100000 fields");
}

// Delimited text: what delimits.

TEST_F(RecordReaderTest, HeadersAreSplitByWhatTheyHaveMostOf) {
  for (const char* header : {"a,b b,y", "a;b b;y", "a\tb b\ty", "a|b b|y", "\"a\" ; \"b b\";y;"})
    EXPECT_EQ(last({header}), "-") << header;
  EXPECT_EQ(last({"a;\"b,c,d\";y", "2;3;4"}), "a=2 b,c,d=3 y=4");
  EXPECT_EQ(last({"first a\tb\ty", "2\t3\t4"}), "first a=2 b=3 y=4");
  EXPECT_EQ(last({"  a  b   y ", " 2  3 \t4"}), "a=2 b=3 y=4");
  EXPECT_EQ(last({"a|b", "2| 3"}), "a=2 b=3");
  EXPECT_EQ(last({"Temp, C;Wind", "2,5;3"}), "Temp, C=2.5 Wind=3");
}

TEST_F(RecordReaderTest, DataIsSplitByWhatMakesItNumbers) {
  EXPECT_EQ(last({"20,00;1016,2;141,743"}), "x1=20 x2=1016.2 x3=141.743");
  EXPECT_EQ(last({"0,5;1,1"}), "x1=0.5 x2=1.1");
  EXPECT_EQ(last({"1,5"}), "x1=1 x2=5");
  EXPECT_EQ(last({"1,5 2,5"}), "x1=1.5 x2=2.5");
  EXPECT_EQ(last({"1, 2, 3"}), "x1=1 x2=2 x3=3");
  EXPECT_EQ(last({"1.5 2 3"}), "x1=1.5 x2=2 x3=3");
  EXPECT_EQ(last({"1\t2\t3"}), "x1=1 x2=2 x3=3");
  EXPECT_EQ(last({"1|NA|3"}), "x1=1 x2=? x3=3");
  EXPECT_EQ(last({"7"}), "x1=7");
  EXPECT_EQ(last({"2024-01-31 12:00:00,1,2"}), "x1='2024-01-31 12:00:00' x2=1 x3=2");
  EXPECT_EQ(last({"2024-01-31 12:00:00\t1"}), "x1='2024-01-31 12:00:00' x2=1");
  EXPECT_EQ(last({"2024-01-31 12:00:00 1"}), "x1='2024-01-31' x2='12:00:00' x3=1");
  EXPECT_EQ(last({"Jan 31, 2024;1,5"}), "x1='Jan 31, 2024' x2=1.5");
  EXPECT_EQ(last({"s1,1.5,2"}), "x1='s1' x2=1.5 x3=2");
  EXPECT_EQ(last({"s 1;1,5;2"}), "x1='s 1' x2=1.5 x3=2");
  EXPECT_EQ(last({"\"1,5\",\"2,5\""}), "x1=1.5 x2=2.5");
}

TEST_F(RecordReaderTest, TheDecimalSignIsSettledOnce) {
  EXPECT_EQ(last({"value", "1,5"}), "value=1.5");
  EXPECT_EQ(last({"a;b", "1;2", "1,5;2"}), "a=1.5 b=2");
  EXPECT_EQ(last({"a;b", "1,5;2", "1.5;2"}),
            "('1.5' in column \"a\" has a decimal point, but the numbers before it have a decimal "
            "comma; write all numbers with the same)");
  expect_contains(last({"a;b", "1.5;2", "1;1,5"}), "'1,5' in column \"b\" has a decimal comma");
  expect_contains(last({"a;b", "1.5;2,5"}), "'2,5' in column \"b\" has a decimal comma");
  EXPECT_EQ(last({"a;b", "1.5;2,5", "1;2,5"}), "a=1 b=2.5");  // the line before changed nothing
  EXPECT_EQ(last({"a;b", "1.234,5;1"}), "a='1.234,5' b=1");
  EXPECT_EQ(last({"a,b", "1,\"2,5\""}), "a=1 b=2.5");
  EXPECT_EQ(last({"name,tags,y", "foo,\"1,2\",3.5"}), "name='foo' tags='1,2' y=3.5");
  EXPECT_EQ(last({"date;y", "31.01.2024;1,5"}), "date='31.01.2024' y=1.5");
}

TEST_F(RecordReaderTest, LinesThatContradictAreRefused) {
  EXPECT_EQ(
      last({"a;b", "1;2", "1,2"}),
      "(the row has 1 fields, but there are 2 columns; complete the row (an empty field marks "
      "a missing value) or remove it; fields are delimited by ';', as the first lines have it)");
  expect_contains(last({"a;b", "1;2", "1;2;3"}), "the row has 3 fields, but there are 2 columns");
  expect_contains(last({"a,b", "1,2,"}), "the row has 3 fields, but there are 2 columns");
  expect_contains(last({"a,b", "1,5,2"}), "the row has 3 fields, but there are 2 columns");
  expect_contains(last({"1 2", "1 2 3"}), "delimited by blanks");
  expect_contains(last({"a,b", "1,2", "{\"a\": 1, \"b\": 2, \"c\": 3}"}), "the row has 3 fields");
  const Names all = read({"a;b", "1;2", "1,2", "3;4"});
  EXPECT_EQ(all.back(), "a=3 b=4");
}

// Delimited text: headers.

TEST_F(RecordReaderTest, HeaderOrNot) {
  for (const char* names :
       {"a", "a,b", "time,0,1,2", "country,1960,1961,1962", "a,,c", ",a", "x,0", ",0", ",0,1,2",
        "a,1,2,3", "day,2024-01-01,2024-01-02,2024-01-03", "a,NA", "\"1 a\",b", "Temperature in C"})
    EXPECT_EQ(last({names}), "-") << names;
  for (const char* data :
       {"1", "a,1.5", "a,-1", "s1,3,7", "s1,1", "s1,1,2", "a,2020,2022", "2024-01-01,red", "NA",
        "NA,NA", "1,2", "0,1,2", "a,true", "1e5,a", "a;1,5"})
    EXPECT_NE(last({data}), "-") << data;
}

TEST_F(RecordReaderTest, NamesInQuotes) {
  EXPECT_EQ(last({"\"a \"\"b\"\",c\", \"x;y\" ,y", "\"2\",\"\",\"-1e1\""}),
            "a \"b\",c=2 x;y=? y=-10");
  EXPECT_EQ(last({"a,b", "\"say \"\"hi\"\"\",1"}), "a='say \"hi\"' b=1");
  expect_contains(last({"a,b", "1,\"2"}), "a quote is opened and never closed");
  EXPECT_EQ(last({"a,b", "5\" pipe,1"}), "a='5\" pipe' b=1");
}

TEST_F(RecordReaderTest, ColumnsWithoutName) {
  EXPECT_EQ(last({",b,", "2,3,4"}), "=2 b=3 =4");
  EXPECT_EQ(last({"a;b;;", "1;2;;"}), "a=1 b=2 =? =?");
  EXPECT_EQ(last({",0,1", "0,0.5,0.7"}), "=0 0=0.5 1=0.7");
}

TEST_F(RecordReaderTest, SeveralColumnsOfOneNameAreToldApart) {
  EXPECT_EQ(last({"a,b,a,a.2,a", "1,2,3,4,5"}), "a=1 b=2 a.3=3 a.2=4 a.4=5");
}

TEST_F(RecordReaderTest, RowNames) {
  EXPECT_EQ(last({"\"mpg\" \"cyl\"", "\"Mazda RX4\" 21 6"}), "='Mazda RX4' mpg=21 cyl=6");
  EXPECT_EQ(last({"a b", "1 2.5 3", "2 3.5 4"}), "=2 a=3.5 b=4");
  EXPECT_EQ(last({"\"x\"", "\"1\" 5.2"}), "=1 x=5.2");
  EXPECT_EQ(last({"a b", "1 2.5 3", "a b"}), "-");
}

TEST_F(RecordReaderTest, AHeaderMayComeAgain) {
  EXPECT_EQ(read({"t,a,y", "1,2,3", "t,a,y", "4,5,6", "y,t,a", "7,8,9"}),
            (Names{"-", "t=1 a=2 y=3", "-", "t=4 a=5 y=6", "-", "y=7 t=8 a=9"}));
  EXPECT_EQ(last({"t,a,y", "1,2,3", "t,a,z"}), "t='t' a='a' y='z'");
  EXPECT_EQ(last({"t,a,y", "t,a,y"}), "-");
  EXPECT_EQ(last({",0,1", "0,2,3", "0,,1"}), "=0 0=? 1=1");
}

TEST_F(RecordReaderTest, TitlesAndGarbageSettleNothing) {
  EXPECT_EQ(last({"Connected to broker.", R"({"a": 1})"}), "a=1");
  EXPECT_EQ(last({"Connected to broker", "a,b,c", "1,2,3"}), "a=1 b=2 c=3");
  EXPECT_EQ(last({"Connected to broker", "1.5,2"}), "x1=1.5 x2=2");
  EXPECT_EQ(read({"Connected to port 1883", "a b", "1 2"}), (Names{"-", "-", "a=1 b=2"}));
  EXPECT_EQ(last({"Station: Foo, Bar", "t;a;y", "1;2;3,5"}), "t=1 a=2 y=3.5");
  EXPECT_EQ(last({"title", "1;2;3"}), "x1=1 x2=2 x3=3");
  EXPECT_EQ(last({"Temperature in C", "20.5"}), "Temperature in C=20.5");
  EXPECT_EQ(last({"a,b", "x,y", "1,2"}), "a=1 b=2");
}

TEST_F(RecordReaderTest, NamesMayBeGiven) {
  RecordReader reader({}, {"t", "a", "y"});
  EXPECT_EQ(read(reader, {"1;2,5;3", "t;a;y", "1;2", "2;3;4"}),
            (Names{"t=1 a=2.5 y=3", "-",
                   "(the row has 2 fields, but there are 3 columns; complete the row (an empty "
                   "field marks a missing value) or remove it; fields are delimited by ';', as the "
                   "first lines have it)",
                   "t=2 a=3 y=4"}));
  EXPECT_FALSE(reader.dialect().header);
  RecordReader one({}, {"y"});
  EXPECT_EQ(read(one, {"1,5", ""}), (Names{"y=1.5", "y=?"}));
  RecordReader text({}, {"key", "state"});
  EXPECT_EQ(read(text, {"door,open"}), Names{"key='door' state='open'"});
}

// Delimited text: lines that say little.

TEST_F(RecordReaderTest, BlankLines) {
  EXPECT_EQ(read({"", "y", "", "1", "", "  ", "2"}),
            (Names{"-", "-", "-", "y=1", "y=?", "y=?", "y=2"}));
  EXPECT_EQ(read({"1", ""}), (Names{"x1=1", "x1=?"}));
  EXPECT_EQ(read({"a,y", "1,2", "", "\t"}), (Names{"-", "a=1 y=2", "-", "-"}));
  EXPECT_EQ(read({"a\ty", "1\t2", "", "\t"}), (Names{"-", "a=1 y=2", "-", "a=? y=?"}));
  EXPECT_EQ(last({R"({"a": 1})", ""}), "-");
}

TEST_F(RecordReaderTest, MarksCommentsAndLineEnds) {
  EXPECT_EQ(read({"\xef\xbb\xbf# made by hand\r", "\r", "a,y\r", "2,3\r", " #no\r", "4,x\r"}),
            (Names{"-", "-", "-", "a=2 y=3", "-", "a=4 y='x'"}));
  EXPECT_EQ(last({"\xef\xbb\xbf\"a\",y", "2,3"}), "a=2 y=3");
  expect_contains(last({"\xff\xfe"
                        "a"}),
                  "save it as UTF-8");
  expect_contains(last({std::string(2 * RecordReader::longest_line, '1')}), "longer than");
}

// Going on.

TEST_F(RecordReaderTest, GoesOnFromWhatWasSettled) {
  for (const Names& lines : {Names{"k;b;y", "u;1,5;3"}, Names{"1 2"}, Names{"[1, 2]"},
                             Names{R"({"a": 1})"}, Names{"a,b"}}) {
    RecordReader reader;
    read(reader, lines);
    const Dialect dialect = reader.dialect();
    const auto bytes = test::state_of(dialect);
    Dialect again;
    test::set_state(again, bytes);
    EXPECT_EQ(again.columns, dialect.columns);
    EXPECT_EQ(again.decimal, dialect.decimal);
    RecordReader next(again);
    const std::string line = lines.back() == "a,b" ? "5,6" : lines.back();
    EXPECT_EQ(read(next, {line}), read(reader, {line}));
    for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
      Dialect half;
      EXPECT_THROW(test::set_state(half, std::span(bytes).first(cut)), SnapshotError);
    }
  }
}

TEST_F(RecordReaderTest, AnyLinesDoNoHarm) {
  constexpr std::string_view spice = "\"',;\t| \r#{}[]:?+-.eE0123456789nayxT\xff\x01";
  std::mt19937 random(20240229);
  for (int round = 0; round < 20'000; ++round) {
    RecordReader reader;
    Record record;
    for (int line = 0; line < 6; ++line) {
      std::string text(random() % 20, ' ');
      for (char& c : text) c = spice[random() % spice.size()];
      const Dialect before = reader.dialect();
      try {
        const bool says_something = reader.read(text, record);
        EXPECT_EQ(says_something, !record.empty());
      } catch (const DataError&) {
        EXPECT_EQ(reader.dialect().columns, before.columns);
        EXPECT_EQ(reader.dialect().format, before.format);
        EXPECT_EQ(reader.dialect().decimal, before.decimal);
        EXPECT_EQ(reader.dialect().delimiter, before.delimiter);
      }
    }
  }
}

}  // namespace
}  // namespace kalstream

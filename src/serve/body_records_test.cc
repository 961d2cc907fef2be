#include "serve/body_records.h"

#include <gtest/gtest.h>

namespace kalstream::serve {
namespace {

/// Each record as "a=1,b=2"; "?" for one that cannot be read.
std::vector<std::string> records(Input::Kind kind, const std::string& body) {
  BodyRecords source("s");
  Input input{.kind = kind, .body = body};
  if (kind == Input::Kind::array) input.elements = elements_of(body).value();
  source.open(input, {});
  std::vector<std::string> all;
  std::vector<Arrival> arrivals;
  while (source.next(arrivals, 1, {}, nullptr) != Source::Event::end) {
    std::string text;
    for (const Record::Field& f : arrivals[0].record.fields())
      text += (text.empty() ? "" : ",") + f.name + '=' + f.value.text;
    all.push_back(arrivals[0].is_problem ? "?" : text);
  }
  return all;
}

using Strings = std::vector<std::string>;

TEST(BodyRecords, EveryFormat) {
  EXPECT_EQ(records(Input::Kind::object, "\n{\"a\":1,\n \"b\":2}\n"), Strings{"a=1,b=2"});
  EXPECT_EQ(records(Input::Kind::object, ""), Strings{});
  EXPECT_EQ(records(Input::Kind::array, " [ {\"a\":1} , {\"a\":\"],[\\\"\"}, [1,2] , 3] \n"),
            (Strings{"a=1", "a=],[\"", "?", "?"}));
  EXPECT_EQ(records(Input::Kind::array, "[ ]"), Strings{});
  EXPECT_EQ(records(Input::Kind::lines, "{\"a\":1}\n\n{\"a\":\n{\"a\":2}"),
            (Strings{"a=1", "?", "a=2"}));
  EXPECT_EQ(records(Input::Kind::csv, "a,b\r\n1,2\r\n3\r\n4,5"),
            (Strings{"a=1,b=2", "?", "a=4,b=5"}));
}

TEST(BodyRecords, ListsEndWhereTheyShould) {
  for (const char* sound : {"[]", " [ ] ", "[1]", "[{\"a\":[1,2]},{}]", "[\"]\"]", "[\"\\\"]\"]"})
    EXPECT_TRUE(elements_of(sound).has_value()) << sound;
  for (const char* unsound :
       {"", "[", "]", "[1", "[1,]", "[,1]", "[1]]", "[1}", "{}", "[\"]", "[1] 2"})
    EXPECT_FALSE(elements_of(unsound).has_value()) << unsound;
}

TEST(BodyRecords, LinesAreCountedOverAllRequests) {
  BodyRecords source("boiler");
  std::vector<Arrival> arrivals;
  const std::string body = "{\"a\":1}\n{\"a\":2}\n";
  for (int k = 0; k < 2; ++k) {
    source.open({.kind = Input::Kind::lines, .body = body}, {});
    while (source.next(arrivals, 3, {}, nullptr) != Source::Event::end) {
    }
  }
  EXPECT_EQ(source.line(), 4U);
  EXPECT_EQ(most_samples({.kind = Input::Kind::lines, .body = body}), 3U);
}

}  // namespace
}  // namespace kalstream::serve

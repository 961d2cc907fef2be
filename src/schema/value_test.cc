#include "schema/value.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <string>

#include "core/rng.h"

namespace kalstream {
namespace {

using Kind = Value::Kind;

Value value_of(std::string_view text, char decimal = '.') {
  Value value;
  interpret(text, decimal, value);
  return value;
}

TEST(Value, NumbersInAllTheirSpellings) {
  for (const auto& [text, number] :
       std::initializer_list<std::pair<const char*, double>>{{"1.5", 1.5},
                                                             {" +1.5\r", 1.5},
                                                             {"-.5", -.5},
                                                             {"5.", 5},
                                                             {"1E3", 1000},
                                                             {"-1e-2", -.01},
                                                             {"0001", 1},
                                                             {"-0", 0},
                                                             {"1e-400", 0},
                                                             {"-1e-400", 0},
                                                             {"4e-320", 4e-320},
                                                             {"true", 1},
                                                             {"FALSE", 0},
                                                             {"True", 1}}) {
    EXPECT_EQ(value_of(text).kind, Kind::number) << text;
    EXPECT_EQ(value_of(text).number, number) << text;
  }
}

TEST(Value, ShortDecimalsAreReadToTheBit) {
  Rng rng(1);
  for (int k = 0; k < 100'000; ++k) {
    std::string text = rng.below(2) == 0 ? "-" : "";
    const std::uint64_t digits = 1 + rng.below(17);
    const std::uint64_t point = rng.below(20);
    for (std::uint64_t d = 0; d < digits; ++d) {
      if (d == point) text += '.';
      text += static_cast<char>('0' + rng.below(10));
    }
    double number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(value_of(text).number),
              std::bit_cast<std::uint64_t>(number))
        << text;
  }
}

TEST(Value, TheDecimalSignIsOneOfTwo) {
  EXPECT_EQ(value_of("1016,2", ',').number, 1016.2);
  EXPECT_EQ(value_of("-,5e1", ',').number, -5);
  EXPECT_EQ(value_of("17", ',').number, 17);
  for (const char* text : {"1.5", "1,", "1,2,3", "1.234,5", "1,5 2"})
    EXPECT_EQ(value_of(text, ',').kind, Kind::text) << text;
  for (const char* text : {"1,5", "1,234.5", "1.234,5"})
    EXPECT_EQ(value_of(text).kind, Kind::text) << text;
  EXPECT_EQ(value_of("1," + std::string(10000, '2'), ',').kind, Kind::text);
}

TEST(Value, MissingMarkers) {
  for (const char* text : {"", "  ", "?", "NA", "na", "N/A", "n/a", "NaN", "nan", "-nan", "null",
                           "NULL", "None", "none", "-", "nil"})
    EXPECT_EQ(value_of(text).kind, Kind::missing) << text;
}

TEST(Value, TooLarge) {
  for (const char* text : {"inf", "-Infinity", "1e999", "-1e400"})
    EXPECT_EQ(value_of(text).kind, Kind::too_large) << text;
}

TEST(Value, AllElseIsText) {
  for (const char* text : {"abc", "1 2", "1.2.3", "0x10", "+-1", "++1", "+", "1e", "--", "1_000",
                           "12:30", "nana", "2024-01-31", "yes", "nothing", "\xc3\xa9"})
    EXPECT_EQ(value_of(text).kind, Kind::text) << text;
  EXPECT_EQ(value_of(std::string_view("na\0", 3)).kind, Kind::text);
}

TEST(Value, ShownTextIsShortAndPrintable) {
  EXPECT_EQ(shown("a\tb\x01"), "\"a b \"");
  EXPECT_EQ(shown("it", '\''), "'it'");
  const std::string umlauts = [] {
    std::string text = "x";
    for (int k = 0; k < 100; ++k) text += "ü";
    return text;
  }();
  const std::string cut = shown(umlauts);
  EXPECT_LT(cut.size(), 70U);
  EXPECT_TRUE(cut.ends_with("ü…\""));
}

}  // namespace
}  // namespace kalstream

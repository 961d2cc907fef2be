#include "lines/json_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/rng.h"

namespace kalstream {
namespace {

std::string number_text(double v) {
  std::string text;
  append_json_number(text, v);
  return text;
}

std::string json_text(const std::string& text) {
  std::string quoted;
  append_json_text(quoted, text);
  return quoted;
}

TEST(JsonText, NumbersAreThoseOfTheFormatter) {
  for (const double v : {0.0, -0.0, 1.0, -2.5, 1e-4, 9.999e-5, 1e15, 9007199254740993.0, 1e16,
                         1e100, 0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789.125})
    EXPECT_EQ(number_text(v), fmt::format("{}", v));
  Rng rng(3);
  for (int k = 0; k < 20'000; ++k) {
    const double v =
        std::bit_cast<double>(static_cast<std::uint64_t>(rng.uniform() * 0x1p32) << 32 |
                              static_cast<std::uint64_t>(rng.uniform() * 0x1p32));
    if (!std::isfinite(v)) continue;
    EXPECT_EQ(number_text(v), fmt::format("{}", v));
    const double usual = rng.normal() * std::pow(10, 12 * rng.normal());
    EXPECT_EQ(number_text(usual), fmt::format("{}", usual));
  }
}

TEST(JsonText, TextsAreThoseOfALibraryForJson) {
  const auto by_library = [](const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  Rng rng(5);
  constexpr char odd[] =
      "a\"\\\n\t\x01\x1f\x7f\x80\xbf\xc2\xc3\xe0\xa0\xe2\x82\xac\xed\xf0\x90\xf4\x8f\xff\0";
  const std::string bytes(odd, sizeof odd - 1);
  for (int k = 0; k < 20'000; ++k) {
    std::string text;
    const auto length = static_cast<std::size_t>(rng.uniform() * 8);
    for (std::size_t n = 0; n < length; ++n)
      text += bytes[static_cast<std::size_t>(rng.uniform() * static_cast<double>(bytes.size()))];
    EXPECT_EQ(json_text(text), by_library(text));
  }
  EXPECT_EQ(json_text("größer €"), "\"größer €\"");
}

}  // namespace
}  // namespace kalstream

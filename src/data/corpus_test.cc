// The awkward files of tests/corpus, each read as the schema beside it says.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/source.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view suffix = ".expected.json";

std::vector<fs::path> expectations() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(KALSTREAM_AWKWARD_FILES))
    if (entry.path().string().ends_with(suffix)) all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

ReadOptions options_of(const Json& expected) {
  ReadOptions options;
  const Json choice = expected.value("choice", Json::object());
  options.fields.targets = choice.value("targets", std::vector<std::string>{});
  options.fields.categories = choice.value("categories", std::vector<std::string>{});
  options.fields.key = choice.value("key", "");
  options.columns = choice.value("columns", std::vector<std::string>{});
  return options;
}

Json fields_of(const Schema& schema) {
  Json fields = Json::array();
  for (const Schema::Field& f : schema.fields)
    if (!f.later || f.role != Role::id)
      fields.push_back({{"name", f.name}, {"role", to_string(f.role)}});
  return fields;
}

std::string as_text(char c) { return c == 0 ? "" : std::string(1, c); }

TEST(AwkwardFiles, AreReadAsExpected) {
  EXPECT_GE(expectations().size(), 35U);
  for (const fs::path& path : expectations()) {
    SCOPED_TRACE(path.filename().string());
    const Json expected = Json::parse(std::ifstream(path));
    const std::string file = path.string().substr(0, path.string().size() - suffix.size());
    Dataset data;
    ASSERT_NO_THROW(data = read_dataset(file, options_of(expected)));
    EXPECT_EQ(fields_of(data.schema).dump(1), expected["fields"].dump(1));
    EXPECT_EQ(to_string(data.schema.time_form), expected["time_form"].get<std::string>());
    EXPECT_EQ(data.rows(), expected["rows"].get<std::size_t>());
    EXPECT_EQ(data.labels.size(), expected.value("labels", std::size_t{0}));
    EXPECT_EQ(data.lines.size(), data.rows());
    EXPECT_EQ(data.times.size(), data.time_name.empty() ? 0 : data.rows());
    if (expected.contains("first_time")) {
      EXPECT_EQ(data.times.front(), expected["first_time"].get<std::string>());
    }
    const std::string format = expected["format"];
    EXPECT_EQ(data.dialect.format == Format::json, format == "json");
    EXPECT_EQ(data.dialect.format == Format::delimited, format == "delimited");
    if (format != "delimited") continue;
    EXPECT_EQ(as_text(data.dialect.delimiter), expected["delimiter"].get<std::string>());
    EXPECT_EQ(as_text(data.dialect.decimal),
              expected["decimal"].is_null() ? "" : expected["decimal"].get<std::string>());
    EXPECT_EQ(data.dialect.header, expected["header"].get<bool>());
  }
}

}  // namespace
}  // namespace kalstream

// The awkward files of tests/corpus, through every command: each finds the schema beside the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "end_to_end/program.h"

namespace kalstream::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view suffix = ".expected.json";

struct Awkward {
  fs::path file;
  Json expected;

  std::string quoted() const { return "'" + file.string() + "'"; }

  std::string options() const {
    std::string text;
    const auto add = [&](const char* option, const std::vector<std::string>& values) {
      for (std::size_t k = 0; k < values.size(); ++k)
        text += (k == 0 ? std::string(" ") + option + " '" : ",") + values[k];
      if (!values.empty()) text += "'";
    };
    const Json choice = expected.value("choice", Json::object());
    add("--target", choice.value("targets", std::vector<std::string>{}));
    add("--category", choice.value("categories", std::vector<std::string>{}));
    add("--columns", choice.value("columns", std::vector<std::string>{}));
    return text;
  }
  std::string key_option() const {
    const Json choice = expected.value("choice", Json::object());
    return choice.contains("key") ? " --key '" + choice["key"].get<std::string>() + "'" : "";
  }
};

std::vector<Awkward> awkward_files() {
  std::vector<Awkward> all;
  for (const auto& entry : fs::directory_iterator(KALSTREAM_AWKWARD_FILES)) {
    const std::string name = entry.path().string();
    if (name.ends_with(suffix))
      all.push_back({name.substr(0, name.size() - suffix.size()), Json::parse(read_text(name))});
  }
  std::ranges::sort(all, {}, &Awkward::file);
  return all;
}

Json names_and_roles(const Json& fields) {
  Json list = Json::array();
  for (const Json& f : fields) list.push_back({{"name", f["name"]}, {"role", f["role"]}});
  return list;
}

void expect_same_schema(const Json& found, const Json& expected) {
  EXPECT_EQ(names_and_roles(found["fields"]), expected["fields"]);
  EXPECT_EQ(found["time_form"], expected["time_form"]);
}

TEST(AwkwardFilesByCommand, InspectFindsTheSchema) {
  const Workplace w;
  for (const Awkward& a : awkward_files()) {
    SCOPED_TRACE(a.file.filename().string());
    const Ran ran = w.kalstream("inspect --json " + a.quoted() + a.options() + a.key_option());
    ASSERT_EQ(ran.exit_code, fine) << ran.err;
    const Json found = Json::parse(ran.out);
    expect_same_schema(found, a.expected);
    EXPECT_EQ(found["rows"], a.expected["rows"]);
    if (a.expected["format"] != "delimited") continue;
    const auto mark = [](const Json& json) { return json.is_null() ? Json("") : json; };
    for (const char* what : {"delimiter", "decimal", "header"})
      EXPECT_EQ(mark(found[what]), mark(a.expected[what])) << what;
  }
}

// What a run has learnt from is in what it saves.
TEST(AwkwardFilesByCommand, RunFindsTheSchema) {
  const Workplace w;
  for (const Awkward& a : awkward_files()) {
    SCOPED_TRACE(a.file.filename().string());
    if (!a.key_option().empty()) continue;  // for streams
    const Ran ran =
        w.kalstream("run " + a.quoted() + a.options() + " --learner mean --quiet --save s.kal");
    if (ran.exit_code == bad_data && ran.err.find("does not vary") != std::string::npos) continue;
    if (ran.exit_code == bad_data && ran.err.find("no row has") != std::string::npos) continue;
    ASSERT_EQ(ran.exit_code, fine) << ran.err;
    expect_same_schema(Json::parse(w.kalstream("inspect --json s.kal").out), a.expected);
  }
}

// And in the checkpoint of a stream: line by line, without looking ahead.
TEST(AwkwardFilesByCommand, StreamFindsTheSchema) {
  const Workplace w;
  for (const Awkward& a : awkward_files()) {
    SCOPED_TRACE(a.file.filename().string());
    const Json& format = a.expected["format"];
    if (format != "json" && format != "delimited") continue;  // not lines
    if (a.file.extension() == ".gz") continue;                // zcat FILE | kalstream stream
    if (a.file.stem() == "lines_in_quotes") continue;         // a line is a line here
    fs::remove_all(w.path("state"));
    fs::copy_file(a.file, w.path("lines"), fs::copy_options::overwrite_existing);
    const std::string command = "cd '" + w.path("").string() +
                                "' && '" KALSTREAM_PROGRAM
                                "' stream --learner mean --checkpoint state" +
                                a.options() + a.key_option() + " <lines >.answers 2>.err";
    const int code = WEXITSTATUS(std::system(command.c_str()));
    const bool no_sample = read_text(w.path(".err")).find("not one sample") != std::string::npos;
    ASSERT_EQ(code, no_sample ? bad_data : fine) << read_text(w.path(".err"));
    expect_same_schema(Json::parse(w.kalstream("inspect --json state").out), a.expected);
  }
}

}  // namespace
}  // namespace kalstream::test

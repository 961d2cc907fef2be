// Runs the real binary as a user would.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "temporary_folder.h"

namespace kalstream::test {

// What the program ends with.
constexpr int fine = 0;
constexpr int failure = 1;
constexpr int usage = 2;
constexpr int bad_data = 3;

struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;
};

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A folder of its own for each test.
class Workplace {
 public:
  std::filesystem::path path(const std::string& name) const { return folder_.path / name; }

  std::string file(const std::string& name, const std::string& text) const {
    folder_.write(name, text);
    return name;
  }

  /// `kalstream ARGUMENTS`, through the shell, inside the folder.
  Ran kalstream(const std::string& arguments) const {
    const std::string command = "cd '" + folder_.path.string() + "' && '" KALSTREAM_PROGRAM "' " +
                                arguments + " >.out 2>.err </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, read_text(path(".out")),
            read_text(path(".err"))};
  }

  /// Files a test or the program left, the captured output not counted.
  std::size_t files() const {
    std::size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path))
      n += entry.path().filename().string().starts_with(".") ? 0 : 1;
    return n;
  }

 private:
  TemporaryFolder folder_;
};

/// The lines of a CSV text, each by the names of its columns. No field may be quoted.
inline std::vector<std::map<std::string, std::string>> fields_of(const std::string& csv) {
  std::istringstream in(csv);
  std::vector<std::string> header;
  std::vector<std::map<std::string, std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == ',')
        fields.emplace_back();
      else
        fields.back() += c;
    }
    if (header.empty()) {
      header = fields;
      continue;
    }
    rows.emplace_back();
    for (std::size_t k = 0; k < header.size(); ++k) rows.back()[header[k]] = fields[k];
  }
  return rows;
}

}  // namespace kalstream::test

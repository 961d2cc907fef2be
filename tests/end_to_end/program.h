// Runs the real binary as a user would.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace kalstream::test {

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

/// A folder of its own for each test, gone afterwards.
class Workplace {
 public:
  Workplace() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kalstream-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Workplace() { std::filesystem::remove_all(folder_); }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return name;
  }

  /// `kalstream ARGUMENTS`, through the shell, inside the folder.
  Ran kalstream(const std::string& arguments) const {
    const std::string command = "cd '" + folder_.string() + "' && '" KALSTREAM_PROGRAM "' " +
                                arguments + " >.out 2>.err </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, read_text(path(".out")),
            read_text(path(".err"))};
  }

  /// Files a test or the program left, the captured output not counted.
  std::size_t files() const {
    std::size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      n += entry.path().filename().string().starts_with(".") ? 0 : 1;
    return n;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace kalstream::test

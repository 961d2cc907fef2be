// One function per subcommand: each adds itself to the program.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>

#include "core/number_in.h"
#include "io/atomic_file.h"
#include "schema/value.h"

namespace kalstream::cli {

/// Exit codes, stable: scripts rely on them.
enum Exit { fine = 0, failure = 1, usage = 2, bad_data = 3 };

/// A number of something, with a message people can read.
inline CLI::Validator whole_number(double low, double high) {
  return {[=](const std::string& text) -> std::string {
            const auto v = number_in<double>(text);
            if (v && *v == std::floor(*v) && *v >= low && *v <= high) return "";
            return fmt::format("'{}' is not a whole number from {} to {}", text, low, high);
          },
          "N"};
}

/// The name of a picture. All are SVG: another extension would tell programs a lie.
inline CLI::Validator svg_name() {
  return {[](const std::string& file) -> std::string {
            std::filesystem::path path = file;
            const std::string extension = lower_case(path.extension().string());
            constexpr std::array others{".png", ".jpg",  ".jpeg", ".gif", ".webp",
                                        ".bmp", ".tiff", ".pdf",  ".eps", ".ps"};
            if (std::find(others.begin(), others.end(), extension) == others.end()) return "";
            return fmt::format("writes SVG; name it {}", path.replace_extension(".svg").string());
          },
          "FILE.svg"};
}

/// The stream, as `COMMAND FILE` or `COMMAND --data FILE`.
inline CLI::Option* add_data(CLI::App& command, std::string& data) {
  return command
      .add_option("FILE,--data", data,
                  "FILE (.csv .tsv .txt .jsonl .arff .mat), - for text from standard input, or "
                  "gen:NAME[?k=v&...]")
      ->required();
}

/// Writes what make() gives to a file; "-" is standard output, "" nowhere.
inline void write_or_print(const std::string& to, const auto& make) {
  if (to == "-")
    fmt::print("{}", make());
  else if (!to.empty())
    write_file(to, make());
}

/// To standard error, with the program's name before it. Where nobody can hear it, work goes on.
inline void say_to_people(const std::string& text) {
  const std::string line = fmt::format("kalstream: {}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// Version, commit and compiler it was made from and by, and the kernels it uses here: a line each.
std::string about();

void add_bench(CLI::App& app);
void add_run(CLI::App& app);
void add_demo(CLI::App& app);
void add_fleet(CLI::App& app);
void add_forecast(CLI::App& app);
void add_generate(CLI::App& app);
void add_inspect(CLI::App& app);
void add_reproduce(CLI::App& app);
void add_search(CLI::App& app);
void add_serve(CLI::App& app);
void add_stream(CLI::App& app);
void add_top(CLI::App& app);

}  // namespace kalstream::cli

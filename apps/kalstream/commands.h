// One function per subcommand: each adds itself to the program.
#pragma once

#include <CLI/CLI.hpp>

namespace kalstream::cli {

/// Exit codes, stable: scripts rely on them.
enum Exit { fine = 0, failure = 1, usage = 2, bad_data = 3 };

void add_run(CLI::App& app);
void add_demo(CLI::App& app);
void add_generate(CLI::App& app);
void add_inspect(CLI::App& app);

}  // namespace kalstream::cli

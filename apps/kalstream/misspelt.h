// Commands and options that there are not, and what may have been meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kalstream::cli {

/// Throws std::invalid_argument unless there is a command of this name (CLI11 would only say that
/// one is required). What begins with a hyphen is no command.
void check_command(const CLI::App& app, const std::string& name);

/// After parsing has failed: a complaint about the first option that there is not; empty if that
/// was not the reason.
std::string unknown_option(const CLI::App& app);

}  // namespace kalstream::cli

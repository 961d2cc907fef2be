// Commands and options that there are not, and what may have been meant.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace kalstream::cli {

/// Throws std::invalid_argument unless the first word is a command, and the second one of its own
/// if it has any (CLI11 would only say that one is required). What begins with a hyphen is none.
void check_command(const CLI::App& app, std::span<const char* const> words);

/// After parsing has failed: a complaint about the first option that there is not; empty if that
/// was not the reason.
std::string unknown_option(const CLI::App& app);

}  // namespace kalstream::cli

#include "misspelt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <vector>

#include "core/closest.h"

namespace kalstream::cli {

void check_command(const CLI::App& app, const std::string& name) {
  if (name.starts_with("-")) return;
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return;
    known.push_back(command->get_name());
  }
  throw std::invalid_argument(fmt::format("unknown command '{}'; there are {}{}", name,
                                          fmt::join(known, ", "), did_you_mean(name, known)));
}

std::string unknown_option(const CLI::App& app) {
  const auto commands = app.get_subcommands();  // those on the command line
  const CLI::App& command = commands.empty() ? app : *commands.front();
  for (const std::string& argument : command.remaining()) {
    if (argument.size() < 2 || argument[0] != '-') continue;
    const std::string name = argument.substr(0, argument.find('='));
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options())
      for (const std::string& one : option->get_lnames()) known.push_back("--" + one);
    const std::string called = commands.empty() ? "" : command.get_name() + " ";
    return fmt::format("{}no option {}{} ('kalstream {}--help' lists them)",
                       commands.empty() ? "there is " : called + "has ", name,
                       did_you_mean(name, known), called);
  }
  return {};
}

}  // namespace kalstream::cli

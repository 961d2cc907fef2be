#include "misspelt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <vector>

#include "core/closest.h"

namespace kalstream::cli {

void check_command(const CLI::App& app, std::span<const char* const> words) {
  if (words.empty() || words.front()[0] == '-') return;
  const std::string name = words.front();
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) {
      if (!command->get_subcommands({}).empty()) check_command(*command, words.subspan(1));
      return;
    }
    known.push_back(command->get_name());
  }
  throw std::invalid_argument(fmt::format("unknown command '{}'; there are {}{}", name,
                                          fmt::join(known, ", "), did_you_mean(name, known)));
}

std::string unknown_option(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string called;                            // "fleet init "
  while (!command->get_subcommands().empty()) {  // those on the command line
    command = command->get_subcommands().front();
    called += command->get_name() + " ";
  }
  for (const std::string& argument : app.remaining(/*recurse=*/true)) {
    if (argument.size() < 2 || argument[0] != '-') continue;
    const std::string name = argument.substr(0, argument.find('='));
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options())
      for (const std::string& one : option->get_lnames()) known.push_back("--" + one);
    return fmt::format("{}no option {}{} ('kalstream {}--help' lists them)",
                       called.empty() ? "there is " : called + "has ", name,
                       did_you_mean(name, known), called);
  }
  return {};
}

}  // namespace kalstream::cli

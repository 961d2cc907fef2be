#include "stream_options.h"

#include <algorithm>

#include "commands.h"
#include "kalstream/learner.h"

namespace kalstream::cli {
namespace {

CLI::Option* add(CLI::App& cmd, const StreamOption& option, bool* to) {
  const bool learns = std::string(option.name) == "predict-only";
  return cmd.add_flag(std::string("--") + option.name + (learns ? ",!--learn" : ""), *to,
                      option.meaning);
}

CLI::Option* add(CLI::App& cmd, const StreamOption& option, double* to) {
  CLI::Option* added = cmd.add_option(std::string("--") + option.name, *to, option.meaning);
  return added->check(option.least >= 1 ? whole_number(option.least, option.most)
                                      : CLI::Range(option.least, option.most));
}

CLI::Option* add(CLI::App& cmd, const StreamOption& option, Coverages* to) {
  const auto take = [to](const std::vector<double>& all) {
    try {
      *to = Coverages(all);
    } catch (const std::invalid_argument& error) {
      throw CLI::ValidationError("--interval", error.what());
    }
  };
  return cmd
      .add_option_function<std::vector<double>>(std::string("--") + option.name, take,
                                                option.meaning)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(option.least, option.most));
}

CLI::Option* add(CLI::App& cmd, const StreamOption& option, std::uint64_t* to) {
  CLI::Option* added = cmd.add_option(std::string("--") + option.name, *to, option.meaning);
  if (option.most <= 1e9) added->check(whole_number(option.least, option.most));
  return *to > 0 ? added->capture_default_str() : added;
}

CLI::Option* add(CLI::App& cmd, const StreamOption& option, std::string* to) {
  CLI::Option* added = cmd.add_option(std::string("--") + option.name, *to, option.meaning);
  if (!option.choices.empty()) added->check(CLI::IsMember(option.choices));
  return to->empty() ? added : added->capture_default_str();
}

CLI::Option* add(CLI::App& cmd, const StreamOption& option, std::vector<std::string>* to) {
  CLI::Option* added = cmd.add_option(std::string("--") + option.name, *to, option.meaning);
  if (std::string(option.name) == "set") return added;
  return added->delimiter(',')->allow_extra_args(false);
}

}  // namespace

void add_settings(CLI::App& cmd, StreamSettings& settings,
                  std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto option = std::ranges::find(stream_options(), name, &StreamOption::name);
    std::visit([&](auto* to) { add(cmd, *option, to); }, option->in(settings));
  }
}

void add_field_settings(CLI::App& cmd, StreamSettings& settings) {
  add_settings(cmd, settings,
               {"target", "inputs", "category", "task", "classes", "time", "id", "key"});
}

void add_stream_settings(CLI::App& cmd, StreamSettings& settings) {
  for (const StreamOption& option : stream_options())
    std::visit([&](auto* to) { add(cmd, option, to); }, option.in(settings));
  cmd.get_option("--budget-us")->excludes(cmd.get_option("--experts"));
}

void add_column_names(CLI::App& command, std::vector<std::string>& names) {
  command
      .add_option("--columns", names,
                  "Names of the columns, for CSV whose header does not come along")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void add_scaling(CLI::App& command, ScalingArguments& arguments) {
  CLI::Option* scale = command.add_flag("--scale", arguments.scale,
                                        "Standardise data as they come also with a preset, whose "
                                        "settings are for prepared data");
  command
      .add_flag("--unscaled", arguments.unscaled,
                "Give inputs and targets to the networks as they are; by themselves they see them "
                "standardised, causally")
      ->excludes(scale);
}

bool is_scaled(const ScalingArguments& arguments, const std::string& preset, const Rule& rule) {
  if (takes_raw_data(rule) || arguments.unscaled) return false;
  return arguments.scale || preset.empty();
}

}  // namespace kalstream::cli

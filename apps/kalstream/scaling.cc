#include "scaling.h"

#include "kalstream/learner.h"

namespace kalstream::cli {

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

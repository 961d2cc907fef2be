#include "field_options.h"

namespace kalstream::cli {

void add_field_options(CLI::App& command, FieldChoice& choice) {
  command
      .add_option(
          "--target", choice.targets,
          "Target fields, by name or number from 1 (default: 'target', else the last number)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--inputs", choice.inputs,
                  "Input fields, by name or number from 1, or none for a time series (default: all "
                  "other numbers)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--category", choice.categories,
                  "Fields of a few values, text or numbers, that are inputs: one input for each of "
                  "the first 15 values, and one for all others")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option(
          "--task", choice.task,
          "Whether the target is a class (classify) or a number (regress); by itself text is "
          "a class")
      ->check(CLI::IsMember({"classify", "regress"}));
  command.add_option("--classes", choice.classes, "How many classes there may be")
      ->check(CLI::Range(std::uint64_t{2}, std::uint64_t{Schema::most_classes}))
      ->capture_default_str();
  command.add_option("--time", choice.time,
                     "Field that tells the time, or none (default: the first that does)");
}

void add_column_names(CLI::App& command, std::vector<std::string>& names) {
  command
      .add_option("--columns", names,
                  "Names of the columns, for CSV whose header does not come along")
      ->delimiter(',')
      ->allow_extra_args(false);
}

}  // namespace kalstream::cli

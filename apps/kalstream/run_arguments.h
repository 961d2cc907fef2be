// What `kalstream run` is told.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "settings/stream_settings.h"
#include "stream_options.h"

namespace kalstream::cli {

struct RunArguments {
  std::string data;
  std::vector<std::string> columns;
  StreamSettings settings;
  std::size_t steps = 0;
  std::size_t delay = 0;
  std::optional<std::size_t> warm_up;
  std::vector<std::string> learners = {"auto"};
  std::string preset;
  std::string seeds = "1";
  std::vector<std::string> set;
  ScalingArguments scaling;
  bool stop_when_sustained = false;
  std::size_t jobs = 0;
  std::string json;
  std::string csv;
  std::string plot;
  std::string plot_predictions;
  std::size_t plot_rows = 300;
  std::string plot_weights;
  std::string save;
  std::string start;
  bool quiet = false;
};

/// Options and help of the command; they write into `arguments`, which must outlive it.
void add_run_options(CLI::App& command, RunArguments& arguments);

}  // namespace kalstream::cli

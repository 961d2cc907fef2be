// What `kalstream run` is told.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"
#include "scaling.h"
#include "time_options.h"

namespace kalstream::cli {

struct RunArguments {
  std::string data;
  FieldChoice fields;
  std::vector<std::string> columns;
  TimeChoice time;
  std::string missing = "refuse";
  std::size_t lags = 0;
  std::string loss = "squared";
  std::size_t steps = 0;
  bool surprise = false;
  double alarm_rate = 0;
  std::size_t horizon = 0;
  double interval = 0;
  std::optional<std::size_t> warm_up;
  std::vector<std::string> learners = {"auto"};
  std::string preset;
  std::size_t hidden = 0;
  std::size_t window = 0;
  std::size_t experts = 0;
  double budget_us = 0;
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

// What the targets for file formats share.
#pragma once

#include <cmath>

#include "data/record_file.h"
#include "fuzz.h"

namespace kalstream::fuzz {

/// Opens and reads; if that gives a dataset, it must be a sound one.
void expect_sound(auto open, const ReadOptions& options = {}) {
  Dataset data;
  try {
    const std::unique_ptr<RecordFile> file = open();
    data = collect("fuzz", *file, options);
  } catch (const DataError& error) {
    require(std::string_view(error.what()).starts_with("fuzz:"));
    return;
  }
  require(data.rows() > 0 && data.lines.size() == data.rows());
  require(data.inputs.size() == data.rows() * data.n_inputs());
  require(data.targets.size() == data.rows() * data.n_targets());
  require(data.times.size() == (data.time_name.empty() ? 0 : data.rows()));
  for (const auto* values : {&data.inputs, &data.targets})
    for (const double v : *values) require(!std::isinf(v));
}

}  // namespace kalstream::fuzz

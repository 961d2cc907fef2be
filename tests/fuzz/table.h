// What the targets for file formats share.
#pragma once

#include <cmath>

#include "data/dataset.h"
#include "data/table.h"
#include "fuzz.h"

namespace kalstream::fuzz {

/// Reads; if that gives a table, it must be a sound one.
void expect_sound(auto read) {
  reading::Table table;
  try {
    table = read();
  } catch (const DataError&) {
    return;
  }
  require(table.values.size() == table.rows() * table.columns.size());
  require(table.rows() == 0 || table.default_targets <= table.columns.size());
  for (const double v : table.values) require(!std::isinf(v));
}

}  // namespace kalstream::fuzz

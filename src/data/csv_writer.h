// A data set as CSV, such that read_dataset gets every number back exactly.
#pragma once

#include <ostream>

#include "schema/dataset.h"

namespace kalstream {

/// A header line, then one line per row: inputs, targets. Numbers are the shortest that read back
/// the same; a missing value is written as nan. The caller checks the stream.
void write_csv(const Dataset& data, std::ostream& out);

}  // namespace kalstream

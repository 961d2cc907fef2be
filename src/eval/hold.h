// Inputs that are missing, and what stands in for them.
#pragma once

#include <cstddef>
#include <vector>

#include "data/dataset.h"

namespace kalstream {

/// Puts the last value of an input wherever it is missing; what lacks an earlier one stays as it
/// is. Nothing looks ahead. Returns, for every row that is complete then, how many inputs were
/// held.
std::vector<std::size_t> hold_last_inputs(Dataset& data);

}  // namespace kalstream

// Inputs that are missing, and what stands in for them.
#pragma once

#include <cstddef>
#include <vector>

#include "data/dataset.h"

namespace kalstream {

/// Puts the last value of an input wherever it is missing; what lacks an earlier one stays as it
/// is. Nothing looks ahead. Returns, for every row that is complete then, how many inputs were
/// held.
///
/// `known_ahead`: for every input whether it may be known ahead; empty: none. Rows ahead of their
/// time stay as they are, but what they know stands in for inputs that later rows of that time
/// lack.
std::vector<std::size_t> hold_last_inputs(Dataset& data, const std::vector<bool>& known_ahead = {});

/// That alone: what rows ahead of their time know goes into later rows of that time.
void use_rows_ahead(Dataset& data, const std::vector<bool>& known_ahead);

}  // namespace kalstream

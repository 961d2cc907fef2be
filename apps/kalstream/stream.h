// The --data argument: a file or a generator.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace kalstream::cli {

struct StreamArguments {
  std::string data;                  ///< FILE or gen:NAME[?k=v&…]
  std::vector<std::string> targets;  ///< of a file; empty: the last column
  std::size_t steps = 0;             ///< rows to run; 0: the default
  std::size_t horizon = 0;           ///< rows needed beyond them
};

inline constexpr std::size_t default_generated_steps = 5000;

bool is_generated(const std::string& data);

/// Reads or generates the stream: at least steps + horizon rows of it if there are as many.
Dataset load_stream(const StreamArguments& arguments);

}  // namespace kalstream::cli

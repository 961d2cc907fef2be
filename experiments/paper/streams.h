// The paper's streams: from the user's files, or the generator that resembles them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kalstream/presets.h"
#include "schema/dataset.h"

namespace kalstream::paper {

struct Stream {
  Experiment experiment;
  std::string name;    ///< "kin8nm", "add3seq1"
  std::string label;   ///< the same, or "kin8nm (kin-like)" where a generator stands in for it
  std::string origin;  ///< file or generator, and what was done to it
  Dataset data;        ///< no rows: neither a file nor a generator was found
  bool substitute = false;

  bool missing() const { return data.rows() == 0; }
};

/// The six regression streams, in the paper's order.
const std::vector<Experiment>& regression_streams();

/// NAME.csv, .arff, .mat, … in `directory` (empty: no files), or a generator in its place. Data
/// that are not prepared as published (a target outside ±1) are: inputs standardised, the target
/// mapped to ±0.8. Throws DataError, also for a file with too few rows.
Stream regression_stream(Experiment experiment, const std::filesystem::path& directory,
                         std::size_t rows);

/// add{n}seq{k} in `directory`, or generated. Bits as targets become ±0.5.
Stream addition_stream(int n, int k, const std::filesystem::path& directory, std::size_t rows);

}  // namespace kalstream::paper

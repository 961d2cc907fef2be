// What the times of a stream's rows have told: which rows were taken, and which steps are missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/clock.h"
#include "schema/dataset.h"

namespace kalstream {

/// What became of a row.
enum class RowKind : std::uint8_t {
  taken,
  skipped,   ///< it could not be used, such as for a missing input
  late,      ///< its time had passed
  repeated,  ///< it has the time of the row before
  ahead,     ///< it only brings inputs, ahead of their time
};

/// The steps that one model went through: rows that were taken, and steps between them that no row
/// was there for. A place counts these steps from 0.
struct Timeline {
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  struct StepChange {
    std::size_t row = 0;           ///< whose time told the step between rows, …
    std::optional<TimeStep> step;  ///< … or that there is none any more
  };

  std::string key;                  ///< of the model; empty: there is but one
  std::vector<std::size_t> row_at;  ///< of each place the row that was taken, or none
  std::vector<StepChange> steps;
  StreamClock clock;  ///< after the last row

  /// As it was known after row t.
  std::optional<TimeStep> step_at(std::size_t t) const;
  bool is_irregular() const { return steps.empty() && clock.is_irregular(); }
};

/// The clocks after all rows that have their inputs, by key; nothing else of the timelines.
std::unordered_map<std::string, Timeline> clocks_of(const Dataset& data);

/// Makes the time since the row before an input, the last one.
void add_elapsed(Dataset& data);

}  // namespace kalstream

// What times say of the rows of a dataset: which are missing, late, or ahead of their time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "engine/clock.h"

namespace kalstream {

/// As a live stream would hear of it, row by row (engine/clock.h). Where rows have no times, all
/// that can be used are taken, one after the other.
///
/// Places count the steps a learner goes through: rows that are taken, and those that are missing
/// between them.
struct Timeline {
  enum class Row : std::uint8_t {
    taken,
    skipped,   ///< an input is missing
    late,      ///< its time had passed
    repeated,  ///< it has the time of the one before
    ahead,     ///< only brings inputs, ahead of their time
  };
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

  struct Found {
    std::size_t row = 0;           ///< whose time told the step, or another than before …
    std::optional<TimeStep> step;  ///< … or that there is none any more
    std::vector<double> periods;
    bool is_news = false;  ///< the periods are others than before: learners are to be told
  };

  std::vector<Row> kind;              ///< of each row
  std::vector<std::size_t> missing;   ///< steps before each row that no row is there for
  std::vector<std::size_t> place;     ///< of each row that is taken
  std::vector<std::size_t> row_at;    ///< each place: a row that is taken or was ahead, or none
  std::vector<double> usual_elapsed;  ///< seconds between rows, as known at each; empty: not asked
  std::vector<Found> found;
  StreamClock clock;  ///< after the last row
  std::vector<std::string> remarks;

  /// As it was known after row t.
  std::optional<TimeStep> step_at(std::size_t t) const;
  std::size_t count(Row which) const;
  std::size_t passed() const;  ///< steps no row was there for
};

/// `known_ahead`: for every input whether it may be known ahead; empty: none. Without times, rows
/// are ahead where no target comes after them.
Timeline timeline_of(const Dataset& data, const std::vector<bool>& known_ahead = {});

/// Of a dataset whose last input is the elapsed time: puts it there. Nothing looks ahead.
void fill_elapsed(Dataset& data);

/// Makes the time since the row before an input, the last one.
void add_elapsed(Dataset& data);

/// The moments of rows for a clock; nothing for those without.
std::vector<std::optional<std::int64_t>> ticks_of(const Dataset& data);

}  // namespace kalstream

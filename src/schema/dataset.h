// A stream held in memory, as the readers and generators deliver it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "kalstream/schema.h"
#include "schema/dialect.h"
#include "schema/value.h"

namespace kalstream {

/// Rows of inputs and targets. A missing value is NaN; nothing else is ever non-finite.
struct Dataset {
  static constexpr std::int64_t no_moment = std::numeric_limits<std::int64_t>::min();

  std::string name;    ///< file name or generator, for messages and reports
  std::string source;  ///< what to quote in messages: the path, or gen:NAME?…
  std::vector<std::string> input_names;
  std::vector<std::string> target_names;
  std::vector<double> inputs;         ///< rows × input_names.size(), row after row
  std::vector<double> targets;        ///< rows × target_names.size()
  std::vector<std::size_t> lines;     ///< the file's line of each row (1-based); empty if generated
  std::string time_name;              ///< empty: there are no times
  std::vector<std::string> times;     ///< of each row, as written
  std::vector<std::int64_t> moments;  ///< the same in nanoseconds since 1970, or no_moment
  std::vector<std::int64_t> ticks;    ///< the same for a clock to follow (Sample::tick)
  Schema schema;                      ///< empty if generated
  Dialect dialect;                    ///< of lines of text
  std::vector<std::string> keys;     ///< of each row, the key of its model; empty: there is but one
  std::vector<std::string> ids;      ///< of each row; empty: there are none
  std::vector<std::string> classes;  ///< of each row, where the target is a class; "": missing
  /// Records that only bring the target of an earlier row.
  struct Label {
    std::size_t before = 0;  ///< comes before this row
    std::string key;
    std::string id;
    std::vector<double> d;
    std::string name;  ///< of a class
  };
  std::vector<Label> labels;

  std::size_t n_inputs() const { return input_names.size(); }
  std::size_t n_targets() const { return target_names.size(); }
  std::size_t rows() const { return n_targets() == 0 ? 0 : targets.size() / n_targets(); }

  std::span<const double> x(std::size_t row) const {
    return std::span(inputs).subspan(row * n_inputs(), n_inputs());
  }
  std::span<const double> d(std::size_t row) const {
    return std::span(targets).subspan(row * n_targets(), n_targets());
  }
};

/// What is to be said of rows that are sorted by their target: nothing resembles what comes next,
/// so a learner of streams does badly, and shuffled rows would do well. Empty if they are not, or
/// if times tell that this is their order.
std::string remark_on_order(const Dataset& data);

}  // namespace kalstream

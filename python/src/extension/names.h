// Named values of Python, of one sample or of whole columns, and the fields a learner knows by
// name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "arrays.h"
#include "data/record_file.h"
#include "kalstream/schema.h"
#include "schema/record.h"
#include "schema/sample.h"

namespace kalstream::python {

/// Whether these are named values: a dict, a pandas Series whose index is of names, and the like.
bool is_named(nb::handle values);

/// The fields of named values, in their order. Throws TypeError for a name that is no text.
void fill(Record& record, nb::handle named);

/// A table by columns, row by row: a data frame, a dict of columns.
class Columns final : public RecordFile {
 public:
  /// Of (name, values, is text): numbers as doubles, times as nanoseconds since 1970 (int64), or
  /// anything as a list.
  explicit Columns(const nb::list& columns);

  bool next(Record& record) override;
  std::size_t line() const override { return row_; }
  bool has_columns() const override { return !columns_.empty(); }
  std::vector<std::string> texts() const override;

  std::size_t rows() const { return rows_; }

 private:
  using Numbers1D = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  using Times = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

  struct Column {
    std::string name;
    std::variant<Numbers1D, Times, nb::list> values;
    bool is_text = false;
  };

  std::vector<Column> columns_;
  std::size_t rows_ = 0;
  std::size_t row_ = 0;  // counted from 1: that of the last record
};

/// Reads named samples for a learner. It knows the names from the start, from a snapshot, or from
/// the first sample that has some; from then on fields may come in any order.
class Names {
 public:
  Names(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs) {}

  /// Empty: no names are known.
  const Schema& schema() const;
  /// Throws ValueError if it has other numbers of inputs or outputs than the learner.
  void set(Schema schema);
  /// The same from names alone; without targets they are named by the first that comes with names.
  void set(const std::vector<std::string>& inputs, const std::vector<std::string>& targets);

  /// The inputs of a sample; NaN: missing. `keeps`: the values of categories that are new stay
  /// known. `y` may have the names of the targets, and `targets` tells whether x has to have them.
  /// The view lives until the next call. Throws ValueError, naming both sides, for other fields.
  std::span<const double> inputs(nb::handle x, bool keeps, nb::handle y = nb::none(),
                                 bool with_target = false);
  /// The target in the sample read last; empty: missing.
  std::span<const double> target() const { return sample_.d; }
  /// Targets by name, in the learner's order.
  std::span<const double> targets(nb::handle y);
  /// All rows of a table: rows × inputs.
  std::vector<double> table(const nb::list& columns, std::size_t& rows);

 private:
  void settle(nb::handle y, bool with_target);
  void name_targets(nb::handle y);
  void require_inputs() const;
  bool has_categories() const;

  std::size_t inputs_;
  std::size_t outputs_;
  std::optional<SampleReader> reader_;
  bool targets_are_open_ = false;  // nobody has named them yet
  Record record_;
  Sample sample_;
  std::vector<double> targets_;
};

/// A message of the command line in the words of Python: target= for --target.
std::string in_python(std::string message);

void bind_schema(nb::module_& module);

}  // namespace kalstream::python

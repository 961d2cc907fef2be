// Named values of Python, of one sample or of whole columns, as records.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "arrays.h"
#include "data/record_file.h"
#include "schema/record.h"

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

}  // namespace kalstream::python

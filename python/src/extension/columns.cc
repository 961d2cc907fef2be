#include "columns.h"

#include <nanobind/stl/string.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "schema/timestamp.h"

namespace kalstream::python {
namespace {

void set_number(double number, Value& value) {
  if (std::isnan(number)) return;  // missing
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  value.kind = std::isinf(number) ? Value::Kind::too_large : Value::Kind::number;
  value.number = number;
  value.text.assign(digits.data(), end);
}

void set_text(nb::handle text, Value& value) {
  value.text = nb::str(text).c_str();
  value.quoted = true;
  interpret(value.text, '.', value);
}

void set_integer(nb::handle integer, Value& value) {
  value.text = nb::str(integer).c_str();
  interpret(value.text, '.', value);
}

/// NaN and what pandas has for it: nothing that equals itself, or will not say.
bool is_missing(nb::handle object) {
  PyObject* const differs = PyObject_RichCompare(object.ptr(), object.ptr(), Py_NE);
  const int truth = differs == nullptr ? -1 : PyObject_IsTrue(differs);
  Py_XDECREF(differs);
  if (truth < 0) PyErr_Clear();
  return truth != 0;
}

bool is_a(nb::handle object, const char* type_name) {
  return nb::cast<std::string>(object.type().attr("__name__")) == type_name;
}

void set(nb::handle object, Value& value) {
  if (PyFloat_Check(object.ptr()) != 0) return set_number(PyFloat_AsDouble(object.ptr()), value);
  if (object.is_none()) return;
  if (PyBool_Check(object.ptr()) != 0) {
    value.kind = Value::Kind::number;
    value.number = object.is(nb::handle(Py_True)) ? 1 : 0;
    value.text = value.number == 1 ? "true" : "false";
    return;
  }
  if (PyLong_Check(object.ptr()) != 0) return set_integer(object, value);
  if (PyUnicode_Check(object.ptr()) != 0) return set_text(object, value);
  if (is_missing(object)) return;
  if (nb::hasattr(object, "isoformat")) return set_text(object.attr("isoformat")(), value);
  if (nb::hasattr(object, "item") && !is_a(object, "datetime64"))  // a scalar of NumPy
    return set(object.attr("item")(), value);
  if (nb::hasattr(object, "__float__"))
    return set_number(nb::cast<double>(nb::float_(object)), value);
  set_text(object, value);
}

}  // namespace

bool is_named(nb::handle values) {
  PyObject* const p = values.ptr();
  if (PyDict_Check(p) != 0) return true;
  if (PyFloat_Check(p) != 0 || values.is_none() || PyObject_CheckBuffer(p) != 0 ||
      PyLong_Check(p) != 0 || PyList_Check(p) != 0 || PyTuple_Check(p) != 0)
    return false;
  if (!nb::hasattr(values, "items") || !nb::hasattr(values, "keys")) return false;
  for (const nb::handle name : values.attr("keys")()) return PyUnicode_Check(name.ptr()) != 0;
  return false;
}

void fill(Record& record, nb::handle named) {
  record.clear();
  for (const nb::handle item : named.attr("items")()) {
    const auto pair = nb::cast<nb::tuple>(item);
    if (PyUnicode_Check(nb::handle(pair[0]).ptr()) == 0)
      throw nb::type_error("names are text: {\"temp\": 21.5}");
    set(pair[1], record.add(nb::str(nb::handle(pair[0])).c_str()));
  }
}

Columns::Columns(const nb::list& columns) {
  for (const nb::handle item : columns) {
    const auto part = nb::cast<nb::tuple>(item);
    const nb::handle values = part[1];
    Column column{.name = nb::cast<std::string>(part[0]),
                  .values = nb::list(),
                  .is_text = nb::cast<bool>(part[2])};
    Numbers1D numbers;
    Times times;
    std::size_t rows = 0;
    if (nb::try_cast(values, numbers, false)) {
      rows = numbers.size();
      column.values = numbers;
    } else if (nb::try_cast(values, times, false)) {
      rows = times.size();
      column.values = times;
    } else {
      column.values = nb::cast<nb::list>(values);
      rows = nb::len(values);
    }
    if (!columns_.empty() && rows != rows_)
      throw nb::value_error(("the column \"" + column.name + "\" has " + std::to_string(rows) +
                             " rows, \"" + columns_.front().name + "\" has " +
                             std::to_string(rows_))
                                .c_str());
    rows_ = rows;
    columns_.push_back(std::move(column));
  }
}

bool Columns::next(Record& record) {
  if (row_ == rows_) return false;
  record.clear();
  record.is_row = true;
  for (const Column& column : columns_) {
    Value& value = record.add(column.name);
    if (const auto* numbers = std::get_if<Numbers1D>(&column.values)) {
      set_number(numbers->data()[row_], value);
    } else if (const auto* times = std::get_if<Times>(&column.values)) {
      const std::int64_t moment = times->data()[row_];
      if (moment == std::numeric_limits<std::int64_t>::min()) continue;  // not a time
      value.kind = Value::Kind::text;
      value.quoted = true;
      value.text = iso_text(moment);
    } else {
      set(std::get<nb::list>(column.values)[row_], value);
    }
  }
  ++row_;
  return true;
}

std::vector<std::string> Columns::texts() const {
  std::vector<std::string> names;
  for (const Column& column : columns_)
    if (column.is_text || std::holds_alternative<Times>(column.values))
      names.push_back(column.name);
  return names;
}

}  // namespace kalstream::python

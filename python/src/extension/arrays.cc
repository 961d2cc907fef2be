#include "arrays.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace kalstream::python {
namespace {

// Of NumPy, which takes long to import: found when they are first needed.
PyObject* empty = nullptr;
PyObject* ascontiguousarray = nullptr;

nb::object of_numpy(PyObject*& function, const char* name) {
  if (function == nullptr)
    function = nb::object(nb::module_::import_("numpy").attr(name)).release().ptr();
  return nb::borrow(function);
}

[[noreturn]] void fail_size(const char* name, std::size_t expected, std::size_t given) {
  throw nb::value_error((std::string(name) + ": " + std::to_string(expected) + " number" +
                         (expected == 1 ? "" : "s") + " expected, " + std::to_string(given) +
                         " given")
                            .c_str());
}

}  // namespace

void forget_numpy() {
  Py_CLEAR(empty);
  Py_CLEAR(ascontiguousarray);
}

// The buffer of a masked array has its values, and nothing of its mask. Types are asked but once in
// a row.
nb::object unmasked(nb::handle source) {
  static const PyTypeObject* plain = nullptr;
  const PyTypeObject* type = Py_TYPE(source.ptr());
  if (type == plain) return nb::borrow(source);
  if (!nb::hasattr(source, "filled") || !nb::hasattr(source, "mask")) {
    plain = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 ? type : plain;  // that stays
    return nb::borrow(source);
  }
  return source.attr("astype")("float64").attr("filled")(std::numeric_limits<double>::quiet_NaN());
}

Numbers::Numbers(nb::handle source, std::size_t expected, const char* name) {
  if (PyFloat_Check(source.ptr()) != 0 || PyLong_Check(source.ptr()) != 0) {
    single_ = PyFloat_AsDouble(source.ptr());
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    view_ = {&single_, 1};
  } else if (source.is_none()) {
    view_ = {};
  } else if (const nb::object values = unmasked(source); !view_buffer(values)) {
    try {
      convert(values);
    } catch (nb::python_error& error) {
      nb::raise_from(error, PyExc_TypeError, "%s: numbers expected", name);
    }
  }
  if (view_.size() != expected) {
    const std::size_t given = view_.size();
    if (has_buffer_) PyBuffer_Release(&buffer_);  // no destructor runs
    fail_size(name, expected, given);
  }
}

Numbers::~Numbers() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

bool Numbers::view_buffer(nb::handle source) {
  if (PyObject_GetBuffer(source.ptr(), &buffer_, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return false;
  }
  if (buffer_.itemsize != sizeof(double) || buffer_.format == nullptr ||
      std::strcmp(buffer_.format, "d") != 0) {
    PyBuffer_Release(&buffer_);
    return false;
  }
  has_buffer_ = true;
  view_ = {static_cast<const double*>(buffer_.buf),
           static_cast<std::size_t>(buffer_.len) / sizeof(double)};
  return true;
}

void Numbers::convert(nb::handle source) {
  const bool is_list =
      PyList_CheckExact(source.ptr()) != 0 || PyTuple_CheckExact(source.ptr()) != 0;
  if (is_list) {  // of a few numbers: faster than by way of an array
    for (nb::handle item : nb::borrow<nb::sequence>(source)) {
      copy_.push_back(PyFloat_AsDouble(item.ptr()));
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
    }
    view_ = copy_;
    return;
  }
  if (PyUnicode_Check(source.ptr()) != 0) {
    PyErr_SetString(PyExc_TypeError, "text is no number");
    throw nb::python_error();
  }
  converted_ = of_numpy(ascontiguousarray, "ascontiguousarray")(source, "float64");
  view_buffer(converted_);
}

nb::object small_array(std::span<const double> values) {
  nb::object array = of_numpy(empty, "empty")(values.size());
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_WRITABLE) != 0) throw nb::python_error();
  std::copy(values.begin(), values.end(), static_cast<double*>(buffer.buf));
  PyBuffer_Release(&buffer);
  return array;
}

}  // namespace kalstream::python

// kalstream._core: what the Python package is built on. The package is the interface; this is not.
#include <exception>

#include "kalstream/snapshot.h"
#include "kalstream/version.h"
#include "learner.h"
#include "names.h"
#include "schema/rules.h"
#include "schema/value.h"

namespace {

PyObject* data_error = nullptr;  // kalstream.DataError; the module keeps it

// Bad data and fields that cannot be settled, in the words of Python.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const kalstream::DataError& error) {
    PyErr_SetString(data_error, kalstream::python::in_python(error.what()).c_str());
  } catch (const kalstream::SchemaError& error) {
    PyErr_SetString(data_error, kalstream::python::in_python(error.what()).c_str());
  }
}

}  // namespace

NB_MODULE(_core, m) {
  namespace py = kalstream::python;
  nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function(py::forget_numpy));
  nanobind::exception<kalstream::SnapshotError>(  // NOLINT: the module keeps it
      m, "SnapshotError", PyExc_ValueError);
  data_error = PyErr_NewException("kalstream.DataError", PyExc_ValueError, nullptr);
  m.attr("DataError") = nanobind::steal(data_error);
  nanobind::register_exception_translator(translate);
  m.attr("__version__") = kalstream::version();
  py::bind_schema(m);
  py::bind_dataset(m);
  py::bind_learner(m);
  py::bind_evaluation(m);
  py::bind_stream(m);
  py::bind_surprise(m);
  py::bind_batch(m);
}

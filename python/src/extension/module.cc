// kalstream._core: what the Python package is built on. The package is the interface; this is not.
#include "kalstream/snapshot.h"
#include "kalstream/version.h"
#include "learner.h"

NB_MODULE(_core, m) {
  namespace py = kalstream::python;
  py::find_numpy();
  nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function(py::forget_numpy));
  nanobind::exception<kalstream::SnapshotError>(  // NOLINT: the module keeps it
      m, "SnapshotError", PyExc_ValueError);
  m.attr("__version__") = kalstream::version();
  py::bind_learner(m);
  py::bind_evaluation(m);
}

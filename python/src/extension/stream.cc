// kalstream.Stream.
#include "kalstream/stream.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "learner.h"

namespace kalstream::python {

void bind_stream(nb::module_& m) {
  nb::class_<Stream>(m, "Stream")
      .def(nb::init<std::string_view>(), nb::arg("settings"))
      .def("take", &Stream::take, nb::arg("line"))
      .def("learn", &Stream::learn)
      .def("take_remarks", &Stream::take_remarks)
      .def("schema", &Stream::schema)
      .def("status", &Stream::status)
      .def(
          "state_of",
          [](Stream& self, std::string_view key) -> std::optional<nb::bytes> {
            const auto state = self.state_of(key);
            if (!state) return {};
            return bytes_of(*state);
          },
          nb::arg("key"))
      .def(
          "put_state",
          [](Stream& self, const nb::bytes& state, std::string_view key) {
            self.put_state(view_of(state), key);
          },
          nb::arg("state"), nb::arg("key"))
      .def("forget", &Stream::forget, nb::arg("key"))
      .def("checkpoint", [](Stream& self) { return bytes_of(self.checkpoint()); })
      .def(
          "resume",
          [](Stream& self, const nb::bytes& checkpoint) { self.resume(view_of(checkpoint)); },
          nb::arg("checkpoint"));
}

}  // namespace kalstream::python

// kalstream.Surprise.
#include "kalstream/surprise.h"

#include <stdexcept>
#include <string>

#include "core/archive.h"
#include "learner.h"

namespace kalstream::python {
namespace {

/// What was expected of every output, until the target comes.
struct Expectation {
  std::vector<Surprise::Expected> of;
};

Expectation expect(Surprise& self, nb::handle prediction, nb::handle spread) {
  const Numbers d_hat(prediction, self.outputs(), "prediction");
  const auto view = spread.is_none()
                        ? self.expect(d_hat)
                        : self.expect(d_hat, Numbers(spread, self.outputs(), "spread"));
  return {{view.begin(), view.end()}};
}

nb::object of(Surprise& self, const Expectation& expected, nb::handle y) {
  return small_array(self.of(expected.of, Numbers(y, self.outputs(), "y")));
}

void learn(Surprise& self, const Expectation& expected, nb::handle y) {
  self.learn(expected.of, Numbers(y, self.outputs(), "y"));
}

nb::object take(Surprise& self, nb::handle prediction, nb::handle y, nb::handle spread) {
  const Expectation expected = expect(self, prediction, spread);
  nb::object p = of(self, expected, y);
  learn(self, expected, y);
  return p;
}

void set_state(Surprise& self, const nb::tuple& state) {
  new (&self) Surprise(nb::cast<std::size_t>(state[0]));
  const auto bytes = nb::cast<nb::bytes>(state[1]);
  Archive archive(view_of(bytes));
  self.exchange(archive);
}

}  // namespace

void bind_surprise(nb::module_& m) {
  nb::class_<Expectation>(m, "Expectation", "What was expected, until the target comes.");
  nb::class_<Surprise>(
      m, "Surprise",
      "How strange values are, given what had been predicted: the probability of one at "
      "least so far off, from its prediction or from where values have been. Calibrated as "
      "the stream goes: about a part p of ordinary values has a surprise of p or less.")
      .def(
          "__init__",
          [](Surprise* self, std::size_t outputs) {
            if (outputs == 0) throw std::invalid_argument("outputs: at least 1");
            new (self) Surprise(outputs);
          },
          nb::arg("outputs") = 1)
      .def("take", &take, nb::arg("prediction"), nb::arg("y"), nb::arg("spread") = nb::none(),
           "The surprise of y, one per output, and learns it; NaN before ten are known.")
      .def("expect", &expect, nb::arg("prediction"), nb::arg("spread") = nb::none(),
           "For targets that come later: what is expected, to be kept until then.")
      .def("of", &of, nb::arg("expected"), nb::arg("y"),
           "The surprise of y, one per output. No effect on later calls.")
      .def("learn", &learn, nb::arg("expected"), nb::arg("y"), "Learns how far off y was.")
      .def("reset", &Surprise::reset, "Back to the start.")
      .def_prop_ro("outputs", &Surprise::outputs)
      .def("__getstate__",
           [](Surprise& self) { return nb::make_tuple(self.outputs(), exchanged(self)); })
      .def("__setstate__", &set_state)
      .def("__repr__", [](const Surprise& self) {
        return "Surprise(outputs=" + std::to_string(self.outputs()) + ")";
      });
}

}  // namespace kalstream::python

// kalstream.RlsBatch.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kalstream/rls_batch.h"
#include "learner.h"

namespace kalstream::python {
namespace {

using Targets = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Which = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// One thread at a time, whoever has the interpreter lock.
struct PyRlsBatch {
  explicit PyRlsBatch(RlsBatch b) : batch(std::move(b)) {}

  template <class Use>
  auto use(const Use& use) {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(mutex);
    return use(batch);
  }

  RlsBatch batch;
  std::mutex mutex;
};

std::vector<std::size_t> numbers_of(const Which& which) {
  std::vector<std::size_t> numbers;
  numbers.reserve(which.size());
  for (std::size_t k = 0; k < which.size(); ++k) {
    if (which.data()[k] < 0) throw std::invalid_argument("which: numbers of models, from 0");
    numbers.push_back(static_cast<std::size_t>(which.data()[k]));
  }
  return numbers;
}

/// Rows or targets, as doubles one after the other.
template <class Array>
Array array_in(nb::handle values, const char* name) {
  Array array;
  if (!nb::try_cast(unmasked(values), array))
    throw nb::type_error((std::string(name) + ": an array of numbers expected").c_str());
  return array;
}

/// What each model, or each of which, says of its row of X: use(batch, some, d_hat).
nb::object said(PyRlsBatch& self, const Matrix& X, const std::optional<Which>& which,
                const auto& use) {
  std::vector<double> d_hat(X.shape(0));
  const auto some = which ? numbers_of(*which) : std::vector<std::size_t>();
  self.use([&](RlsBatch& batch) { use(batch, some, d_hat); });
  const std::size_t rows = d_hat.size();
  return array_of(std::move(d_hat), {rows});
}

nb::object predict(PyRlsBatch& self, nb::handle values, const std::optional<Which>& which) {
  const auto X = array_in<Matrix>(values, "X");
  return said(self, X, which, [&](RlsBatch& batch, const auto& some, auto& d_hat) {
    which ? batch.predict_some(some, span_of(X), d_hat) : batch.predict(span_of(X), d_hat);
  });
}

nb::object learn(PyRlsBatch& self, nb::handle values, nb::handle targets,
                 const std::optional<Which>& which) {
  const auto X = array_in<Matrix>(values, "X");
  const auto y = array_in<Targets>(targets, "y");
  const std::span<const double> d(y.data(), y.size());
  return said(self, X, which, [&](RlsBatch& batch, const auto& some, auto& d_hat) {
    which ? batch.learn_some(some, span_of(X), d, d_hat) : batch.learn(span_of(X), d, d_hat);
  });
}

nb::bytes save(PyRlsBatch& self) {
  return bytes_of(self.use([](RlsBatch& batch) { return batch.save(); }));
}

}  // namespace

void bind_batch(nb::module_& m) {
  nb::class_<PyRlsBatch>(
      m, "RlsBatch",
      "Many linear models of one shape at once, each what the learner \"rls\" is, within rounding: "
      "hundreds of thousands of small models on one machine (docs/batches.md). Calls work without "
      "the interpreter lock.")
      .def(
          "__init__",
          [](PyRlsBatch* self, std::size_t models, std::size_t inputs, double initial_covariance,
             double process_noise) {
            new (self) PyRlsBatch(RlsBatch(
                models, inputs,
                {.initial_covariance = initial_covariance, .process_noise = process_noise}));
          },
          nb::arg("models"), nb::arg("inputs"), nb::kw_only(), nb::arg("initial_covariance") = 1.0,
          nb::arg("process_noise") = 0.0)
      .def("predict", predict, nb::arg("X"), nb::arg("which") = nb::none(),
           "What each model predicts for its row of X; NaN where that cannot be used. `which`: the "
           "numbers of some models, in ascending order, where not all have a row.")
      .def("learn", learn, nb::arg("X"), nb::arg("y"), nb::arg("which") = nb::none(),
           "The same, then each learns its target; NaN: it is missing.")
      .def(
          "weights",
          [](PyRlsBatch& self, std::size_t model) {
            return small_array(self.use([&](RlsBatch& batch) { return batch.weights(model); }));
          },
          nb::arg("model"), "In the units of the data: of each input, then the constant.")
      .def(
          "samples",
          [](PyRlsBatch& self, std::size_t model) {
            return self.use([&](RlsBatch& batch) { return batch.samples(model); });
          },
          nb::arg("model"), "That the model has seen.")
      .def(
          "reset", [](PyRlsBatch& self) { self.use([](RlsBatch& batch) { batch.reset(); }); },
          "All models back to the start.")
      .def("save", save, "All that was learnt, as bytes.")
      .def_static(
          "load",
          [](const nb::bytes& bytes) {
            return std::make_unique<PyRlsBatch>(RlsBatch::load(view_of(bytes)));
          },
          nb::arg("snapshot"), "What save gave.")
      .def_prop_ro("models", [](PyRlsBatch& self) { return self.batch.models(); })
      .def_prop_ro("inputs", [](PyRlsBatch& self) { return self.batch.inputs(); })
      .def("__getstate__", save)
      .def("__setstate__",
           [](PyRlsBatch& self, const nb::bytes& bytes) {
             new (&self) PyRlsBatch(RlsBatch::load(view_of(bytes)));
           })
      .def("__repr__", [](PyRlsBatch& self) {
        return "RlsBatch(models=" + std::to_string(self.batch.models()) +
               ", inputs=" + std::to_string(self.batch.inputs()) + ")";
      });
}

}  // namespace kalstream::python

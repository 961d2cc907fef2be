// Numbers between Python and C++: no copy where memory already holds doubles in a row.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/archive.h"

namespace kalstream::python {

namespace nb = nanobind;

/// The numbers of a Python object for the length of one call: a view of a contiguous array of
/// doubles, else a copy. Takes a number for a single one and None for none.
class Numbers {
 public:
  /// Throws ValueError or TypeError naming the argument unless there are `expected` of them.
  Numbers(nb::handle source, std::size_t expected, const char* name);
  ~Numbers();
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;

  operator std::span<const double>() const { return view_; }  // NOLINT: it stands for them

 private:
  bool view_buffer(nb::handle source);
  void convert(nb::handle source);

  Py_buffer buffer_{};
  bool has_buffer_ = false;
  double single_ = 0;
  std::vector<double> copy_;
  nb::object converted_;
  std::span<const double> view_;
};

/// What is masked in a masked array of NumPy is missing: NaN. All else stays as it is.
nb::object unmasked(nb::handle source);

/// A new NumPy array with a copy of these few numbers.
nb::object small_array(std::span<const double> values);

/// A NumPy array that takes the vector over.
template <class T>
nb::object array_of(std::vector<T> values, const std::vector<std::size_t>& shape) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}

/// Gives back what was found of NumPy.
void forget_numpy();

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline std::span<const double> span_of(const Matrix& m) { return {m.data(), m.size()}; }

inline std::span<const std::byte> view_of(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

inline nb::bytes bytes_of(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

/// All that something knows (exchange), as bytes.
nb::bytes exchanged(auto& self) {
  std::vector<std::byte> bytes;
  Archive archive(bytes);
  self.exchange(archive);
  return bytes_of(bytes);
}

template <class T>
void bind_members(nb::class_<T>&) {}

/// Members of a struct that Python may read and write: bind_members(bound, "name", &T::name, …).
template <class T, class Member, class... More>
void bind_members(nb::class_<T>& bound, const char* name, Member T::*member, More... more) {
  bound.def_rw(name, member, nb::arg().none());
  bind_members(bound, more...);
}

}  // namespace kalstream::python

// A pointer whose copy owns a copy.
#pragma once

#include <memory>
#include <utility>

namespace kalstream {

/// Owns an object with a clone(), or none. Copying the pointer clones the object, so that a class
/// with such members needs no copy constructor of its own.
template <class T>
class Cloned : public std::unique_ptr<T> {
 public:
  Cloned(std::unique_ptr<T> object = nullptr) : std::unique_ptr<T>(std::move(object)) {}  // NOLINT
  Cloned(const Cloned& other) : Cloned(other ? other->clone() : nullptr) {}
  Cloned(Cloned&&) noexcept = default;
  Cloned& operator=(Cloned other) noexcept {
    this->swap(other);
    return *this;
  }
  ~Cloned() = default;
};

}  // namespace kalstream

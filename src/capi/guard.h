// What every function of the C interface goes through: nothing is thrown beyond it, and no handle
// is used by two threads at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "kalstream/kalstream.h"

namespace kalstream::capi {

/// A code with its message.
struct Failure : std::runtime_error {
  Failure(kalstream_code c, const std::string& message) : std::runtime_error(message), code(c) {}
  kalstream_code code;
};

/// Of the exception that is being handled; its message is from now on the thread's.
int code_of_exception() noexcept;
const char* last_error() noexcept;

/// Throws KALSTREAM_INVALID unless it points to something.
void require(const void* pointer, const char* name);

/// The elements of an array that has to have `wanted`. Throws KALSTREAM_INVALID.
void require_size(const void* array, std::size_t size, std::size_t wanted, const char* name);
template <class T>
std::span<T> sized(T* array, std::size_t size, std::size_t wanted, const char* name) {
  require_size(array, size, wanted, name);
  return {array, size};
}
/// Of an array of any size.
std::span<const std::byte> bytes_in(const unsigned char* bytes, std::size_t size);
std::string_view text_in(const char* text, std::size_t size, const char* name);

/// Copies that belong to the caller, who gives them back by kalstream_free.
char* copy_of(std::string_view text);
unsigned char* copy_of(std::span<const std::byte> bytes);

/// What is inside of a handle beside its own.
struct Handle {
  std::atomic<bool> in_use = false;
};

/// Holds it for one call.
class Use {
 public:
  explicit Use(Handle& handle) : handle_(handle) {
    if (handle_.in_use.exchange(true, std::memory_order_acquire))
      throw Failure(KALSTREAM_BUSY, "another thread is using this handle; wait until it is done");
  }
  ~Use() { handle_.in_use.store(false, std::memory_order_release); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Handle& handle_;
};

/// Runs `work`, which returns nothing or a code.
int guarded(const auto& work) noexcept {
  try {
    if constexpr (requires { static_cast<int>(work()); })
      return work();
    else
      work();
    return KALSTREAM_OK;
  } catch (...) {
    return code_of_exception();
  }
}

/// The same, with a handle.
int guarded_with(Handle* handle, const auto& work) noexcept {
  return guarded([&] {
    require(handle, "the handle");
    const Use use(*handle);
    return work();
  });
}

}  // namespace kalstream::capi

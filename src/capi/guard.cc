#include "capi/guard.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/memory_limit.h"
#include "kalstream/snapshot.h"
#include "schema/rules.h"

namespace kalstream::capi {
namespace {

// A place that is always there: to say that memory is short takes none.
thread_local char message[4096] = "";

int fail(kalstream_code code, const char* text) noexcept {
  std::snprintf(message, sizeof message, "%s", text);
  return code;
}

}  // namespace

const char* last_error() noexcept { return message; }

int code_of_exception() noexcept {
  try {
    throw;
  } catch (const Failure& error) {
    return fail(error.code, error.what());
  } catch (const SnapshotError& error) {
    return fail(KALSTREAM_SNAPSHOT, error.what());
  } catch (const SchemaError& error) {
    return fail(KALSTREAM_SCHEMA, error.what());
  } catch (const NotEnoughMemory& error) {
    return fail(KALSTREAM_MEMORY, error.what());
  } catch (const std::length_error&) {
    return fail(KALSTREAM_MEMORY, "there is not enough memory");
  } catch (const std::bad_alloc&) {
    return fail(KALSTREAM_MEMORY, "there is not enough memory");
  } catch (const std::invalid_argument& error) {
    return fail(KALSTREAM_INVALID, error.what());
  } catch (const std::exception& error) {
    return fail(KALSTREAM_INTERNAL, error.what());
  } catch (...) {
    return fail(KALSTREAM_INTERNAL, "something that is no exception was thrown");
  }
}

void require(const void* pointer, const char* name) {
  if (pointer == nullptr) throw Failure(KALSTREAM_INVALID, std::string(name) + " is NULL");
}

void require_size(const void* array, std::size_t size, std::size_t wanted, const char* name) {
  if (size != wanted)
    throw Failure(KALSTREAM_INVALID, std::string(name) + " has " + std::to_string(size) +
                                         " numbers where there must be " + std::to_string(wanted));
  if (size > 0) require(array, name);
}

std::span<const std::byte> bytes_in(const unsigned char* bytes, std::size_t size) {
  if (size > 0) require(bytes, "bytes");
  return std::as_bytes(std::span(bytes, size));
}

std::string_view text_in(const char* text, std::size_t size, const char* name) {
  if (size > 0) require(text, name);
  return {text, size};
}

char* copy_of(std::string_view text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

unsigned char* copy_of(std::span<const std::byte> bytes) {
  auto* copy = static_cast<unsigned char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  return copy;
}

}  // namespace kalstream::capi

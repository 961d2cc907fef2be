// The one list of an options struct's fields: validation, snapshots, settings by name and the
// reference all go through it, so that an option is named once.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kalstream/options.h"

namespace kalstream {

/// One of several, by its place: an enumeration whose values count from 0, each with a name.
struct Choice {
  std::span<const std::string_view> names;
  void* where;
  std::size_t (*get)(const void*);
  void (*set)(void*, std::size_t);
};

template <class Enum>
Choice choice(Enum& where, std::span<const std::string_view> names) {
  return {
      .names = names,
      .where = &where,
      .get = [](const void* w) { return static_cast<std::size_t>(*static_cast<const Enum*>(w)); },
      .set = [](void* w, std::size_t n) { *static_cast<Enum*>(w) = static_cast<Enum>(n); }};
}

/// Any 64 bits; other whole numbers count something.
struct Word {
  std::uint64_t* where;
};

/// Where the value of a field is, and of what kind.
using FieldValue = std::variant<double*, std::size_t*, bool*, Word, Choice, Schedule*,
                                std::optional<double>*, std::vector<double>*>;

/// What every number of a field must be; of a schedule both ends, of a list each.
struct Permitted {
  const char* words = "";  ///< follows "must be"; empty: nothing is asked
  bool (*holds)(double) = [](double) { return true; };
};

inline constexpr Permitted anything{};
inline constexpr Permitted finite_number{"finite", [](double v) { return std::isfinite(v); }};
inline constexpr Permitted positive{"finite and positive",
                                    [](double v) { return std::isfinite(v) && v > 0; }};
inline constexpr Permitted not_negative{"finite and not negative",
                                        [](double v) { return std::isfinite(v) && v >= 0; }};
inline constexpr Permitted fraction{"at least 0 and less than 1",
                                    [](double v) { return v >= 0 && v < 1; }};
inline constexpr Permitted at_least_1{"at least 1", [](double v) { return v >= 1; }};

struct Field {
  std::string_view key;      ///< in settings and in complaints
  std::string_view meaning;  ///< in a line, for people
  FieldValue value;
  Permitted permitted = anything;
  std::string_view stored_as = key;  ///< its name in snapshots
  bool is_setting = true;  ///< otherwise something else decides it: the stream, the seed …
};

/// Those of one object; they live no longer than it does.
using Fields = std::vector<Field>;

/// The field, but not for people to set by its name.
Field no_setting(Field field);

Fields operator+(Fields first, const Fields& second);

Fields fields_of(NetworkOptions& network);
Fields fields_of(Loss& loss);

/// Throws std::invalid_argument, "KEY must be DEMAND", for the first field that is not as
/// permitted.
void check(const Fields& fields);

/// Throws the same unless `ok`: for what one field demands of another.
void require(bool ok, std::string_view key, std::string_view demand);

// Values of options as people write and read them.

/// Throws std::invalid_argument, "'TEXT' is not KIND", and leaves the value as it was. A schedule
/// A..B that does not say over how many samples spans `run_length`.
void set_from_text(const FieldValue& value, std::string_view text, std::size_t run_length);

std::string text_of(const FieldValue& value);

}  // namespace kalstream

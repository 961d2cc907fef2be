// One line, row or message of a stream, whatever it was written in: named values.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/value.h"

namespace kalstream {

/// Fields in the order they were written. Structures are flat: b inside of a is "a.b", the second
/// number of a list "a.2" (a list of one is "a"). Used again and again, it stops allocating.
class Record {
 public:
  struct Field {
    std::string name;
    Value value;
  };

  void clear() {
    size_ = 0;
    by_name_.clear();
  }

  /// The next field, with a missing value.
  Value& add(std::string_view name) {
    if (size_ == fields_.size()) fields_.emplace_back();
    Field& f = fields_[size_++];
    if (f.name != name) f.name = name;
    f.value.kind = Value::Kind::missing;
    f.value.quoted = f.value.only_of_list = false;
    f.value.text.clear();
    return f.value;
  }

  std::span<const Field> fields() const { return {fields_.data(), size_}; }
  std::span<Field> fields() { return {fields_.data(), size_}; }
  bool empty() const { return size_ == 0; }

  /// The value of that name; nullptr if there is none. `at` is where it was found the last time,
  /// and mostly still is.
  const Value* find(std::string_view name, std::size_t& at) const;

  /// A row of a table: it has all the fields there are, so one that is not in it never comes.
  bool is_row = false;
  /// The fields were named by whoever wrote them, and not by their place (x1, x2, …).
  bool named = true;

 private:
  std::size_t place_of(std::string_view name) const;

  std::vector<Field> fields_;  // the first size_ are in use
  std::size_t size_ = 0;
  mutable std::vector<std::size_t> by_name_;  // sorted by it; only where there are many
};

/// "x1", "x2", …, for fields that have no name of their own.
std::string field_name(std::size_t index, char letter = 'x');

// Fields by the words people have for them.

using FieldNames = std::vector<std::string>;
using FieldPlaces = std::vector<std::size_t>;

/// Why a number is left out that the user has not named among the inputs.
inline constexpr std::string_view not_chosen_reason = "not among the inputs";

/// For messages: "a", "b", and so on; "none" if there are none.
std::string list_of(const FieldNames& names);

FieldNames names_of(const Record& record);

/// Whether `name` is that of a number in the list `of`: "a.2" in "a".
bool is_in_list(std::string_view name, std::string_view of);

/// The fields a word stands for: a name, a list, or a place counted from 1.
FieldPlaces places_of(const FieldNames& names, const std::string& wanted);

}  // namespace kalstream

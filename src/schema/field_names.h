// Fields by the words people have for them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schema/record.h"

namespace kalstream {

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

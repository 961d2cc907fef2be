#include "schema/field_names.h"

#include <algorithm>
#include <charconv>

namespace kalstream {
namespace {

bool is_number(std::string_view text, std::size_t& n) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, n);
  return error == std::errc() && at == end;
}

}  // namespace

std::string list_of(const FieldNames& names) {
  constexpr std::size_t most = 50;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), most); ++k)
    text += (k > 0 ? ", " : "") + shown(names[k]);
  if (names.size() > most) text += ", …";
  return names.empty() ? "none" : text;
}

FieldNames names_of(const Record& record) {
  FieldNames names;
  for (const Record::Field& f : record.fields()) names.push_back(f.name);
  return names;
}

/// Whether `name` is that of a number in the list `of`: "a.2" in "a".
bool is_in_list(std::string_view name, std::string_view of) {
  std::size_t n = 0;
  return name.size() > of.size() + 1 && name.starts_with(of) && name[of.size()] == '.' &&
         is_number(name.substr(of.size() + 1), n);
}

/// The fields a user's word stands for: a name, a list, or a place counted from 1.
FieldPlaces places_of(const FieldNames& names, const std::string& wanted) {
  FieldPlaces found;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k] == wanted) found.push_back(k);
  for (std::size_t k = 0; k < names.size() && found.empty(); ++k)
    if (is_in_list(names[k], wanted))
      for (; k < names.size() && is_in_list(names[k], wanted); ++k) found.push_back(k);
  std::size_t place = 0;
  if (found.empty() && is_number(wanted, place) && place >= 1 && place <= names.size())
    found.push_back(place - 1);
  return found;
}

}  // namespace kalstream

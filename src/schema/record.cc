#include "schema/record.h"

#include <algorithm>
#include <numeric>

#include "core/number_in.h"

namespace kalstream {

const Value* Record::find(std::string_view name, std::size_t& at) const {
  if (at < size_ && fields_[at].name == name) return &fields_[at].value;
  const std::size_t place = place_of(name);
  if (place == size_) return nullptr;
  at = place;
  return &fields_[place].value;
}

// A few are looked through. Many are sorted first, so that whoever looks for all of them, in a line
// that has them in another order than the last, does not look a million times at each.
std::size_t Record::place_of(std::string_view name) const {
  constexpr std::size_t few = 64;
  if (size_ <= few) {
    std::size_t place = 0;
    while (place < size_ && fields_[place].name != name) ++place;
    return place;
  }
  const auto name_at = [&](std::size_t k) -> const std::string& { return fields_[k].name; };
  if (by_name_.size() != size_) {
    by_name_.resize(size_);
    std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
    std::ranges::stable_sort(by_name_, {}, name_at);
  }
  const auto found = std::ranges::lower_bound(by_name_, name, {}, name_at);
  return found == by_name_.end() || fields_[*found].name != name ? size_ : *found;
}

std::string field_name(std::size_t index, char letter) {
  return letter + std::to_string(index + 1);
}

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

bool is_in_list(std::string_view name, std::string_view of) {
  return name.size() > of.size() + 1 && name.starts_with(of) && name[of.size()] == '.' &&
         number_in<std::size_t>(name.substr(of.size() + 1));
}

FieldPlaces places_of(const FieldNames& names, const std::string& wanted) {
  FieldPlaces found;
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k] == wanted) found.push_back(k);
  for (std::size_t k = 0; k < names.size() && found.empty(); ++k)
    if (is_in_list(names[k], wanted))
      for (; k < names.size() && is_in_list(names[k], wanted); ++k) found.push_back(k);
  const std::size_t place = number_in<std::size_t>(wanted).value_or(0);
  if (found.empty() && place >= 1 && place <= names.size()) found.push_back(place - 1);
  return found;
}

}  // namespace kalstream

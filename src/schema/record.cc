#include "schema/record.h"

#include <algorithm>
#include <numeric>

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

}  // namespace kalstream

#include "schema/record.h"

namespace kalstream {

const Value* Record::find(std::string_view name, std::size_t& at) const {
  if (at < size_ && fields_[at].name == name) return &fields_[at].value;
  for (std::size_t k = 0; k < size_; ++k)
    if (fields_[k].name == name) {
      at = k;
      return &fields_[k].value;
    }
  return nullptr;
}

std::string field_name(std::size_t index, char letter) {
  return letter + std::to_string(index + 1);
}

}  // namespace kalstream

#include "engine/answer.h"

#include <array>

namespace kalstream {

const char* to_string(Answer::Status status) {
  constexpr std::array names{"predicted", "learnt", "labelled", "late",
                             "repeated",  "ahead",  "refused"};
  return names[static_cast<std::size_t>(status)];
}

}  // namespace kalstream

// The classes of the most similar samples in memory.
#pragma once

#include <memory>

#include "classes/class_expert.h"

namespace kalstream {

std::unique_ptr<ClassExpert> make_neighbours(std::size_t inputs, std::size_t classes);

}  // namespace kalstream

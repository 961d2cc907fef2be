#include "data/generators/stream.h"

#include <algorithm>

namespace kalstream::generator {

double target_of(double value, double centre, double half_range) {
  constexpr double limit = 0.8;
  const double d = limit * (value - centre) / half_range;
  return std::clamp(d, -limit, limit);
}

void append_numbered(std::vector<std::string>& names, const std::string& base, std::size_t count) {
  for (std::size_t i = 1; i <= count; ++i) names.push_back(base + std::to_string(i));
}

std::vector<std::string> numbered(const std::string& base, std::size_t count) {
  std::vector<std::string> names;
  append_numbered(names, base, count);
  return names;
}

}  // namespace kalstream::generator

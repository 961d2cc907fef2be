#include "schema/dataset.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kalstream {
namespace {

/// The targets that are there; a class by its place among those that came.
std::vector<double> targets_of(const Dataset& data) {
  std::vector<double> targets;
  std::map<std::string, double> places;
  for (std::size_t t = 0; t < data.rows(); ++t)
    if (!data.classes.empty()) {
      if (!data.classes[t].empty())
        targets.push_back(
            places.emplace(data.classes[t], static_cast<double>(places.size())).first->second);
    } else if (!std::isnan(data.d(t)[0])) {
      targets.push_back(data.d(t)[0]);
    }
  return targets;
}

}  // namespace

std::string remark_on_order(const Dataset& data) {
  constexpr std::size_t least = 50;  // rows; fewer may be sorted by chance
  if (data.n_inputs() == 0 || data.n_targets() != 1 || !data.times.empty()) return {};
  const std::vector<double> targets = targets_of(data);
  if (targets.size() < least || targets.front() == targets.back()) return {};
  if (!std::ranges::is_sorted(targets) && !std::ranges::is_sorted(targets, std::ranges::greater()))
    return {};
  return "the rows are sorted by " + data.target_names.front() +
         ": no row tells of those that follow; shuffle them, unless that is the order they came in";
}

}  // namespace kalstream

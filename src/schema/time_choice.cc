#include "schema/time_choice.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace kalstream {

std::optional<std::vector<double>> periods_of(const TimeChoice& choice) {
  if (choice.period.empty()) return {};
  if (choice.period.size() == 1 && choice.period.front() == "none") return std::vector<double>{};
  constexpr double shortest = 2;
  constexpr double longest = 100'000;
  constexpr std::size_t most = 3;
  std::vector<double> periods;
  for (const std::string& text : choice.period) {
    double n = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, n);
    if (error != std::errc() || rest != end || !(n >= shortest && n <= longest))
      throw std::invalid_argument(
          "--period " + text + ": write numbers of samples from 2 to 100000, e.g. 24,168, or none");
    periods.push_back(n);
  }
  std::ranges::sort(periods);
  if (std::ranges::adjacent_find(periods) != periods.end() || periods.size() > most)
    throw std::invalid_argument("--period: at most 3 different ones");
  return periods;
}

}  // namespace kalstream

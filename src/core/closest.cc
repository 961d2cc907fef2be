#include "core/closest.h"

#include <algorithm>
#include <vector>

namespace kalstream {
namespace {

// Of ASCII letters, in any locale.
char lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The restricted Damerau-Levenshtein distance, by rows of its table:
// D(i,j) = min(D(i−1,j) + 1, D(i,j−1) + 1, D(i−1,j−1) + [a_i ≠ b_j],
//              D(i−2,j−2) + 1 if a_i a_{i−1} = b_{j−1} b_j).
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> closest(std::string_view name, std::span<const std::string> candidates) {
  std::optional<std::string> nearest;
  // A word of two letters may have one slip, but must keep one letter.
  std::size_t fewest = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= fewest) continue;  // needs as many
    const std::size_t n = slips(name, candidate);
    if (n >= fewest || n >= longer) continue;
    fewest = n;
    nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  const auto meant = closest(name, candidates);
  return meant ? "; did you mean '" + *meant + "'?" : "";
}

}  // namespace kalstream

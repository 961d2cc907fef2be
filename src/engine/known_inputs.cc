#include "engine/known_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/archive.h"
#include "engine/clock.h"

namespace kalstream {

bool KnownInputs::any() const {
  return std::find(which_.begin(), which_.end(), true) != which_.end();
}

void KnownInputs::set_which(std::vector<bool> which) {
  if (which.size() != which_.size()) rows_.clear();
  which_ = std::move(which);
}

bool KnownInputs::all() const {
  return std::find(which_.begin(), which_.end(), false) == which_.end();
}

void KnownInputs::add(std::int64_t moment, std::span<const double> x) {
  auto& row = rows_[moment];
  row.resize(which_.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < which_.size() && k < x.size(); ++k)
    if (which_[k] && !std::isnan(x[k])) row[k] = x[k];
  if (rows_.size() > most) rows_.erase(std::prev(rows_.end()));
}

const std::vector<double>* KnownInputs::find(std::int64_t moment, const StreamClock& clock) const {
  const auto later = rows_.lower_bound(moment);
  if (later != rows_.end() && later->first == moment) return &later->second;
  if (!clock.step()) return nullptr;
  const auto is_near = [&](auto row) {
    return std::abs(clock.step()->between(row->first, moment)) < 0.5;
  };
  if (later != rows_.end() && is_near(later)) return &later->second;
  if (later != rows_.begin() && is_near(std::prev(later))) return &std::prev(later)->second;
  return nullptr;
}

bool KnownInputs::fill(std::int64_t moment, const StreamClock& clock, std::span<double> x) const {
  const std::vector<double>* row = find(moment, clock);
  bool complete = true;
  for (std::size_t k = 0; k < which_.size() && k < x.size(); ++k) {
    if (!which_[k]) continue;
    if (row != nullptr && !std::isnan((*row)[k]))
      x[k] = (*row)[k];
    else
      complete = false;
  }
  return complete;
}

void KnownInputs::exchange(Archive& archive) {
  std::size_t n = archive.length(rows_.size());
  const auto known = [](double v) { return std::isnan(v) || Archive::usable(v); };
  const auto one = [&](std::uint64_t moment, std::vector<double> row) {
    archive.word(moment);
    row.resize(which_.size());
    archive.numbers(row, known);
    if (archive.reading()) rows_[static_cast<std::int64_t>(moment)] = std::move(row);
  };
  if (!archive.reading()) {
    for (const auto& [moment, row] : rows_) one(static_cast<std::uint64_t>(moment), row);
    return;
  }
  archive.require(n <= most && (n == 0 || !which_.empty()));
  rows_.clear();
  for (; n > 0; --n) one(0, {});
}

}  // namespace kalstream

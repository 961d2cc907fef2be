#include "serve/points.h"

#include <algorithm>
#include <limits>
#include <ranges>

namespace kalstream::serve {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void Points::add(std::uint64_t event, std::int64_t at, const Answer& answer, bool with_key,
                 bool grows) {
  constexpr std::size_t least = 4;
  std::size_t here = first_;
  const bool has_room = grows && points_.size() < most_ && budget_->take(1);
  if (has_room) ++taken_;
  if (has_room || points_.size() < std::min(least, most_)) {
    // Room is made at the end, so the ring must begin at its beginning.
    std::rotate(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(first_),
                points_.end());
    std::rotate(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(first_ * targets_),
                numbers_.end());
    first_ = 0;
    here = points_.size();
    points_.emplace_back();
    numbers_.resize(points_.size() * targets_);
  } else {
    first_ = (first_ + 1) % points_.size();
  }
  Point& point = points_[here];
  point.event = event;
  point.sample = answer.sample;
  point.at = at;
  if (with_key) point.key = answer.key;
  point.time = answer.time;
  point.time_is_text = answer.time_is_text;
  for (std::size_t k = 0; k < targets_; ++k) {
    Numbers& n = numbers_[here * targets_ + k];
    n.prediction = k < answer.prediction.size() ? answer.prediction[k] : unknown;
    n.low = k < answer.interval.size() ? answer.interval[k].low : unknown;
    n.high = k < answer.interval.size() ? answer.interval[k].high : unknown;
  }
  write_target(here, answer);
}

void Points::write_target(std::size_t here, const Answer& answer) {
  points_[here].anomaly = answer.anomaly;
  for (std::size_t k = 0; k < targets_; ++k) {
    Numbers& n = numbers_[here * targets_ + k];
    n.target = k < answer.target.size() ? answer.target[k] : unknown;
    n.surprise = k < answer.surprise.size() ? answer.surprise[k] : unknown;
  }
}

// Mostly it is among the last.
bool Points::label(const Answer& answer, bool with_key) {
  for (std::size_t k = size(); k-- > 0;) {
    const Point& point = points_[place(k)];
    if (with_key && point.key != answer.key) continue;
    if (point.sample < answer.sample) return false;
    if (point.sample > answer.sample) continue;
    write_target(place(k), answer);
    return true;
  }
  return false;
}

std::vector<ShownPoint> Points::from(std::size_t k, std::size_t target) const {
  std::vector<ShownPoint> shown;
  shown.reserve(size() - k);
  for (; k < size(); ++k)
    shown.push_back({points_[place(k)], numbers_[place(k) * targets_ + target]});
  return shown;
}

std::size_t Points::after(std::uint64_t event) const {
  const auto all = std::views::iota(std::size_t{0}, size());
  return static_cast<std::size_t>(
      std::ranges::upper_bound(all, event, {},
                               [&](std::size_t k) { return points_[place(k)].event; }) -
      all.begin());
}

}  // namespace kalstream::serve

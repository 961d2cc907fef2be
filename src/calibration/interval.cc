#include "kalstream/interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "calibration/interval_level.h"
#include "calibration/interval_scores.h"
#include "calibration/interval_size.h"
#include "calibration/seen_targets.h"
#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {
namespace {

constexpr std::uint64_t first_bounds = 10;  // errors
constexpr double reach = 10;                // of bounds beyond the targets so far, in their range
constexpr double recent = 1000;             // samples
constexpr double dense = 100;               // samples late for which half of the scores are kept

}  // namespace

// Any numbers: learn takes none on trust.
void Interval::exchange(Archive& archive) {
  archive.number(low, Archive::any);
  archive.number(high, Archive::any);
  origin.exchange(archive);
}

void Interval::Origin::exchange(Archive& archive) {
  for (double* v : {&d_hat, &scale, &log_spread}) archive.number(*v, Archive::any);
  archive.numbers(features, Archive::any);
  archive.number(usual, Archive::any);
  archive.word(learnt);
}

class Intervals::Output {
 public:
  explicit Output(double nominal) : alpha_((1 - nominal) / 2), low_(alpha_), high_(alpha_) {}

  Interval around(double d_hat, double spread) const {
    Interval bounds;
    if (!(std::abs(d_hat) <= largest_magnitude)) return bounds;
    bounds.origin.d_hat = d_hat;
    bounds.origin.learnt = size_.count();
    size_.expect(spread, bounds.origin);
    if (size_.count() >= first_bounds) place(bounds);
    return bounds;
  }

  void learn(const Interval& bounds, double d) {
    const Interval::Origin& from = bounds.origin;
    const double e = d - from.d_hat;
    if (!(std::abs(d) <= largest_magnitude) || !(std::abs(e) <= 2 * largest_magnitude) ||
        !(from.scale >= 0) || !all_usable(from.features))
      return;
    const std::uint64_t late = from.learnt < size_.count() ? size_.count() - from.learnt : 0;
    late_ = std::max(late_ - alpha_, static_cast<double>(late));
    if (bounds.low <= bounds.high) learn_levels(bounds, d);
    if (from.scale > 0 && is_kept(size_.count())) scores_.add(e / from.scale);
    size_.learn(from, e);
    targets_.add(d);
  }

  double excess(double b, std::uint64_t late) const {
    return low_.excess(b, static_cast<double>(late)) + high_.excess(b, static_cast<double>(late));
  }

  std::uint64_t counted() const { return counted_; }
  double coverage() const {
    return counted_ > 0 ? static_cast<double>(within_) / static_cast<double>(counted_)
                        : Interval::unknown;
  }
  double recent_coverage() const { return counted_ > 0 ? recent_coverage_ : Interval::unknown; }

  void reset() {
    size_.reset();
    scores_.reset();
    low_.reset();
    high_.reset();
    targets_.reset();
    counted_ = within_ = 0;
    late_ = 0;
    recent_coverage_ = 0;
  }

  void exchange(Archive& archive) {
    size_.exchange(archive);
    scores_.exchange(archive);
    low_.exchange(archive);
    high_.exchange(archive);
    targets_.exchange(archive);
    archive.number(late_, Archive::not_negative);
    archive.count(counted_, size_.count());
    archive.count(within_, counted_);
    archive.number(recent_coverage_, Archive::fraction);
  }

 private:
  // Errors that come late stay large or small for as long, often. Then scores are taken from a
  // longer time, one in 1 + late/100. Multiples of the golden ratio tell which ones, so that no
  // season is preferred.
  bool is_kept(std::uint64_t n) const {
    const double turns = static_cast<double>(n) * std::numbers::phi;
    return (turns - std::floor(turns)) * (1 + late_ / dense) <= 1;
  }

  // Where so much of the scores is outside. Bounds that cross meet in the middle.
  void place(Interval& bounds) const {
    const Interval::Origin& from = bounds.origin;
    bounds.low = from.d_hat + from.scale * scores_.below(low_(late_));
    bounds.high = from.d_hat + from.scale * scores_.above(high_(late_));
    if (bounds.low > bounds.high) bounds.low = bounds.high = std::midpoint(bounds.low, bounds.high);
    targets_.hold(bounds);
  }

  void learn_levels(const Interval& bounds, double d) {
    low_.learn(d < bounds.low, late_);
    high_.learn(d > bounds.high, late_);
    ++counted_;
    within_ += bounds.holds(d) ? 1 : 0;
    const double pace = std::max(1 / static_cast<double>(counted_), 1 / recent);
    recent_coverage_ += pace * ((bounds.holds(d) ? 1 : 0) - recent_coverage_);
  }

  double alpha_;  // of the targets may be missed on either side
  ErrorSize size_;
  ScoreWindow scores_;
  CoverageLevel low_;
  CoverageLevel high_;
  SeenTargets targets_{reach};
  double late_ = 0;  // errors learnt between bounds and their own, lately at most
  std::uint64_t counted_ = 0;
  std::uint64_t within_ = 0;
  double recent_coverage_ = 0;
};

Intervals::Intervals(std::size_t outputs, double coverage) : nominal_(coverage), bounds_(outputs) {
  if (!(coverage > 0 && coverage < 1))
    throw std::invalid_argument("coverage must lie between 0 and 1");
  of_.assign(outputs, Output(coverage));
}

Intervals::Intervals(const Intervals& other) = default;
Intervals& Intervals::operator=(const Intervals& other) = default;
Intervals::~Intervals() = default;

std::span<const Interval> Intervals::around(std::span<const double> d_hat,
                                            std::span<const double> spread) {
  const auto entry = [](std::span<const double> v, std::size_t k) {
    return k < v.size() ? v[k] : Interval::unknown;
  };
  for (std::size_t k = 0; k < of_.size(); ++k)
    bounds_[k] = of_[k].around(entry(d_hat, k), entry(spread, k));
  return bounds_;
}

void Intervals::learn(std::span<const Interval> bounds, std::span<const double> d) {
  if (bounds.size() != of_.size() || d.size() != of_.size()) return;
  for (std::size_t k = 0; k < of_.size(); ++k) of_[k].learn(bounds[k], d[k]);
}

double Intervals::excess(double b, std::uint64_t late) const {
  return Output(nominal_).excess(b, late);
}

std::uint64_t Intervals::counted(std::size_t k) const { return of_[k].counted(); }
double Intervals::coverage(std::size_t k) const { return of_[k].coverage(); }
double Intervals::recent_coverage(std::size_t k) const { return of_[k].recent_coverage(); }

void Intervals::reset() {
  for (Output& one : of_) one.reset();
}

// The nominal coverage is part of it: levels learnt for another mean nothing.
void Intervals::exchange(Archive& archive) {
  double nominal = nominal_;
  archive.number(nominal);
  archive.require(nominal == nominal_);
  for (Output& one : of_) one.exchange(archive);
}

}  // namespace kalstream

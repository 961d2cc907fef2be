#include "learner/auto/series/smoothing.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/archive.h"

namespace kalstream {
namespace {

constexpr double fading = 0.998;        // of what φ is learnt from
constexpr double largest_share = 0.98;  // φ
constexpr double damping = 0.98;        // of the trend, a step

}  // namespace

void Smoothing::set_periods(const std::array<std::size_t, seasons>& periods) {
  for (std::size_t i = 0; i < seasons; ++i) {
    Season& s = season_[i];
    const std::size_t period = periods[i] <= longest ? periods[i] : 0;
    if (s.period == period) continue;
    s.period = period;
    s.since = steps_;
    std::fill(s.values.begin(), s.values.end(), 0.0);
  }
}

// l + Σ_{j ≤ lead} 0.98^j b + Σ s_i
double Smoothing::structure(std::size_t lead) const {
  const double trends = damping * (1 - std::pow(damping, lead)) / (1 - damping);
  double y = level_ + trends * trend_;
  for (const Season& s : season_)
    if (s.period > 0) y += s.values[(steps_ + lead - 1) % s.period];
  return y;
}

double Smoothing::predict(std::size_t lead) const {
  if (learnt_ == 0) return 0;
  const double share =
      error_square_ > 0 ? std::clamp(error_product_ / error_square_, 0.0, largest_share) : 0;
  return structure(lead) + std::pow(share, lead) * error_;
}

void Smoothing::learn(double y) {
  if (learnt_ == 0) {
    level_ = y;
    learnt_ = 1;
    ++steps_;
    return;
  }
  const double e = y - structure(1);
  error_product_ = fading * error_product_ + e * error_;
  error_square_ = fading * error_square_ + error_ * error_;
  error_ = e;
  level_ += damping * trend_ + std::max(pace_.level, 1 / static_cast<double>(learnt_ + 1)) * e;
  trend_ = damping * trend_ + pace_.trend * e;
  for (Season& s : season_) {
    if (s.period == 0) continue;
    const auto cycles = static_cast<double>((steps_ - s.since) / s.period);
    s.values[steps_ % s.period] += std::max(pace_.season, 1 / (cycles + 2)) * e;
  }
  ++learnt_;
  ++steps_;
}

void Smoothing::advance() {
  if (learnt_ > 0) level_ += damping * trend_;
  trend_ *= damping;
  ++steps_;
}

void Smoothing::reset() {
  set_periods({});
  steps_ = learnt_ = 0;
  level_ = trend_ = error_ = error_product_ = error_square_ = 0;
}

void Smoothing::exchange(Archive& archive) {
  archive.count(steps_);
  archive.count(learnt_, steps_);
  for (double* v : {&level_, &trend_, &error_, &error_product_}) archive.number(*v);
  archive.number(error_square_, Archive::not_negative);
  for (Season& s : season_) {
    archive.count(s.period, longest);
    archive.numbers(std::span(s.values).first(s.period));
    archive.count(s.since, steps_);
  }
}

}  // namespace kalstream

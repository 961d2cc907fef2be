#include "auto/series/smoothing.h"

#include <algorithm>
#include <cmath>
#include <new>
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
    s.since = now_.steps;
    try {
      s.values.assign(period, 0.0);
    } catch (const std::bad_alloc&) {  // goes on without
      s.period = 0;
    }
  }
}

// l + 0.98 b + Σ s_i
double Smoothing::structure(const Moment& m) const {
  double y = m.level + damping * m.trend;
  for (const Season& s : season_)
    if (s.period > 0) y += s.values[m.steps % s.period];
  return y;
}

// φ
double Smoothing::share() const {
  return error_square_ > 0 ? std::clamp(error_product_ / error_square_, 0.0, largest_share) : 0;
}

double Smoothing::predict(const Moment& m) const {
  return learnt_ == 0 ? 0 : structure(m) + share() * m.error;
}

void Smoothing::advance(Moment& m) const {
  m.level += damping * m.trend;
  m.trend *= damping;
  m.error *= share();
  ++m.steps;
}

double Smoothing::forecast_next() {
  const double y = predict(ahead_);
  advance(ahead_);
  return y;
}

void Smoothing::learn(double y) {
  if (learnt_++ == 0) {
    now_.level = y;
    ++now_.steps;
    return;
  }
  const double e = y - structure(now_);
  error_product_ = fading * error_product_ + e * now_.error;
  error_square_ = fading * error_square_ + now_.error * now_.error;
  now_.error = e;
  now_.level += damping * now_.trend + std::max(pace_.level, 1 / static_cast<double>(learnt_)) * e;
  now_.trend = damping * now_.trend + pace_.trend * e;
  for (Season& s : season_) {
    if (s.period == 0) continue;
    const auto cycles = static_cast<double>((now_.steps - s.since) / s.period);
    s.values[now_.steps % s.period] += std::max(pace_.season, 1 / (cycles + 2)) * e;
  }
  ++now_.steps;
}

void Smoothing::reset() {
  now_ = ahead_ = {};
  learnt_ = 0;
  error_product_ = error_square_ = 0;
  for (Season& s : season_) s.period = s.since = 0;
}

void Smoothing::exchange(Archive& archive) {
  archive.count(now_.steps);
  archive.count(learnt_, now_.steps);
  for (double* v : {&now_.level, &now_.trend, &now_.error, &error_product_}) archive.number(*v);
  archive.number(error_square_, Archive::not_negative);
  for (Season& s : season_) {
    archive.count(s.period, longest);
    archive.count(s.since, now_.steps);
    s.values.resize(s.period);
    archive.numbers(s.values);
  }
}

}  // namespace kalstream

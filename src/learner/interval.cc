#include "kalstream/interval.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {
namespace tuning {
double fast = 1.0 / 8, slow = 1.0 / 128, prior = 0.1, forgetting = 0.998, eta = 0.1, start = 0;
std::size_t window = 512;
int spread = 1;
}

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const double& fast = tuning::fast;          // pace of the running errors
const double& slow = tuning::slow;          // … that are usual
constexpr double most_growth = 16;          // times the running error that one error counts as
constexpr double least_scale = 1e-6;        // of the running error's own largest value
constexpr double largest_feature = 5;
constexpr double largest_surprise = 3;      // |e|/σ − 1 that is learnt from
const double& prior = tuning::prior;        // variance of the model's weights
const double& forgetting = tuning::forgetting;
const double& step = tuning::eta;           // η
constexpr std::size_t features = 3;
constexpr std::size_t pretended = 20;       // errors at the start
constexpr double tail = 0.25;               // ξ
constexpr double recent = 1000;             // samples

double logistic(double a) { return 1 / (1 + std::exp(-a)); }

// How large the next error will be, σ = mean |e|:
//   log σ = log usual + wᵀφ,   φ = [1 ; log(recent/usual) ; log(spread/usual spread)]
// w by recursive least squares with forgetting, on |e|/σ − 1: Fisher's scoring for an exponential
// distribution of |e|.
class Scale {
 public:
  Scale() { reset(); }

  void reset() {
    n_ = spreads_ = 0;
    fast_ = slow_ = largest_ = log_spread_ = 0;
    w_.fill(0);
    w_[1] = tuning::start;
    w_[2] = tuning::start;
    become_open();
  }

  std::uint64_t count() const { return n_; }

  void describe(double spread, Interval& out) const {
    if (n_ == 0) return;
    if (spread > 0 && std::isfinite(spread)&&tuning::spread) out.log_spread = std::log(spread);
    out.unrest = slow_ > 0 ? held(std::log(fast_ / slow_)) : 0;
    out.doubt = spreads_ > 0 && !std::isnan(out.log_spread) ? held(out.log_spread - log_spread_) : 0;
    const double exponent = w_[0] + w_[1] * out.unrest + w_[2] * out.doubt;
    out.scale = slow_ * std::exp(std::clamp(exponent, -largest_feature, largest_feature));
  }

  void learn(const Interval& made, double e) {
    const double size = std::abs(e);
    if (made.scale > 0) learn_weights(made, std::min(size / made.scale - 1, largest_surprise));
    ++n_;
    largest_ = std::max(largest_ * (1 - slow / 8), std::min(size, n_ > 1 ? most_growth * slow_: size));
    track(fast_, size, fast);
    track(slow_, size, slow);
    if (!std::isnan(made.log_spread)) {
      ++spreads_;
      log_spread_ += pace(spreads_, slow) * (made.log_spread - log_spread_);
    }
  }

 private:
  static double held(double feature) { return std::clamp(feature, -largest_feature, largest_feature); }
  static double pace(std::uint64_t n, double least) {
    return std::max(1 / static_cast<double>(n), least);
  }
  void become_open() {
    C_.fill(0);
    for (std::size_t i = 0; i < features; ++i) C_[i * features + i] = prior;
  }

  void track(double& running, double size, double least) {
    const double newest = n_ > 1 ? std::min(size, most_growth * running) : size;
    running += pace(n_, least) * (newest - running);
    running = std::max(running, least_scale * largest_);
  }

  void learn_weights(const Interval& made, double surprise) {
    const std::array<double, features> x{1, made.unrest, made.doubt};
    std::array<double, features> g{};
    double S = 1;
    for (std::size_t i = 0; i < features; ++i) {
      for (std::size_t j = 0; j < features; ++j) g[i] += C_[i * features + j] * x[j];
      S += x[i] * g[i];
    }
    double trace = 0;
    for (std::size_t i = 0; i < features; ++i) {
      w_[i] += g[i] / S * surprise;
      for (std::size_t j = 0; j < features; ++j) C_[i * features + j] -= g[i] * g[j] / S;
      trace += C_[i * features + i];
    }
    if (trace < forgetting * features * prior)
      for (double& c : C_) c /= forgetting;
  }

  std::uint64_t n_ = 0;
  std::uint64_t spreads_ = 0;
  double fast_ = 0;
  double slow_ = 0;
  double largest_ = 0;
  double log_spread_ = 0;
  std::array<double, features> w_{};
  std::array<double, features * features> C_{};
};

// The last errors in units of σ.
class Recent {
 public:
  Recent() : ring_(tuning::window), sorted_(tuning::window) { reset(); }

  void reset() {
    n_ = at_ = 0;
    for (std::size_t i = 0; i < pretended; ++i) {
      const double u = (static_cast<double>(i) + 0.5) / pretended;  // of a Laplace distribution
      add(u < 0.5 ? std::log(2 * u) : -std::log(2 * (1 - u)));
    }
  }

  void add(double s) {
    if (n_ == ring_.size()) {
      const auto old = std::lower_bound(sorted_.begin(), sorted_.begin() + n_, ring_[at_]);
      std::copy(old + 1, sorted_.begin() + n_, old);
      --n_;
    }
    ring_[at_] = s;
    at_ = (at_ + 1) % ring_.size();
    const auto place = std::upper_bound(sorted_.begin(), sorted_.begin() + n_, s);
    std::copy_backward(place, sorted_.begin() + n_, sorted_.begin() + n_ + 1);
    *place = s;
    ++n_;
  }

  // The value that a part ℓ ≤ ½ lies above, of a mirrored window below.
  double upper(double l, double sign) const {
    const auto n = static_cast<double>(n_);
    const double rank = l * (n + 1);  // from the outermost, counted from 1
    if (rank < 1) return at(0, sign) + (std::pow(rank, -tail) - 1) / tail;
    const double whole = std::floor(rank);
    const auto i = static_cast<std::size_t>(whole);
    return std::lerp(at(i - 1, sign), at(std::min(i, n_ - 1), sign), rank - whole);
  }

 private:
  double at(std::size_t i, double sign) const {
    return sign > 0 ? sorted_[n_ - 1 - i] : -sorted_[i];
  }
  std::size_t n_ = 0;
  std::size_t at_ = 0;
  std::vector<double> ring_;
  std::vector<double> sorted_;
};

}  // namespace

class Intervals::Output {
 public:
  explicit Output(double nominal) : alpha_((1 - nominal) / 2) { reset(); }

  void reset() {
    scale_.reset();
    recent_.reset();
    a_low_ = a_high_ = std::log(alpha_ / (1 - alpha_));
    counted_ = within_ = 0;
    recent_coverage_ = 0;
  }

  Interval around(double d_hat, double spread) const {
    Interval out{.d_hat = d_hat};
    if (!(std::abs(d_hat) <= largest_magnitude)) return out;
    scale_.describe(spread, out);
    if (scale_.count() < first_bounds) return out;
    out.low = d_hat - out.scale * recent_.upper(logistic(a_low_), -1);
    out.high = d_hat + out.scale * recent_.upper(logistic(a_high_), 1);
    return out;
  }

  void learn(const Interval& made, double d) {
    const double e = d - made.d_hat;
    if (!(std::abs(d) <= largest_magnitude) || !(std::abs(e) <= 2 * largest_magnitude)) return;
    if (made.scale > 0) recent_.add(std::clamp(e / made.scale, -1e6, 1e6));
    scale_.learn(made, e);
    if (!(made.low <= made.high)) return;
    const bool below = d < made.low;
    const bool above = d > made.high;
    a_low_ = std::min(a_low_ + step * (alpha_ - (below ? 1 : 0)), 0.0);
    a_high_ = std::min(a_high_ + step * (alpha_ - (above ? 1 : 0)), 0.0);
    ++counted_;
    const bool within = !below && !above;
    within_ += within ? 1 : 0;
    recent_coverage_ += ((within ? 1 : 0) - recent_coverage_) /
                        std::min(static_cast<double>(counted_), recent);
  }

  std::uint64_t counted() const { return counted_; }
  double coverage() const {
    return counted_ > 0 ? static_cast<double>(within_) / static_cast<double>(counted_) : nan;
  }
  double recent_coverage() const { return counted_ > 0 ? recent_coverage_ : nan; }

 private:
  double alpha_;
  Scale scale_;
  Recent recent_;
  double a_low_ = 0;
  double a_high_ = 0;
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

std::size_t Intervals::outputs() const { return of_.size(); }

std::span<const Interval> Intervals::around(std::span<const double> d_hat,
                                            std::span<const double> spread) {
  for (std::size_t k = 0; k < of_.size(); ++k)
    bounds_[k] = of_[k].around(k < d_hat.size() ? d_hat[k] : nan, k < spread.size() ? spread[k] : nan);
  return bounds_;
}

void Intervals::learn(std::span<const Interval> intervals, std::span<const double> d) {
  if (intervals.size() != of_.size() || d.size() != of_.size()) return;
  for (std::size_t k = 0; k < of_.size(); ++k) of_[k].learn(intervals[k], d[k]);
}

std::uint64_t Intervals::counted(std::size_t k) const { return of_[k].counted(); }
double Intervals::coverage(std::size_t k) const { return of_[k].coverage(); }
double Intervals::recent_coverage(std::size_t k) const { return of_[k].recent_coverage(); }
void Intervals::reset() {
  for (Output& one : of_) one.reset();
}
void Intervals::exchange(Archive&) {}

}  // namespace kalstream

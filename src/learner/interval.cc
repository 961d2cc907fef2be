#include "kalstream/interval.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {
namespace {

// The size of errors.
constexpr double fast = 1.0 / 2;  // paces of running means
constexpr double middling = 1.0 / 16;
constexpr double slow = 1.0 / 256;
constexpr double largest_growth = 16;  // times a running error that one error counts as
constexpr double least_error = 1e-6;   // of the largest usual one
constexpr double memory = 1.0 / 2048;  // pace at which that is forgotten
constexpr double largest_feature = 5;  // logarithms
constexpr double largest_surprise = 3;
constexpr double largest_weight = 100;
constexpr double prior = 0.1;  // variance of a weight
constexpr double forgetting = 0.999;
constexpr std::size_t weights = 1 + std::tuple_size_v<decltype(Interval::Origin::features)>;

// Their distribution.
constexpr std::size_t window = 1024;
constexpr std::size_t pretended = 20;  // errors in it at the start
constexpr double largest_score = 1e6;
constexpr double tail = 0.25;  // ξ

// What corrects it.
constexpr double rate = 0.03;     // η
constexpr double firmness = 8;    // κ
constexpr double least_a = -600;  // exp of which is still a number
constexpr double largest_a = 4;   // by then the bounds have met

constexpr std::uint64_t first_bounds = 10;  // errors
constexpr double recent = 1000;             // samples

double held(double v, double most) { return std::clamp(v, -most, most); }

double pace(std::uint64_t n, double least) { return std::max(1 / static_cast<double>(n), least); }

// How large the next error will be: σ = mean |e|, from three running means of |e| and the learner's
// spread s, of which a bar marks the usual,
//
//   log σ = log ē + wᵀφ,   φ = [1 ; log(ē_fast/ē) ; log(ē_middling/ē) ; log(s/s̄)]
//
// w by recursive least squares with forgetting: w ← w + Cφ(|e|/σ − 1)/S, S = φᵀCφ + 1, which is
// Fisher scoring for |e| with an exponential distribution. From w = 0, σ = ē.
class ErrorSize {
 public:
  ErrorSize() { reset(); }

  void reset() {
    n_ = spreads_ = 0;
    mean_.fill(0);
    largest_ = 0;
    log_spread_ = 0;
    w_.fill(0);
    C_.fill(0);
    for (std::size_t i = 0; i < weights; ++i) C_[i * weights + i] = prior;
  }

  std::uint64_t count() const { return n_; }

  void expect(double spread, Interval::Origin& out) const {
    if (spread > 0 && std::isfinite(spread)) out.log_spread = std::log(spread);
    const double usual = mean_.back();
    if (!(usual > 0)) return;
    out.features = {held(std::log(mean_[0] / usual), largest_feature),
                    held(std::log(mean_[1] / usual), largest_feature), 0};
    if (spreads_ > 0 && !std::isnan(out.log_spread))
      out.features[2] = held(out.log_spread - log_spread_, largest_feature);
    double exponent = w_[0];
    for (std::size_t i = 1; i < weights; ++i) exponent += w_[i] * out.features[i - 1];
    out.scale = usual * std::exp(held(exponent, largest_feature));
  }

  void learn(const Interval::Origin& from, double e) {
    const double size = std::abs(e);
    if (from.scale > 0)
      learn_weights(from.features, std::min(size / from.scale - 1, largest_surprise));
    ++n_;
    track(mean_[0], size, fast);
    track(mean_[1], size, middling);
    track(mean_[2], size, slow);
    largest_ = std::max(largest_ * (1 - memory), mean_.back());
    for (double& m : mean_) m = std::max(m, least_error * largest_);
    if (std::isnan(from.log_spread)) return;
    log_spread_ += pace(++spreads_, slow) * (from.log_spread - log_spread_);
  }

  void exchange(Archive& archive) {
    const auto size = [](double v) { return v >= 0 && v <= 4 * largest_magnitude; };
    archive.count(n_);
    archive.count(spreads_, n_);
    archive.numbers(mean_, size);
    archive.number(largest_, size);
    archive.number(log_spread_, [](double v) { return std::abs(v) <= 1000; });
    archive.numbers(w_, [](double v) { return std::abs(v) <= largest_weight; });
    archive.numbers(C_);
    double trace = 0;
    for (std::size_t i = 0; i < weights; ++i) {
      trace += C(i, i);
      archive.require(C(i, i) > 0);
      for (std::size_t j = 0; j < i; ++j)
        archive.require(C(i, j) == C(j, i) && C(i, j) * C(i, j) <= C(i, i) * C(j, j));
    }
    archive.require(trace <= 1.001 * weights * prior);
  }

 private:
  // One outlier must not set it. Nor may a long time without errors make it so small that it takes
  // as long to grow again.
  void track(double& mean, double size, double least) const {
    const double newest = mean > 0 ? std::min(size, largest_growth * mean) : size;
    mean += pace(n_, least) * (newest - mean);
  }

  void learn_weights(const std::array<double, weights - 1>& features, double surprise) {
    std::array<double, weights> x{1};
    std::copy(features.begin(), features.end(), x.begin() + 1);
    std::array<double, weights> g{};
    double S = 1;
    for (std::size_t i = 0; i < weights; ++i) {
      for (std::size_t j = 0; j < weights; ++j) g[i] += C(i, j) * x[j];
      S += x[i] * g[i];
    }
    double trace = 0;
    for (std::size_t i = 0; i < weights; ++i) {
      w_[i] = held(w_[i] + g[i] / S * surprise, largest_weight);
      for (std::size_t j = 0; j < weights; ++j) C_[i * weights + j] -= g[i] * g[j] / S;
      trace += C(i, i);
    }
    if (trace > forgetting * weights * prior) return;
    for (double& c : C_) c /= forgetting;
  }

  double C(std::size_t i, std::size_t j) const { return C_[i * weights + j]; }

  std::uint64_t n_ = 0;
  std::uint64_t spreads_ = 0;     // of them, with a spread
  std::array<double, 3> mean_{};  // ē, the slowest last
  double largest_ = 0;
  double log_spread_ = 0;
  std::array<double, weights> w_{};
  std::array<double, weights * weights> C_{};
};

// The last scores e/σ, in order of time and of size. At the start, those of a Laplace distribution.
class Scores {
 public:
  Scores() : by_time_(window), by_size_(window) { reset(); }

  void reset() {
    n_ = oldest_ = 0;
    for (std::size_t i = 0; i < pretended; ++i) {
      const double u = (static_cast<double>(i) + 0.5) / pretended;
      add(u < 0.5 ? std::log(2 * u) : -std::log(2 * (1 - u)));
    }
  }

  void add(double score) {
    if (n_ == window) {
      const auto old = std::lower_bound(by_size_.begin(), end(), by_time_[oldest_]);
      std::copy(old + 1, end(), old);
      --n_;
      by_time_[oldest_] = score;
      oldest_ = (oldest_ + 1) % window;
    } else {
      by_time_[n_] = score;
    }
    const auto place = std::upper_bound(by_size_.begin(), end(), score);
    std::copy_backward(place, end(), end() + 1);
    *place = score;
    ++n_;
  }

  /// The score that a part p of all lies above …
  double above(double p) const {
    return outer(p, [this](std::size_t i) { return by_size_[n_ - 1 - i]; });
  }
  /// … or below.
  double below(double p) const {
    return -outer(p, [this](std::size_t i) { return -by_size_[i]; });
  }

  void exchange(Archive& archive) {
    std::size_t n = n_;
    archive.count(n, window);
    if (archive.reading()) n_ = oldest_ = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double score = by_time_[(oldest_ + i) % window];
      archive.number(score, [](double v) { return std::abs(v) <= largest_score; });
      if (archive.reading()) add(score);
    }
    archive.require(n_ >= pretended);
  }

 private:
  std::vector<double>::iterator end() { return by_size_.begin() + static_cast<std::ptrdiff_t>(n_); }

  // The score of rank p(n + 1) from the outermost in, which is at(0). Beyond it a generalised
  // Pareto tail that grows by σ at first: at(0) + (rank^−ξ − 1)/ξ.
  template <class At>
  double outer(double p, At at) const {
    const double rank = p * static_cast<double>(n_ + 1);
    if (rank < 1) return at(0) + (std::pow(rank, -tail) - 1) / tail;
    const auto i = std::min(static_cast<std::size_t>(rank), n_ - 1);
    return std::lerp(at(i - 1), at(i), std::min(rank - static_cast<double>(i), 1.0));
  }

  std::size_t n_ = 0;
  std::size_t oldest_ = 0;
  std::vector<double> by_time_;
  std::vector<double> by_size_;
};

// The part of scores to leave outside of a bound so that targets are missed as often as they
// should, α: logistic(a) with
//
//   a = logit α + sinh(κu)/κ;   u ← u + η(α − [missed])
//
// gentle near α, firm far away.
class Level {
 public:
  explicit Level(double alpha) : alpha_(alpha), logit_(std::log(alpha / (1 - alpha))) {}

  double operator()() const {
    const double a = std::max(logit_ + std::sinh(firmness * u_) / firmness, least_a);
    return 1 / (1 + std::exp(-std::min(a, largest_a)));
  }

  void learn(bool missed) {
    u_ = std::clamp(u_ + rate * (alpha_ - (missed ? 1 : 0)), u_at(least_a), u_at(largest_a));
  }

  /// Σ([missed] − α) is the fall of u/η at most. It cannot fall below the step after the one at
  /// which the tail alone is 2b, and holds every score up to b, since no other was below −b.
  double excess(double b) const {
    const double p = std::pow(1 + 2 * tail * b, -1 / tail) / (window + 1);
    return (u_at(largest_a) - u_at(std::log(p / (1 - p)))) / rate + 1;
  }

  void reset() { u_ = 0; }
  void exchange(Archive& archive) {
    archive.number(u_);
    archive.require(u_ >= u_at(least_a) && u_ <= u_at(largest_a));
  }

 private:
  double u_at(double a) const { return std::asinh(firmness * (a - logit_)) / firmness; }

  double alpha_;
  double logit_;
  double u_ = 0;
};

}  // namespace

// Any numbers: learn takes none on trust.
void Interval::exchange(Archive& archive) {
  for (double* v : {&low, &high, &origin.d_hat, &origin.scale, &origin.log_spread})
    archive.number(*v, Archive::any);
  archive.numbers(origin.features, Archive::any);
}

class Intervals::Output {
 public:
  explicit Output(double nominal) : low_((1 - nominal) / 2), high_((1 - nominal) / 2) {}

  Interval around(double d_hat, double spread) const {
    Interval bounds;
    if (!(std::abs(d_hat) <= largest_magnitude)) return bounds;
    bounds.origin.d_hat = d_hat;
    size_.expect(spread, bounds.origin);
    if (size_.count() < first_bounds) return bounds;
    bounds.low = d_hat + bounds.origin.scale * scores_.below(low_());
    bounds.high = d_hat + bounds.origin.scale * scores_.above(high_());
    if (bounds.low > bounds.high) bounds.low = bounds.high = std::midpoint(bounds.low, bounds.high);
    return bounds;
  }

  void learn(const Interval& bounds, double d) {
    const Interval::Origin& from = bounds.origin;
    const double e = d - from.d_hat;
    if (!(std::abs(d) <= largest_magnitude) || !(std::abs(e) <= 2 * largest_magnitude) ||
        !(from.scale >= 0) || !all_usable(from.features))
      return;
    if (from.scale > 0) scores_.add(held(e / from.scale, largest_score));
    size_.learn(from, e);
    if (!(bounds.low <= bounds.high)) return;
    const bool below = d < bounds.low;
    const bool above = d > bounds.high;
    low_.learn(below);
    high_.learn(above);
    ++counted_;
    const bool is_within = !below && !above;
    within_ += is_within ? 1 : 0;
    recent_coverage_ += pace(counted_, 1 / recent) * ((is_within ? 1 : 0) - recent_coverage_);
  }

  double excess(double b) const { return low_.excess(b) + high_.excess(b); }

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
    counted_ = within_ = 0;
    recent_coverage_ = 0;
  }

  void exchange(Archive& archive) {
    size_.exchange(archive);
    scores_.exchange(archive);
    low_.exchange(archive);
    high_.exchange(archive);
    archive.count(counted_, size_.count());
    archive.count(within_, counted_);
    archive.number(recent_coverage_, Archive::fraction);
  }

 private:
  ErrorSize size_;
  Scores scores_;
  Level low_;
  Level high_;
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

double Intervals::excess(double b) const { return Output(nominal_).excess(b); }

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

#include "kalstream/forecaster.h"

#include <algorithm>
#include <deque>
#include <stdexcept>
#include <vector>

#include "core/archive.h"
#include "core/finite.h"

namespace kalstream {

class Forecaster::State {
 public:
  State(const Learner& learner, std::size_t horizon, double coverage)
      : n_d_(learner.outputs()), horizon_(horizon), values_(horizon * learner.outputs()) {
    if (coverage > 0) of_lead_.assign(horizon, Intervals(n_d_, coverage));
    bounds_.reserve(coverage > 0 ? values_.size() : 0);
  }

  std::size_t n_d_;
  std::size_t horizon_;
  std::size_t leads_ = 0;
  std::uint64_t samples_ = 0;
  std::vector<double> values_;
  std::vector<Interval> bounds_;

  struct Made {
    std::uint64_t after = 0;
    std::vector<Interval> bounds;
  };
  std::vector<Intervals> of_lead_;
  std::deque<Made> made_;

  void learn(std::span<const double> d) {
    ++samples_;
    for (const Made& m : made_) {
      if (m.after >= samples_) break;
      const auto lead = static_cast<std::size_t>(samples_ - m.after);
      if (lead * n_d_ > m.bounds.size() || d.size() != n_d_ || !all_finite(d)) continue;
      of_lead_[lead - 1].learn(std::span(m.bounds).subspan((lead - 1) * n_d_, n_d_), d);
    }
    while (!made_.empty() && made_.front().after + horizon_ <= samples_) made_.pop_front();
  }

  std::size_t forecast(Learner& learner, std::span<const double> inputs, std::size_t passed) {
    const std::size_t n_in = learner.inputs();
    const std::size_t rows = n_in == 0 ? passed + horizon_ : inputs.size() / n_in;
    leads_ = 0;
    bounds_.clear();
    learner.start_forecast();
    for (std::size_t row = 0; row < std::min(rows, passed + horizon_); ++row) {
      const auto d_hat = learner.forecast_next(inputs.subspan(row * n_in, n_in));
      if (!all_finite(d_hat)) break;
      if (row < passed) continue;
      std::ranges::copy(d_hat, values_.begin() + leads_ * n_d_);
      if (!of_lead_.empty()) {
        const auto b = of_lead_[leads_].around(d_hat);
        bounds_.insert(bounds_.end(), b.begin(), b.end());
      }
      ++leads_;
    }
    if (!bounds_.empty()) made_.push_back({samples_ + passed, bounds_});
    return leads_;
  }
};

Forecaster::Forecaster(const Learner& learner, std::size_t horizon, double coverage) {
  if (horizon == 0 || horizon > longest_horizon)
    throw std::invalid_argument("horizon: 1 to 1000");
  state_ = std::make_unique<State>(learner, horizon, coverage);
}
Forecaster::Forecaster(const Forecaster& other) : state_(std::make_unique<State>(*other.state_)) {}
Forecaster& Forecaster::operator=(const Forecaster& other) {
  *state_ = *other.state_;
  return *this;
}
Forecaster::~Forecaster() = default;

std::size_t Forecaster::horizon() const { return state_->horizon_; }
std::size_t Forecaster::outputs() const { return state_->n_d_; }
void Forecaster::learn(const Learner&, std::span<const double> d) { state_->learn(d); }
std::size_t Forecaster::forecast(Learner& learner, std::span<const double> inputs,
                                 std::size_t passed) {
  return state_->forecast(learner, inputs, passed);
}
std::span<const double> Forecaster::values() const {
  return std::span(state_->values_).first(state_->leads_ * state_->n_d_);
}
std::span<const Interval> Forecaster::bounds() const { return state_->bounds_; }
void Forecaster::reset() {}
void Forecaster::exchange(Archive&) {}

}  // namespace kalstream

#include "kalstream/forecaster.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "forecast/lead_blends.h"

namespace kalstream {

class Forecaster::State {
 public:
  State(const Learner& learner, std::size_t most_leads, double coverage)
      : n_in(learner.inputs()),
        n_d(learner.outputs()),
        horizon(most_leads),
        waiting(coverage > 0 ? most_leads + 1 : 0),
        values(most_leads * n_d) {
    if (!learner.opinions().empty()) blends.emplace(learner, horizon);
    if (coverage == 0) return;
    intervals.assign(horizon, Intervals(n_d, coverage));
    bounds.resize(values.size());
    for (Waiting& w : waiting) w.bounds.resize(values.size());
  }

  void learn(const Learner& learner, std::span<const double> d);
  std::size_t forecast(Learner& learner, std::span<const double> inputs, std::size_t passed);
  void reset();
  void exchange(Archive& archive);

  // Bounds that were made after a sample, until all their targets are known.
  struct Waiting {
    std::uint64_t after = 0;
    std::size_t leads = 0;
    std::vector<Interval> bounds;
  };

  Waiting& waiting_after(std::uint64_t sample) { return waiting[sample % waiting.size()]; }

  std::size_t n_in;
  std::size_t n_d;
  std::size_t horizon;
  std::uint64_t samples = 0;
  std::optional<LeadBlends> blends;  // none: the learner's own forecasts
  std::vector<Intervals> intervals;  // of each lead; none without coverage
  std::vector<Waiting> waiting;
  std::size_t leads = 0;  // of the last forecast
  std::vector<double> values;
  std::vector<Interval> bounds;
};

void Forecaster::State::learn(const Learner& learner, std::span<const double> d) {
  ++samples;
  const bool known = d.size() == n_d && all_finite(d);
  for (const Waiting& w : waiting) {
    if (!known || samples <= w.after || samples - w.after > w.leads) continue;
    const auto lead = static_cast<std::size_t>(samples - w.after);
    intervals[lead - 1].learn(std::span(w.bounds).subspan((lead - 1) * n_d, n_d), d);
  }
  if (blends) blends->learn(learner, known ? d : std::span<const double>());
}

std::size_t Forecaster::State::forecast(Learner& learner, std::span<const double> inputs,
                                        std::size_t passed) {
  const std::size_t most = passed + horizon;
  const std::size_t rows = n_in == 0 ? most : std::min(most, inputs.size() / n_in);
  leads = 0;
  learner.start_forecast();
  if (blends) blends->start();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto x = inputs.subspan(row * n_in, n_in);
    const auto said = learner.forecast_next(x);
    if (!all_finite(said)) break;
    const auto d_hat = std::span(values).subspan(leads * n_d, n_d);
    std::ranges::copy(said, d_hat.begin());
    if (blends) blends->improve(learner, row + 1, x, d_hat);
    if (row < passed) continue;
    if (!intervals.empty())
      std::ranges::copy(intervals[leads].around(d_hat),
                        bounds.begin() + static_cast<std::ptrdiff_t>(leads * n_d));
    ++leads;
  }
  if (intervals.empty()) return leads;
  Waiting& w = waiting_after(samples + passed);
  w.after = samples + passed;
  w.leads = leads;
  std::ranges::copy(bounds, w.bounds.begin());
  return leads;
}

void Forecaster::State::reset() {
  samples = 0;
  leads = 0;
  if (blends) blends->reset();
  for (Intervals& i : intervals) i.reset();
  for (Waiting& w : waiting) w.after = w.leads = 0;
}

// What the last forecast said is not part of it: it is made anew.
void Forecaster::State::exchange(Archive& archive) {
  archive.count(samples);
  for (Intervals& i : intervals) i.exchange(archive);
  for (Waiting& w : waiting) {
    archive.count(w.after);
    archive.count(w.leads, horizon);
    for (Interval& b : std::span(w.bounds).first(w.leads * n_d)) b.exchange(archive);
  }
  if (blends) blends->exchange(archive);
  leads = 0;
}

Forecaster::Forecaster(const Learner& learner, std::size_t horizon, double coverage) {
  if (horizon == 0 || horizon > longest_horizon)
    throw std::invalid_argument("horizon: must be 1 to 1000");
  if (!(coverage >= 0 && coverage < 1))
    throw std::invalid_argument("coverage: must be at least 0 and less than 1");
  state_ = std::make_unique<State>(learner, horizon, coverage);
}

Forecaster::Forecaster(const Forecaster& other) : state_(std::make_unique<State>(*other.state_)) {}

Forecaster& Forecaster::operator=(const Forecaster& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}

Forecaster::Forecaster(Forecaster&&) noexcept = default;
Forecaster& Forecaster::operator=(Forecaster&&) noexcept = default;
Forecaster::~Forecaster() = default;

std::size_t Forecaster::horizon() const { return state_->horizon; }
std::size_t Forecaster::outputs() const { return state_->n_d; }

void Forecaster::learn(const Learner& learner, std::span<const double> d) {
  const FlushDenormals guard;
  state_->learn(learner, d);
}

std::size_t Forecaster::forecast(Learner& learner, std::span<const double> inputs,
                                 std::size_t passed) {
  const FlushDenormals guard;
  return state_->forecast(learner, inputs, passed);
}

std::span<const double> Forecaster::values() const {
  return std::span(state_->values).first(state_->leads * state_->n_d);
}

std::span<const Interval> Forecaster::bounds() const {
  const bool some = !state_->bounds.empty();
  return std::span(state_->bounds).first(some ? state_->leads * state_->n_d : 0);
}

void Forecaster::reset() { state_->reset(); }

void Forecaster::exchange(Archive& archive) { state_->exchange(archive); }

}  // namespace kalstream

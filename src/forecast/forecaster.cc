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

struct Forecaster::State {
  // Bounds that were made after a sample, until all their targets are known.
  struct Waiting {
    std::uint64_t after = 0;
    std::size_t leads = 0;
    std::vector<Interval> bounds;
  };

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

  std::size_t n_in;
  std::size_t n_d;
  std::size_t horizon;
  std::uint64_t samples = 0;
  std::optional<LeadBlends> blends;  // none: the learner's own forecasts
  std::vector<Intervals> intervals;  // of each lead; none without coverage
  std::vector<Waiting> waiting;      // of sample s at s modulo their number
  std::size_t leads = 0;             // of the last forecast
  std::vector<double> values;
  std::vector<Interval> bounds;
};

Forecaster::Forecaster(const Learner& learner, std::size_t horizon, double coverage) {
  if (horizon == 0 || horizon > longest_horizon)
    throw std::invalid_argument("horizon: must be 1 to 1000");
  if (!(coverage >= 0 && coverage < 1))
    throw std::invalid_argument("coverage: must be at least 0 and less than 1");
  state_ = std::make_unique<State>(learner, horizon, coverage);
}

Forecaster::Forecaster(const Forecaster& other) : state_(std::make_unique<State>(*other.state_)) {}
Forecaster::Forecaster(Forecaster&&) noexcept = default;
Forecaster& Forecaster::operator=(Forecaster other) noexcept {
  state_.swap(other.state_);
  return *this;
}
Forecaster::~Forecaster() = default;

std::size_t Forecaster::horizon() const { return state_->horizon; }
std::size_t Forecaster::outputs() const { return state_->n_d; }

void Forecaster::learn(const Learner& learner, std::span<const double> d) {
  const FlushDenormals guard;
  State& s = *state_;
  ++s.samples;
  const bool known = d.size() == s.n_d && all_finite(d);
  for (const State::Waiting& w : s.waiting) {
    if (!known || s.samples <= w.after || s.samples - w.after > w.leads) continue;
    const auto lead = static_cast<std::size_t>(s.samples - w.after);
    s.intervals[lead - 1].learn(std::span(w.bounds).subspan((lead - 1) * s.n_d, s.n_d), d);
  }
  if (s.blends) s.blends->learn(learner, known ? d : std::span<const double>());
}

std::size_t Forecaster::forecast(Learner& learner, std::span<const double> inputs,
                                 std::size_t passed) {
  const FlushDenormals guard;
  State& s = *state_;
  const std::size_t most = passed + s.horizon;
  const std::size_t rows = s.n_in == 0 ? most : std::min(most, inputs.size() / s.n_in);
  s.leads = 0;
  learner.start_forecast();
  if (s.blends) s.blends->start();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto x = inputs.subspan(row * s.n_in, s.n_in);
    const auto said = learner.forecast_next(x);
    if (!all_finite(said) || !all_usable(x)) break;
    const auto d_hat = std::span(s.values).subspan(s.leads * s.n_d, s.n_d);
    std::ranges::copy(said, d_hat.begin());
    if (s.blends) s.blends->improve(learner, row + 1, x, d_hat);
    if (row < passed) continue;
    if (!s.intervals.empty())
      std::ranges::copy(s.intervals[s.leads].around(d_hat), &s.bounds[s.leads * s.n_d]);
    ++s.leads;
  }
  if (s.intervals.empty()) return s.leads;
  State::Waiting& w = s.waiting[(s.samples + passed) % s.waiting.size()];
  w.after = s.samples + passed;
  w.leads = s.leads;
  std::ranges::copy(s.bounds, w.bounds.begin());
  return s.leads;
}

std::span<const double> Forecaster::values() const {
  return std::span(state_->values).first(state_->leads * state_->n_d);
}

std::span<const Interval> Forecaster::bounds() const {
  const bool some = !state_->bounds.empty();
  return std::span(state_->bounds).first(some ? state_->leads * state_->n_d : 0);
}

void Forecaster::reset() {
  State& s = *state_;
  s.samples = s.leads = 0;
  if (s.blends) s.blends->reset();
  for (Intervals& i : s.intervals) i.reset();
  for (State::Waiting& w : s.waiting) w.after = w.leads = 0;
}

// What the last forecast said is not part of it: it is made anew.
void Forecaster::exchange(Archive& archive) {
  State& s = *state_;
  archive.count(s.samples);
  for (Intervals& i : s.intervals) i.exchange(archive);
  for (State::Waiting& w : s.waiting) {
    archive.count(w.after);
    archive.count(w.leads, s.horizon);
    for (Interval& b : std::span(w.bounds).first(w.leads * s.n_d)) b.exchange(archive);
  }
  if (s.blends) s.blends->exchange(archive);
  s.leads = 0;
}

}  // namespace kalstream

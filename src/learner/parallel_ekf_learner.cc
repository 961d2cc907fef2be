#include "learner/parallel_ekf_learner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/archive.h"
#include "core/denormals.h"
#include "core/finite.h"
#include "kernels/kernels.h"

namespace kalstream {

namespace {

std::size_t numbers_of_state(const ParameterLayout& layout) {
  return layout.cell == Cell::lstm ? 2 * layout.n_s : layout.n_s;
}

}  // namespace

ParallelEkfLearner::ParallelEkfLearner(const NetworkOptions& network, const ParallelEkf& rule,
                                       const Loss& loss)
    : network_(network),
      layout_(network),
      rule_(rule),
      loss_(loss, layout_.n_d),
      longevity_(rule.initial_covariance, rule.process_noise, layout_.n_d),
      P_(layout_.size(), numbers_of_state(layout_), layout_.n_d),
      xi_(P_.size()),
      xi_next_(P_.size()),
      xi_new_(P_.size()),
      weights_(layout_),
      before_(layout_.n_s),
      newest_(layout_, 1),
      x_(layout_.n_inputs),
      z_(layout_.n_d),
      prediction_(layout_.n_d),
      no_prediction_(layout_.n_d, std::numeric_limits<double>::quiet_NaN()),
      spread_(layout_.n_d),
      e_(layout_.n_d),
      F_(numbers_of_state(layout_) * P_.size()),
      H_(layout_.n_d * P_.size()),
      e_white_(loss_.is_squared() ? 0 : e_.size()),
      H_white_(loss_.is_squared() ? 0 : H_.size()),
      da_(gates_size(layout_)),
      dy_(in_eights(layout_.n_s)),
      dc_(in_eights(layout_.n_s)),
      ahead_(layout_.n_s),
      ahead_step_(layout_, 1),
      ahead_prediction_(layout_.n_d) {
  reset();
}

void ParallelEkfLearner::reset() {
  draw_initial_weights(network_, layout_, std::span(xi_).first(layout_.size()));
  restart();
}

void ParallelEkfLearner::restart_from(std::span<const double> theta) {
  std::copy(theta.begin(), theta.end(), xi_.begin());
  restart();
}

void ParallelEkfLearner::restart() {
  std::fill(xi_.begin() + static_cast<std::ptrdiff_t>(layout_.size()), xi_.end(), 0.0);
  P_.reset(rule_.initial_covariance);
  samples_ = t_ = 0;
  finish();
}

// ξ is another than before.
void ParallelEkfLearner::finish() {
  stale_ = true;
  forward_done_ = covariance_done_ = false;
}

void ParallelEkfLearner::take_state(CellState& state) const {
  const std::size_t n_s = layout_.n_s;
  std::copy_n(&xi_[place_of_y()], n_s, state.y.data());
  if (has_c()) std::copy_n(&xi_[place_of_y() - n_s], n_s, state.c.data());
}

void ParallelEkfLearner::refresh() {
  if (!stale_) return;
  weights_.set(layout_, xi_.data());
  take_state(before_);
  stale_ = false;
}

// Brings prediction_ and xi_next_ up to date for x. False if x cannot be used.
bool ParallelEkfLearner::forward(std::span<const double> x) {
  if (x.size() != network_.inputs || !all_usable(x)) return false;
  if (forward_done_ && std::equal(x.begin(), x.end(), x_.begin())) return true;
  std::copy(x.begin(), x.end(), x_.begin());
  refresh();
  const CellStep step = newest_[0];
  cell_forward(layout_, weights_, x_.data(), before_.c.data(), before_.y.data(), step);
  output_forward(layout_, network_.output_activation, xi_.data(), step, z_);
  std::copy(z_.begin(), z_.end(), prediction_.begin());
  loss_.link(prediction_);
  std::copy_n(xi_.begin(), layout_.size(), xi_next_.begin());
  std::copy_n(step.y, layout_.n_s, &xi_next_[place_of_y()]);
  if (has_c()) std::copy_n(step.c, layout_.n_s, &xi_next_[place_of_y() - layout_.n_s]);
  forward_done_ = true;
  covariance_done_ = false;
  return true;
}

std::span<const double> ParallelEkfLearner::predict(std::span<const double> x) {
  const FlushDenormals guard;
  return forward(x) ? prediction_ : no_prediction_;
}

void ParallelEkfLearner::predict_covariance() {
  if (covariance_done_) return;
  differentiate_step();
  differentiate_output();
  P_.predict(F_, rule_.state_noise);
  covariance_done_ = true;
}

// One row of F for every number of the state: the way back through the one step.
void ParallelEkfLearner::differentiate_step() {
  const std::size_t N = P_.size();
  const std::size_t n_s = layout_.n_s;
  std::fill(F_.begin(), F_.end(), 0.0);
  for (std::size_t k = 0; k < N - layout_.size(); ++k) {
    const bool is_c = has_c() && k < n_s;
    std::fill(dy_.begin(), dy_.end(), 0.0);
    std::fill(dc_.begin(), dc_.end(), 0.0);
    (is_c ? dc_ : dy_)[k % n_s] = 1;
    cell_backward(layout_, weights_, newest_[0], before_.c.data(), before_.y.data(), da_.data(),
                  dy_.data(), dc_.data());
    double* row = &F_[k * N];
    cell_gradient(layout_, newest_, 1, da_.data(), row);
    if (has_c()) std::copy_n(dc_.data(), n_s, row + place_of_y() - n_s);
    if (layout_.cell != Cell::feedforward) std::copy_n(dy_.data(), n_s, row + place_of_y());
  }
}

void ParallelEkfLearner::differentiate_output() {
  const std::size_t N = P_.size();
  std::fill(H_.begin(), H_.end(), 0.0);
  for (std::size_t k = 0; k < layout_.n_d; ++k) {
    const double slope = output_slope(network_.output_activation, z_[k]);
    const std::size_t output_row = layout_.output_row(k);
    output_jacobian(layout_, newest_[0], slope, &H_[k * N + output_row]);
    kernels::active().axpy(layout_.n_s, slope, &xi_[output_row], &H_[k * N + place_of_y()]);
  }
}

std::span<const double> ParallelEkfLearner::spread() {
  const FlushDenormals guard;
  if (!forward_done_) return {};
  predict_covariance();
  if (!loss_.is_squared()) loss_.whiten(prediction_, H_, H_white_);
  P_.measure(loss_.is_squared() ? H_ : H_white_);
  const double most = largest_magnitude * largest_magnitude;
  for (std::size_t k = 0; k < spread_.size(); ++k) {
    const double v = P_.variance(k);
    spread_[k] = rule_.measurement_noise.at(t_) + (v < most ? std::max(v, 0.0) : most);
  }
  if (!loss_.is_squared()) loss_.to_variance_of_target(spread_);
  for (double& s : spread_) s = std::sqrt(s);
  return spread_;
}

StepReport ParallelEkfLearner::learn(std::span<const double> x, std::span<const double> d) {
  const FlushDenormals guard;
  if (d.size() != e_.size() || !all_finite(d) || !loss_.accepts(d) || !forward(x))
    return report(StepStatus::rejected_input);
  for (std::size_t k = 0; k < e_.size(); ++k) e_[k] = d[k] - prediction_[k];
  predict_covariance();
  const StepStatus status = correct();
  ++samples_;
  ++t_;
  look_after(status);
  finish();
  return report(status);
}

// The state moves on whatever happens; weights and state are corrected, or neither.
StepStatus ParallelEkfLearner::correct() {
  const bool is_squared = loss_.is_squared();
  if (!is_squared) loss_.whiten(prediction_, e_, H_, e_white_, H_white_);
  P_.measure(is_squared ? H_ : H_white_);
  const StepStatus status =
      P_.correct(is_squared ? e_ : e_white_, rule_.measurement_noise.at(t_), xi_next_, xi_new_);
  const bool applied = status == StepStatus::applied;
  P_.accept_prediction();
  if (applied) P_.accept_correction(rule_.process_noise.at(t_));
  P_.settle();
  std::swap(xi_, applied ? xi_new_ : xi_next_);
  return status;
}

// What the other filters need for a long life (longevity.h), it needs as well.
void ParallelEkfLearner::look_after(StepStatus status) {
  if (status == StepStatus::rejected_covariance) P_.mend();
  if (!Longevity::is_due(t_)) return;
  P_.halve_from(longevity_.limit(t_));
  const double v = longevity_.noise_of_return(t_, layout_.size());
  if (status == StepStatus::applied && v > 0)
    P_.return_to_prior(Longevity::weight_to_return(t_, layout_.size()), v, xi_);
}

StepReport ParallelEkfLearner::advance(std::span<const double> x) {
  const FlushDenormals guard;
  if (!forward(x)) return report(StepStatus::rejected_input);
  predict_covariance();
  P_.accept_prediction();
  P_.settle();
  std::swap(xi_, xi_next_);
  ++samples_;
  finish();
  return report(StepStatus::missing);
}

StepReport ParallelEkfLearner::report(StepStatus status) const {
  return {.status = status,
          .experts = 1,
          .applied = status == StepStatus::applied ? 1U : 0U,
          .rejected = is_rejected(status) ? 1U : 0U,
          .covariance_trace = P_.trace(),
          .weights = {}};
}

void ParallelEkfLearner::start_forecast() {
  const FlushDenormals guard;
  refresh();
  take_state(ahead_);
}

std::span<const double> ParallelEkfLearner::forecast_next(std::span<const double> x) {
  const FlushDenormals guard;
  if (x.size() != network_.inputs || !all_usable(x)) return no_prediction_;
  step_on(layout_, network_.output_activation, xi_.data(), weights_, x, ahead_, ahead_step_[0],
          ahead_prediction_);
  loss_.link(ahead_prediction_);
  return ahead_prediction_;
}

// A prediction not yet learnt from is left out: learn makes it again, to the same bits.
void ParallelEkfLearner::exchange(Archive& archive) {
  archive.count(samples_);
  archive.count(t_, samples_);
  archive.numbers(xi_, Archive::usable);
  P_.exchange(archive);
  if (archive.reading()) finish();
}

}  // namespace kalstream

// Exponentially weighted experts (Algorithm 2).
#pragma once

#include <vector>

#include "core/cloned.h"
#include "core/workers.h"
#include "kalstream/learner.h"
#include "loss/loss_function.h"

namespace kalstream {

struct MixtureOptions {
  std::vector<double> prior_weights;  ///< one per expert, positive
  double mixing_rate = 0.125;         ///< η
  Feedback feedback = Feedback::own;
  std::size_t threads = 1;
  Loss loss = {};  ///< ℓ, which the experts are weighed by
};

/// d̂ = Σ w_j d̂_j / Σ w_j;  w_j ← w_j·exp(−η ℓ(d, d̂_j)). For the squared loss with η ≤ 1/(8 n_d),
/// uniform priors and everything in [−1,1], Σ_t‖e‖² ≤ min_j Σ_t‖e_j‖² + ln N / η at every t
/// (Appendix B); for cross-entropy and η = 1 so it is without any bounds (docs/losses.md).
///
/// With Feedback::mixture all experts, which must be NetworkLearners, update with the mixture's
/// error; each one's gate still judges its own.
class Mixture final : public Learner {
 public:
  Mixture(std::vector<std::unique_ptr<Learner>> experts, MixtureOptions options);

  std::size_t inputs() const override { return experts_.front()->inputs(); }
  std::size_t outputs() const override { return experts_.front()->outputs(); }
  std::uint64_t samples() const override { return experts_.front()->samples(); }
  LearnerState state() const override;
  std::span<const double> predict(std::span<const double> x) override;
  /// What the experts disagree in, √(Σ w_j(d̂_j − d̂)²): it tells more than their covariances, and
  /// does not make those that would have stayed gated work. Empty while they all say the same.
  std::span<const double> spread() override;
  StepReport learn(std::span<const double> x, std::span<const double> d) override;
  StepReport advance(std::span<const double> x) override;
  void start_forecast() override;
  std::span<const double> forecast_next(std::span<const double> x) override;
  std::unique_ptr<Learner> clone() const override { return std::make_unique<Mixture>(*this); }
  void reset() override;
  void exchange(Archive& archive) override;

  std::size_t size() const { return experts_.size(); }
  Learner& expert(std::size_t j) { return *experts_[j]; }
  const Learner& expert(std::size_t j) const { return *experts_[j]; }

 private:
  bool gather_predictions(std::span<const double> x);
  template <class Step>
  StepReport each(const Step& step);
  void reweight(std::span<const double> d);
  void set_log_weights_to_prior();
  void normalise();

  std::vector<Cloned<Learner>> experts_;
  LossFunction loss_;
  MixtureOptions options_;
  std::vector<double> log_w_;
  std::vector<double> w_;             // normalised
  std::vector<double> expert_d_hat_;  // N × n_d
  std::vector<double> d_hat_;
  std::vector<double> spread_;
  std::vector<double> ahead_;  // the last forecast
  std::vector<StepReport> reports_;
  Workers workers_;
};

}  // namespace kalstream

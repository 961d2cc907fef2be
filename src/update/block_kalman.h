// EKF, DEKF, IEKF and Algorithm 1: one block-Kalman filter with four settings.
#pragma once

#include <limits>
#include <vector>

#include "update/covariance.h"
#include "update/longevity.h"
#include "update/update_rule.h"

namespace kalstream {

/// θ is cut into blocks i with covariances P_i, P_i = p₁I at first. With S = H_iP_iH_iᵀ + rI per
/// block, or one S = Σ_i H_iP_iH_iᵀ + rI for all:
///
///     θ_i ← θ_i + G_i e                    (10, 14)
///     P_i ← (I − G_iH_i)P_i + qI           (11, 15)
///     G_i = P_iH_iᵀS⁻¹                     (13, 17)
///     r = noise_floor(t) + noise_factor·Tr(HPHᵀ)/n_d
///
/// and nothing happens (but see process_noise_when_gated) unless ‖e‖² > gate_threshold. What a long
/// life needs beyond that: longevity.h.
struct BlockKalmanOptions {
  Partition partition = Partition::full;
  bool shared_innovation = false;
  bool output_apart = false;  // of a shared innovation: blocks of W^d use their own S all the same
  double initial_covariance = 100;
  Schedule process_noise;
  Schedule noise_floor;
  double noise_factor = 0;
  double gate_threshold = -std::numeric_limits<double>::infinity();
  bool process_noise_when_gated = false;
  std::size_t threads = 1;  // that share the pass over a block of more than 4,000 weights
  Precision precision = Precision::twofold;  // of P
};

class BlockKalman final : public UpdateRule {
 public:
  BlockKalman(const BlockKalmanOptions& options, const ParameterLayout& layout);

  bool wants_jacobian(std::span<const double> e) const override;
  bool has_variance() const override { return true; }
  /// Σ_i H_iP_iH_iᵀ + noise_floor on the diagonal.
  void variance(std::span<const double> H, std::span<double> v) override;
  StepStatus update(std::span<const double> e, std::span<const double> H,
                    AlignedVector& theta) override;
  void skip() override;
  double covariance_trace() const override { return P_.trace(); }
  void reset() override;
  std::unique_ptr<UpdateRule> clone() const override {
    return std::make_unique<BlockKalman>(*this);
  }
  void exchange(Archive& archive) override;

  /// Block i's covariance, a packed lower triangle, row after row, and the θ indices it speaks of.
  std::vector<double> covariance(std::size_t i) const { return P_.block(i); }
  const Block& block(std::size_t i) const { return P_.groups().blocks()[i]; }
  std::size_t block_count() const { return P_.groups().blocks().size(); }

 private:
  StepStatus correct(std::span<const double> e, AlignedVector& theta);
  void share_innovation();
  int factor(const BlockGroup& g, std::span<const double> e, double floor);

  BlockKalmanOptions options_;
  std::size_t n_d_;
  std::uint64_t t_ = 0;
  Covariance P_;
  std::vector<bool> shares_S_;  // for each block
  std::vector<double> u_;       // L⁻¹e (n_d × 8)
  AlignedVector theta_new_;     // proposed
  Longevity longevity_;
};

/// The rule that options describe.
std::unique_ptr<UpdateRule> make_rule(const Ekf& options, const ParameterLayout& layout);
std::unique_ptr<UpdateRule> make_rule(const Dekf& options, const ParameterLayout& layout);
std::unique_ptr<UpdateRule> make_rule(const Iekf& options, const ParameterLayout& layout);
std::unique_ptr<UpdateRule> make_rule(const Algorithm1& options, const ParameterLayout& layout);

}  // namespace kalstream

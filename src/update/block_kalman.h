// EKF, DEKF, IEKF and Algorithm 1: one block-Kalman core with four settings.
#pragma once

#include <limits>
#include <vector>

#include "update/update_rule.h"

namespace kalstream {

/// θ is cut into blocks i with covariances P_i. With S = H_iP_iH_iᵀ + rI per block, or one
/// S = Σ_i H_iP_iH_iᵀ + rI for all:
///
///     G_i = P_iH_iᵀS⁻¹;   θ_i ← θ_i + G_i e;   P_i ← (I − G_iH_i)P_i + qI
///     r = noise_floor(t) + noise_factor·Tr(HPHᵀ)/n_d
///
/// and nothing happens (but see process_noise_when_gated) unless ‖e‖² > gate_threshold.
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
};

class BlockKalman final : public UpdateRule {
 public:
  BlockKalman(const BlockKalmanOptions& options, const ParameterLayout& layout);

  bool wants_jacobian(std::span<const double> e) const override;
  StepStatus update(std::span<const double> e, std::span<const double> H,
                    std::span<double> theta) override;
  void skip() override;
  double covariance_trace() const override;
  void reset() override;
  std::unique_ptr<UpdateRule> clone() const override {
    return std::make_unique<BlockKalman>(*this);
  }

  /// Block i's covariance, a packed lower triangle (kernels.h), and the θ indices it speaks of.
  std::span<const double> covariance(std::size_t i) const;
  const Block& block(std::size_t i) const { return blocks_[i].weights; }
  std::size_t block_count() const { return blocks_.size(); }

 private:
  struct BlockState {
    Block weights;
    std::size_t n;         // weights in the block
    std::size_t h_offset;  // of its n_d × n part of H_, W_
    std::size_t P_offset;  // of its packed triangle in P_
    bool shares_S;
    std::vector<double> S;  // H_iP_iH_iᵀ, then its Cholesky factor (n_d × n_d)
  };

  void gather_H(std::span<const double> H);
  void innovation(BlockState& b);
  StepStatus factor(std::vector<double>& S, double floor) const;
  StepStatus gain(const BlockState& b, const std::vector<double>& L, std::span<const double> e,
                  double q, std::span<const double> theta);
  void commit(const BlockState& b, double q, std::span<double> theta);
  void add_process_noise(const BlockState& b, double q);

  BlockKalmanOptions options_;
  std::size_t n_d_;
  std::uint64_t t_ = 0;
  std::vector<BlockState> blocks_;
  std::vector<double> P_;          // all packed triangles, block after block
  std::vector<double> H_;          // H in block order: for each block n_d rows
  std::vector<double> W_;          // PHᵀ, then PHᵀL⁻ᵀ, laid out like H_
  std::vector<double> S_;          // the shared innovation
  std::vector<double> u_;          // L⁻¹e
  std::vector<double> theta_new_;  // candidate, in block order
};

}  // namespace kalstream

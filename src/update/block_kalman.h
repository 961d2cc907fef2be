// EKF, DEKF, IEKF and Algorithm 1: one block-Kalman core with four settings.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "core/aligned.h"
#include "core/workers.h"
#include "kernels/kernels.h"
#include "update/update_rule.h"

namespace kalstream {

/// θ is cut into blocks i with covariances P_i. With S = H_iP_iH_iᵀ + rI per block, or one
/// S = Σ_i H_iP_iH_iᵀ + rI for all:
///
///     G_i = P_iH_iᵀS⁻¹;   θ_i ← θ_i + G_i e;   P_i ← (I − G_iH_i)P_i + qI
///     r = noise_floor(t) + noise_factor·Tr(HPHᵀ)/n_d
///
/// and nothing happens (but see process_noise_when_gated) unless ‖e‖² > gate_threshold. For a long
/// life: P_i is halved when one of its variances has grown to max(2p₁, 10,000q); from update
/// 131,072 on the prior returns: every 64th update one weight of each block in turn is measured to
/// be 0, with the noise at which variances that no sample reduces settle at min(p₁/2, 10); and P
/// gains 1e-10 of its diagonal after an update that it did not allow, so that the next may be
/// allowed; if correlations are beyond 1, it loses them all.
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
};

/// Blocks are stored in groups (kernels.h): up to eight blocks of one size interleaved, or one
/// block in tiles, whichever takes less memory. The downdate P_i ← P_i − W_iW_iᵀ off the diagonal
/// waits for the next update, whose product P_iH_iᵀ reads all of P_i anyway: one pass does both.
/// The diagonal never waits.
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
  double covariance_trace() const override { return trace_; }
  void reset() override;
  std::unique_ptr<UpdateRule> clone() const override {
    return std::make_unique<BlockKalman>(*this);
  }
  void exchange(Archive& archive) override;

  /// Block i's covariance, a packed lower triangle, row after row, and the θ indices it speaks of.
  std::vector<double> covariance(std::size_t i) const;
  const Block& block(std::size_t i) const { return blocks_[i].weights; }
  std::size_t block_count() const { return blocks_.size(); }

 private:
  struct BlockState {
    Block weights;
    bool shares_S;
  };

  // Blocks stored together. Vectors of a group have rows of eight numbers: the same entry of every
  // block, or eight entries of the one block. Padding is 0, also in D.
  struct Group {
    std::size_t first_block;
    std::size_t blocks;
    std::size_t n;  // weights in each block
    bool interleaved;
    std::size_t rows;
    std::size_t offset;  // of its part of D_ (and n_d times that of V_, W_)
    std::size_t S_offset;
    std::size_t P_offset;
    std::size_t P_size;
    std::size_t first_segment;
    std::size_t segments;
  };
  // A run of weights in each block of a group, and where they are in θ.
  struct GroupSegment {
    std::size_t length;
    std::array<std::size_t, kernels::width> offsets;
  };

  static std::size_t place(const Group& g, std::size_t lane, std::size_t r);
  static std::size_t place(const Group& g, std::size_t lane, std::size_t r, std::size_t c);
  void add_group(std::size_t first_block, std::size_t blocks, bool interleaved);
  void pass_over(std::span<const double> H);
  StepStatus apply(std::span<const double> e, AlignedVector& theta);
  void accept(AlignedVector& theta);
  void gather(const Group& g, std::span<const double> H);
  void pass(const Group& g, double* P, double* V);
  void downdate(const Group& g, double* P) const;
  void shared_pass(const Group& g, double* P, double* V);
  void innovation(const Group& g);
  void share_innovation();
  int gain(const Group& g, std::span<const double> e, double floor, double q, double& trace);
  bool move(const Group& g, const double* theta);
  std::span<const GroupSegment> segments(const Group& g) const {
    return std::span(segments_).subspan(g.first_segment, g.segments);
  }
  void add_process_noise(double q);
  void limit_growth();
  void halve(const Group& g, std::size_t lane);
  void return_to_prior(AlignedVector& theta);
  void mend();
  bool is_broken(const Group& g, std::size_t lane) const;

  BlockKalmanOptions options_;
  std::size_t n_d_;
  std::uint64_t t_ = 0;
  std::vector<BlockState> blocks_;
  std::vector<Group> groups_;
  std::vector<GroupSegment> segments_;
  AlignedVector P_;              // all groups, the diagonals left out
  AlignedVector D_;              // the diagonals
  AlignedVector D_new_;          // candidate
  AlignedVector H_;              // n_d vectors of the group at work
  AlignedVector V_;              // for each group n_d vectors: PHᵀ, then the candidate of W
  AlignedVector W_;              // PHᵀL⁻ᵀ of the last update …
  bool downdate_waits_ = false;  // … not yet taken from P_
  bool backward_ = false;        // the direction of the next pass: what was last is in the cache
  double trace_ = 0;             // Σ D
  std::vector<double> S_;        // for each group H_iP_iH_iᵀ, then its factor: n_d × n_d × 8
  std::vector<double> u_;        // L⁻¹e (n_d × 8)
  AlignedVector theta_new_;      // candidate
  std::vector<double> nothing_;  // rows of lanes without a block: read as 0, written in vain
  std::vector<double> waste_;
  // For a block so large that threads may share it, what each part of its columns adds to V.
  AlignedVector parts_of_V_;
  Workers workers_;
};

}  // namespace kalstream

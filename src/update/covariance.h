// P: how it is stored, multiplied, downdated.
#pragma once

#include <span>
#include <vector>

#include "core/aligned.h"
#include "core/workers.h"
#include "update/block_groups.h"

namespace kalstream {

class Archive;

enum class Precision : bool { twofold, single };

/// The covariances P_i of blocks of weights.
///
/// A pass over P is what a step costs, so there is one: the downdate P_i ← P_i − W_iW_iᵀ off the
/// diagonal waits for the next sample's product P_iH_iᵀ, which reads all of P_i anyway. The
/// diagonal never waits. That a downdate no longer waits is no change: P is the same.
///
/// In single precision (`Precision::single`) P takes half the memory and half the time, where every
/// block is stored in tiles; the diagonal stays in double precision. What is rounded off P then is
/// 2⁻²⁴ of an entry at each step: nothing beside a process noise that is a larger part of the
/// variances, and not to be used without one.
///
/// A change that may prove impossible is proposed, group by group, and takes its place only when
/// all of it is known to be sound: accept().
class Covariance {
 public:
  /// n_d: rows of H. Threads share the pass over a block of more than 4,000 weights.
  Covariance(std::vector<Block> blocks, std::size_t n_d, std::size_t threads,
             Precision precision = Precision::twofold);

  /// P_i = p₁I.
  void reset(double p1);
  /// Block after block, a lower triangle row after row, however they are stored.
  void exchange(Archive& archive);

  const BlockGroups& groups() const { return groups_; }
  double trace() const { return trace_; }
  /// P_i, a packed lower triangle, row after row.
  std::vector<double> block(std::size_t i) const;

  /// P_iH_iᵀ and S_i = H_iP_iH_iᵀ for every block. Leaves P as it is.
  void multiply(std::span<const double> H);
  /// The S_i of a group, n_d × n_d rows of eight, of which the lower half counts. The caller may
  /// change them.
  std::span<double> S(const BlockGroup& g) {
    return std::span(S_).subspan(g.index * S_size_, S_size_);
  }

  /// P⁺ = P − WWᵀ + qI with W = PHᵀL⁻ᵀ, after multiply(H); L as kernels::factor leaves it. Adds
  /// Tr P⁺ to `trace`. Faults as kernels::gain.
  int propose(const BlockGroup& g, std::span<const double> L, double q, double& trace);
  /// θ⁺ = θ + W u for the W proposed; u: n_d rows of eight. Whether θ⁺ is of usable size.
  bool move(const BlockGroup& g, std::span<const double> u, const AlignedVector& theta,
            AlignedVector& theta_new) {
    return groups_.move(g, u, V_of(g), theta.data(), theta_new.data());
  }
  /// What was proposed for every group takes its place.
  void accept(double trace);

  /// A measurement of single weights, w = P e_k/√(p_kk + v) and P⁺ = P − wwᵀ, in three steps: what
  /// must be ready for it; weight k of every block of a group, with noise v, which gives the roots
  /// and says whether all variances stay positive; and accept.
  void start_measuring();
  bool propose_measurement(const BlockGroup& g, std::size_t k, double v, std::span<double> roots);
  void accept_measurements();

  /// P ← P + qI.
  void add(double q);
  /// P ← P + ε diag P.
  void inflate(double epsilon);
  /// P_i ← P_i/2 for every block with a variance of at least `limit`.
  void halve_from(double limit);
  /// P_i ← diag P_i for every block with a correlation beyond 1; after multiply(), when no downdate
  /// waits.
  void drop_impossible_correlations();

 private:
  bool is_single() const { return !P_single_.empty(); }
  double* P_of(const BlockGroup& g) { return P_.data() + g.P_offset; }
  double entry(const BlockGroup& g, std::size_t place) const {
    return is_single() ? P_single_[g.P_offset + place] : P_[g.P_offset + place];
  }
  /// f(entry) for every entry of a block.
  template <class F>
  void for_each_entry(const BlockGroup& g, std::size_t lane, const F& f);
  double* V_of(const BlockGroup& g) { return &V_[n_d_ * g.offset]; }
  const double* W_of(const BlockGroup& g) const { return &W_[n_d_ * g.offset]; }
  std::size_t waiting() const { return downdate_waits_ ? n_d_ : 0; }  // vectors of W
  double variance(const BlockGroup& g, std::size_t lane, std::size_t r) const {
    return D_[g.offset + g.place(lane, r)];
  }
  template <class Number>
  void exchange_triangle(Archive& archive, const BlockGroup& g, std::size_t lane, Number* P);
  void pass(const BlockGroup& g, std::size_t n_h);
  void pass_in_parts(const BlockGroup& g, std::size_t n_h);
  void pass_in_single(const BlockGroup& g, std::size_t n_h);
  void downdate(const BlockGroup& g) { pass(g, 0); }
  void form_S(const BlockGroup& g);
  void take_over();
  void sum_trace();
  void halve(const BlockGroup& g, std::size_t lane);
  bool has_impossible_correlation(const BlockGroup& g, std::size_t lane) const;

  std::size_t n_d_;
  std::size_t S_size_;  // of a group
  BlockGroups groups_;
  AlignedVector P_;        // all groups, the diagonals left out …
  SingleVector P_single_;  // … or here
  SingleVector W_single_;  // of the pass in single precision: W, H and V of a group
  SingleVector H_single_;
  SingleVector V_single_;
  AlignedVector D_;              // the diagonals
  AlignedVector D_new_;          // proposed
  AlignedVector H_;              // n_d vectors of the group at work
  AlignedVector V_;              // for each group n_d vectors: PHᵀ, then the W proposed
  AlignedVector W_;              // PHᵀL⁻ᵀ of the last update …
  bool downdate_waits_ = false;  // … not yet taken from P_
  bool backward_ = false;        // the direction of the next pass: what was last is in the cache
  double trace_ = 0;             // Σ D
  std::vector<double> S_;
  // For a block so large that threads may share it, what each part of its columns adds to V.
  AlignedVector parts_of_V_;
  Workers workers_;
};

}  // namespace kalstream

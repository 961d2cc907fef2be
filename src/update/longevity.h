// What a training rule needs beyond its equations to go on learning for years.
#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned.h"
#include "kalstream/options.h"
#include "kalstream/report.h"

namespace kalstream {

class Covariance;

/// The policy of the Kalman rules, between their updates:
///
/// - P_i is halved when one of its variances has grown to max(2p₁, 10,000q).
/// - From update `first_return` on the prior returns: every 64th update one weight of each block in
///   turn is measured to be 0, with the noise at which variances that no sample reduces settle at
///   min(p₁/2, 10).
/// - P gains 1e-10 of its diagonal after an update that it did not allow, so that the next may be
///   allowed; if correlations are beyond 1, it loses them all.
///
/// And that of the first-order rules whose steps are as large however small the gradient: pull().
class Longevity {
 public:
  /// The update from which on rules are held together for a long life; published runs are shorter.
  static constexpr std::uint64_t first_return = 131'072;

  /// What a diagonal of P gains, as a fraction of itself, after an update that P did not allow:
  /// more than the rounding of years, and nothing to a filter that learns.
  static constexpr double mending = 1e-10;

  /// p₁, q, and the rows of H.
  Longevity(double initial_covariance, Schedule process_noise, std::size_t n_d);

  /// After update t (1, 2, …), which ended so. `spare` has the size of θ and may change places.
  void after_update(StepStatus status, std::uint64_t t, Covariance& P, AlignedVector& theta,
                    AlignedVector& spare);
  /// After a sample that counts as update t and taught nothing.
  void after_skip(std::uint64_t t, Covariance& P) const { limit_growth(t, P); }

  /// Whether there is something to be done after update t: a variance may not have grown beyond
  /// `limit`, and from `first_return` on weight t/64 mod n of n is measured to be 0, with this
  /// noise (0: it is not). For a filter of another kind than Covariance.
  static bool is_due(std::uint64_t t);
  double limit(std::uint64_t t) const;
  double noise_of_return(std::uint64_t t, std::size_t n) const;
  static std::size_t weight_to_return(std::uint64_t t, std::size_t n);

  /// How strongly weights are pulled towards 0 in update t, as part of the gradient: of
  /// ½·pull·‖θ‖². Steps that are as large however small the gradient make weights walk at random
  /// along what hardly matters, until the network breaks out. There the pull is most of the
  /// gradient; where samples speak, it is next to nothing.
  static double pull(std::uint64_t t) { return t >= first_return ? 3e-5 : 0; }

 private:
  static void mend(Covariance& P);
  void limit_growth(std::uint64_t t, Covariance& P) const;
  void return_to_prior(std::uint64_t t, Covariance& P, AlignedVector& theta, AlignedVector& spare);

  double initial_covariance_;
  Schedule process_noise_;
  std::vector<double> u_;  // L⁻¹e of the weights measured (n_d × 8)
};

}  // namespace kalstream

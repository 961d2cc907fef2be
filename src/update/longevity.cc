#include "update/longevity.h"

#include <algorithm>
#include <array>
#include <utility>

#include "update/covariance.h"

namespace kalstream {

using kernels::width;

namespace {

// Updates between two looks for variances that have grown, and between two returns to the prior: a
// look costs a pass over the variances, a return one over P.
constexpr std::uint64_t look_interval = 64;

// Process noise may lift a variance to so many p₁, or q, whichever is more. Published runs cannot
// get there: they gain at most Σq = p₁/2 (addition, 100,000 samples).
constexpr double most_of_initial = 2;
constexpr double most_of_noise = 1e4;

// The largest variance at which weights that nothing excites come to rest.
constexpr double most_at_rest = 10;

}  // namespace

Longevity::Longevity(double initial_covariance, Schedule process_noise, std::size_t n_d)
    : initial_covariance_(initial_covariance), process_noise_(process_noise), u_(n_d * width) {}

void Longevity::after_update(StepStatus status, std::uint64_t t, Covariance& P,
                             AlignedVector& theta, AlignedVector& spare) {
  if (status == StepStatus::rejected_covariance) mend(P);
  limit_growth(t, P);
  if (status == StepStatus::applied) return_to_prior(t, P, theta, spare);
}

// P_i ← P_i + ε diag P_i. Rounding can make hᵀPh negative where it is next to nothing beside the
// variances of P, above all without process noise; every later update along h would be refused,
// too, and the rule had stopped learning for ever. A correlation beyond 1 is more than rounding of
// P as it is: there nothing is left to trust but the variances.
void Longevity::mend(Covariance& P) {
  P.drop_impossible_correlations();
  P.inflate(mending);
}

// Along directions that no sample excites P gains q with every update, for ever. When a variance
// has reached max(2p₁, 10,000q), its block is halved. Unlike leaving q out this takes nothing from
// directions that are excited: there q makes up for it within few updates. It is exact, and so rare
// (5,000 updates apart or more) that it costs nothing.
void Longevity::limit_growth(std::uint64_t t, Covariance& P) const {
  if (is_due(t)) P.halve_from(limit(t));
}

bool Longevity::is_due(std::uint64_t t) { return t % look_interval == 0; }

double Longevity::limit(std::uint64_t t) const {
  return std::max(most_of_initial * initial_covariance_, most_of_noise * process_noise_.at(t));
}

// qI makes a filter forget, in the end also what was known before the first sample: that weights
// are small. Along what no sample excites they would then wander for ever, until a network is
// saturated or unstable. So one weight k of every block in turn is measured to be 0, with noise v:
//
//     θ_i ← θ_i − P_i e_k θ_k/(p_kk + v);   P_i ← P_i − P_i e_k e_kᵀP_i/(p_kk + v)
//
// A weight without excitation gains c = 64 n q until its turn comes again, and settles at p for
// pv/(p + v) + c = p, v = p²/c − p (if that is less than p, near c). p = min(p₁/2, 10): p₁ is made
// for fast learning at the start, and with weights of its size networks still broke out. What is
// known well, P_i leaves as it is.
void Longevity::return_to_prior(std::uint64_t t, Covariance& P, AlignedVector& theta,
                                AlignedVector& spare) {
  if (!is_due(t) || noise_of_return(t, 1) == 0) return;
  bool sound = true;
  P.start_measuring();
  for (const BlockGroup& g : P.groups()) {
    const double v = noise_of_return(t, g.n);
    const std::size_t k = weight_to_return(t, g.n);
    std::array<double, width> roots;  // √(p_kk + v)
    sound = P.propose_measurement(g, k, v, roots) && sound;
    std::fill(u_.begin(), u_.end(), 0.0);
    for (std::size_t lane = 0; lane < g.blocks; ++lane)
      u_[lane] = -theta[P.groups().place_in_theta(g.first_block + lane, k)] / roots[lane];
    sound = P.move(g, u_, theta, spare) && sound;
  }
  if (!sound) return;
  std::swap(theta, spare);
  P.accept_measurements();
}

double Longevity::noise_of_return(std::uint64_t t, std::size_t n) const {
  const double q = process_noise_.at(t);
  if (t < first_return || q == 0) return 0;
  const double p = std::min(initial_covariance_ / 2, most_at_rest);
  const double c = static_cast<double>(look_interval * n) * q;
  return std::max(p * p / c - p, p);
}

std::size_t Longevity::weight_to_return(std::uint64_t t, std::size_t n) {
  return t / look_interval % n;
}

}  // namespace kalstream

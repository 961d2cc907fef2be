#include "update/block_kalman.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/archive.h"
#include "core/finite.h"
#include "kernels/kernels.h"

namespace kalstream {

using kernels::active;
using kernels::width;

namespace {

// Mean variance of a prediction, in targets of size one, below which a block cannot explain it.
constexpr double least_information = 1e-12;

// Process noise may lift a variance to so many p₁, or q, whichever is more. Published runs cannot
// get there: they gain at most Σq = p₁/2 (addition, 100,000 samples).
constexpr double most_of_initial = 2;
constexpr double most_of_noise = 1e4;
// Updates between two looks for such variances, and between two returns to the prior: a look costs
// a pass over D, a return one over P.
constexpr std::uint64_t look_interval = 64;
// The largest variance at which weights that nothing excites come to rest.
constexpr double most_at_rest = 10;

// What a diagonal gains, in relation to itself, from an update its covariance did not allow: more
// than the rounding of years, and nothing to a filter that learns.
constexpr double mending = 1e-10;

// A block of more weights is passed over in a fixed number of parts, whoever does the work: sums
// are taken in the same order for any number of threads.
constexpr std::size_t largest_undivided = 4000;
constexpr std::size_t parts = 16;

std::size_t rows_of_eight(std::size_t n) { return (n + width - 1) / width; }
std::size_t interleaved_size(std::size_t n) { return width * (n * (n - 1) / 2); }
std::size_t tiled_size(std::size_t n) {
  return width * width * (rows_of_eight(n) * (rows_of_eight(n) + 1) / 2);
}

// The first column of tiles of a part: all parts have about as many of the N(N+1)/2 tiles.
std::size_t first_column(std::size_t part, std::size_t N) {
  const double left = 1 - static_cast<double>(part) / parts;
  return N - static_cast<std::size_t>(std::sqrt(left) * static_cast<double>(N));
}

// Where in θ weight k of a block is.
std::size_t place_in_theta(const Block& weights, std::size_t k) {
  auto s = weights.begin();
  for (; k >= s->length; ++s) k -= s->length;
  return s->offset + k;
}

StepStatus status_of(int faults) {
  return faults & kernels::not_finite ? StepStatus::rejected_non_finite
                                      : StepStatus::rejected_covariance;
}

}  // namespace

BlockKalman::BlockKalman(const BlockKalmanOptions& options, const ParameterLayout& layout)
    : options_(options),
      n_d_(layout.n_d),
      u_(n_d_ * width),
      theta_new_(layout.size()),
      workers_(options.partition == Partition::full && layout.size() > largest_undivided
                   ? std::min(options.threads, parts)
                   : 1) {
  for (Block& weights : layout.blocks(options.partition)) {
    const bool is_output = weights.front().offset >= layout.gate_weights();
    const bool shares_S = options.shared_innovation && !(is_output && options.output_apart);
    blocks_.push_back({std::move(weights), shares_S});
  }
  for (std::size_t i = 0; i < blocks_.size();) {
    const std::size_t n = block_size(blocks_[i].weights);
    std::size_t alike = 1;
    while (alike < width && i + alike < blocks_.size() &&
           block_size(blocks_[i + alike].weights) == n)
      ++alike;
    const bool interleaved = interleaved_size(n) < alike * tiled_size(n);
    add_group(i, interleaved ? alike : 1, interleaved);
    i += groups_.back().blocks;
  }
  const Group& last = groups_.back();
  P_.resize(last.P_offset + last.P_size);
  for (AlignedVector* v : {&D_, &D_new_}) v->resize(last.offset + width * last.rows);
  for (AlignedVector* v : {&V_, &W_}) v->resize(n_d_ * D_.size());
  for (const Group& g : groups_) H_.resize(std::max(H_.size(), n_d_ * width * g.rows));
  S_.resize(groups_.size() * n_d_ * n_d_ * width);
  std::size_t longest = 0;
  for (const GroupSegment& s : segments_) longest = std::max(longest, s.length);
  for (const Group& g : groups_)
    if (!g.interleaved && g.n > largest_undivided)
      parts_of_V_.resize(std::max(parts_of_V_.size(), parts * n_d_ * width * g.rows));
  nothing_.resize(longest);
  waste_.resize(longest);
  reset();
}

void BlockKalman::add_group(std::size_t first_block, std::size_t blocks, bool interleaved) {
  Group g{.first_block = first_block,
          .blocks = blocks,
          .n = block_size(blocks_[first_block].weights),
          .interleaved = interleaved,
          .S_offset = groups_.size() * n_d_ * n_d_ * width};
  g.rows = interleaved ? g.n : rows_of_eight(g.n);
  g.P_size = interleaved ? interleaved_size(g.n) : tiled_size(g.n);
  const Block& first = blocks_[first_block].weights;
  g.first_segment = segments_.size();
  g.segments = first.size();
  for (std::size_t k = 0; k < first.size(); ++k) {
    GroupSegment segment{.length = first[k].length};
    for (std::size_t l = 0; l < blocks; ++l)
      segment.offsets[l] = blocks_[first_block + l].weights[k].offset;
    segments_.push_back(segment);
  }
  if (!groups_.empty()) {
    const Group& last = groups_.back();
    g.offset = last.offset + width * last.rows;
    g.P_offset = last.P_offset + last.P_size;
  }
  groups_.push_back(g);
}

void BlockKalman::reset() {
  t_ = 0;
  downdate_waits_ = false;
  backward_ = false;
  std::fill(P_.begin(), P_.end(), 0.0);
  std::fill(D_.begin(), D_.end(), 0.0);
  for (const Group& g : groups_)
    for (std::size_t k = 0; k < g.n; ++k)
      for (std::size_t l = 0; l < g.blocks; ++l)
        D_[g.offset + place(g, l, k)] = options_.initial_covariance;
  trace_ = active().sum(D_.size(), D_.data());
}

// Where a group keeps entry r of its block `lane` in a vector …
std::size_t BlockKalman::place(const Group& g, std::size_t lane, std::size_t r) {
  return g.interleaved ? width * r + lane : r;
}

// … and entry (r, c) in P: below the diagonal, or in a tile on it, which has both halves.
std::size_t BlockKalman::place(const Group& g, std::size_t lane, std::size_t r, std::size_t c) {
  if (g.interleaved) return width * (r * (r - 1) / 2 + c) + lane;
  const std::size_t R = r / width;
  const std::size_t C = c / width;
  return width * width * (C * g.rows - C * (C + 1) / 2 + R) + width * (c % width) + r % width;
}

// Block after block, a lower triangle row after row, however they are stored. P as it is: if the
// downdate waits, it waits in the snapshot, too.
void BlockKalman::exchange(Archive& archive) {
  archive.count(t_);
  archive.number(trace_, Archive::positive);
  archive.flag(backward_);
  archive.flag(downdate_waits_);
  for (const Group& g : groups_)
    for (std::size_t lane = 0; lane < g.blocks; ++lane) {
      double* P = P_.data() + g.P_offset;
      archive.size(g.n);
      for (std::size_t r = 0; r < g.n; ++r) {
        for (std::size_t c = 0; c < r; ++c) {
          double& p = P[place(g, lane, r, c)];
          archive.number(p);
          if (archive.reading() && !g.interleaved && r / width == c / width)
            P[place(g, lane, c, r)] = p;
        }
        archive.number(D_[g.offset + place(g, lane, r)], Archive::positive);
      }
      if (!downdate_waits_) continue;
      for (std::size_t k = 0; k < n_d_; ++k)
        for (std::size_t r = 0; r < g.n; ++r)
          archive.number(W_[n_d_ * g.offset + k * width * g.rows + place(g, lane, r)]);
    }
}

std::vector<double> BlockKalman::covariance(std::size_t i) const {
  const auto group = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& g) { return i < g.first_block + g.blocks; });
  const Group& g = *group;
  AlignedVector P(P_.begin() + g.P_offset, P_.begin() + g.P_offset + g.P_size);
  downdate(g, P.data());
  const std::size_t lane = i - g.first_block;
  std::vector<double> packed;
  for (std::size_t r = 0; r < g.n; ++r) {
    for (std::size_t c = 0; c < r; ++c) packed.push_back(P[place(g, lane, r, c)]);
    packed.push_back(D_[g.offset + place(g, lane, r)]);
  }
  return packed;
}

bool BlockKalman::wants_jacobian(std::span<const double> e) const {
  return active().dot(e.size(), e.data(), e.data()) > options_.gate_threshold;
}

void BlockKalman::skip() {
  const double q = options_.process_noise.at(t_++);
  if (options_.process_noise_when_gated) add_process_noise(q);
  limit_growth();
}

// P_i ← P_i + qI.
void BlockKalman::add_process_noise(double q) {
  for (double& d : D_) d = d > 0 ? d + q : 0;
  trace_ = active().sum(D_.size(), D_.data());
}

// Along directions that no sample excites P gains q with every update, for ever. When a variance
// has reached max(2p₁, 10,000q), its block is halved. Unlike leaving q out this takes nothing from
// directions that are excited: there q makes up for it within few updates. It is exact, and so rare
// (5,000 updates apart or more) that it costs nothing.
void BlockKalman::limit_growth() {
  if (t_ % look_interval != 0) return;
  const double limit = std::max(most_of_initial * options_.initial_covariance,
                                most_of_noise * options_.process_noise.at(t_));
  const auto is_over = [&](double d) { return d >= limit; };
  bool any = false;
  for (const double d : D_) any |= is_over(d);
  if (!any) return;
  for (const Group& g : groups_)
    for (std::size_t lane = 0; lane < g.blocks; ++lane) {
      bool halved = false;
      for (std::size_t r = 0; r < g.n && !halved; ++r)
        halved = is_over(D_[g.offset + place(g, lane, r)]);
      if (halved) halve(g, lane);
    }
  trace_ = active().sum(D_.size(), D_.data());
}

// P_i ← P_i/2.
void BlockKalman::halve(const Group& g, std::size_t lane) {
  double* P = P_.data() + g.P_offset;
  downdate(g, P);
  std::fill_n(&W_[n_d_ * g.offset], n_d_ * width * g.rows, 0.0);
  const std::size_t first = g.interleaved ? lane : 0;
  const std::size_t step = g.interleaved ? width : 1;
  for (std::size_t k = first; k < g.P_size; k += step) P[k] /= 2;
  for (std::size_t k = first; k < width * g.rows; k += step) D_[g.offset + k] /= 2;
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
void BlockKalman::return_to_prior(AlignedVector& theta) {
  if (t_ < first_return || t_ % look_interval != 0) return;
  const double q = options_.process_noise.at(t_);
  if (q == 0) return;
  const double p = std::min(options_.initial_covariance / 2, most_at_rest);
  bool sound = true;
  std::copy(D_.begin(), D_.end(), D_new_.begin());
  std::fill(V_.begin(), V_.end(), 0.0);
  for (const Group& g : groups_) {
    const double c = static_cast<double>(look_interval * g.n) * q;
    const double v = std::max(p * p / c - p, p);
    const std::size_t k = t_ / look_interval % g.n;
    double* P = P_.data() + g.P_offset;
    downdate(g, P);
    double* W = &V_[n_d_ * g.offset];
    std::fill(u_.begin(), u_.end(), 0.0);
    for (std::size_t lane = 0; lane < g.blocks; ++lane) {
      const double p_kk = D_[g.offset + place(g, lane, k)];
      const double root = std::sqrt(p_kk + v);
      u_[lane] = -theta[place_in_theta(blocks_[g.first_block + lane].weights, k)] / root;
      for (std::size_t r = 0; r < g.n; ++r) {
        const double p_rk = r == k  ? p_kk
                            : r > k ? P[place(g, lane, r, k)]
                                    : P[place(g, lane, k, r)];
        const std::size_t at = place(g, lane, r);
        W[at] = p_rk / root;
        D_new_[g.offset + at] -= W[at] * W[at];
        sound = sound && D_new_[g.offset + at] > 0;
      }
    }
    sound = move(g, theta.data()) && sound;
  }
  downdate_waits_ = false;
  if (!sound) return;
  accept(theta);
  trace_ = active().sum(D_.size(), D_.data());
}

// P_i ← P_i + ε diag P_i. Rounding can make hᵀPh negative where it is next to nothing beside the
// variances of P, above all without process noise; every later update along h would be refused,
// too, and the rule had stopped learning for ever. A correlation beyond 1 is more than rounding of
// P as it is: there nothing is left to trust but the variances.
void BlockKalman::mend() {
  for (const Group& g : groups_)
    for (std::size_t lane = 0; lane < g.blocks; ++lane)
      if (is_broken(g, lane)) {
        double* P = P_.data() + g.P_offset;
        const std::size_t step = g.interleaved ? width : 1;
        for (std::size_t k = g.interleaved ? lane : 0; k < g.P_size; k += step) P[k] = 0;
      }
  for (double& d : D_) d += mending * d;
  trace_ = active().sum(D_.size(), D_.data());
}

// Whether a correlation is beyond 1.
bool BlockKalman::is_broken(const Group& g, std::size_t lane) const {
  const double* P = P_.data() + g.P_offset;
  const auto deviation = [&](std::size_t r) { return std::sqrt(D_[g.offset + place(g, lane, r)]); };
  for (std::size_t r = 0; r < g.n; ++r)
    for (std::size_t c = 0; c < r; ++c)
      if (std::abs(P[place(g, lane, r, c)]) > deviation(r) * deviation(c)) return true;
  return false;
}

// P changes at the end only: what variance() has made of it holds until then.
StepStatus BlockKalman::update(std::span<const double> e, std::span<const double> H,
                               AlignedVector& theta) {
  if (!H.empty()) pass_over(H);
  const StepStatus status = apply(e, theta);
  ++t_;
  limit_growth();
  if (status == StepStatus::applied) return_to_prior(theta);
  return status;
}

// Everything is computed and judged before anything is changed: an update happens whole or not at
// all. That the last downdate no longer waits is no change: P is the same.
StepStatus BlockKalman::apply(std::span<const double> e, AlignedVector& theta) {
  const double q = options_.process_noise.at(t_);
  const double floor = options_.noise_floor.at(t_);
  if (options_.shared_innovation) share_innovation();
  double trace = 0;
  for (const Group& g : groups_) {
    if (const int faults = gain(g, e, floor, q, trace); faults != 0) {
      const StepStatus status = status_of(faults);
      if (status == StepStatus::rejected_covariance) mend();
      return status;
    }
    if (!move(g, theta.data())) return StepStatus::rejected_non_finite;
  }

  accept(theta);
  backward_ = !backward_;
  trace_ = trace;
  return StepStatus::applied;
}

// The candidates take their places.
void BlockKalman::accept(AlignedVector& theta) {
  std::swap(theta, theta_new_);
  std::swap(D_, D_new_);
  std::swap(W_, V_);
  downdate_waits_ = true;
}

// The part of an update that does not need e: PHᵀ and HPHᵀ for every block.
void BlockKalman::pass_over(std::span<const double> H) {
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const Group& g = groups_[backward_ ? groups_.size() - 1 - k : k];
    gather(g, H);
    pass(g, P_.data() + g.P_offset, &V_[n_d_ * g.offset]);
    innovation(g);
  }
  downdate_waits_ = false;
}

// Without a floor the least information stands for it: no prediction is certain.
void BlockKalman::variance(std::span<const double> H, std::span<double> v) {
  pass_over(H);
  const double floor = std::max(options_.noise_floor.at(t_), least_information);
  for (std::size_t k = 0; k < n_d_; ++k) {
    double total = 0;
    for (const Group& g : groups_)
      for (std::size_t l = 0; l < g.blocks; ++l)
        total += S_[g.S_offset + (k * n_d_ + k) * width + l];
    const double most = largest_magnitude * largest_magnitude;
    v[k] = floor + (total < most ? std::max(total, 0.0) : most);
  }
}

// The group's part of H, in the order of its vectors.
void BlockKalman::gather(const Group& g, std::span<const double> H) {
  const std::size_t n_theta = theta_new_.size();
  for (std::size_t k = 0; k < n_d_; ++k) {
    const double* row = H.data() + k * n_theta;
    double* out = &H_[k * width * g.rows];
    for (const GroupSegment& s : segments(g)) {
      if (!g.interleaved) {
        out = std::copy_n(row + s.offsets[0], s.length, out);
        continue;
      }
      std::array<const double*, width> rows;
      rows.fill(nothing_.data());
      for (std::size_t l = 0; l < g.blocks; ++l) rows[l] = row + s.offsets[l];
      active().interleave(s.length, rows.data(), width, out);
      out += width * s.length;
    }
    if (!g.interleaved) std::fill_n(out, width * g.rows - g.n, 0.0);
  }
}

// P ← P − WWᵀ off the diagonal if that still waits, and V = PHᵀ.
void BlockKalman::pass(const Group& g, double* P, double* V) {
  const double* H = H_.data();
  const double* D = &D_[g.offset];
  const double* W = &W_[n_d_ * g.offset];
  const std::size_t n_w = downdate_waits_ ? n_d_ : 0;
  if (g.interleaved) {
    active().interleaved_pass(g.n, P, D, n_w, W, n_d_, H, V);
  } else if (g.n <= largest_undivided) {
    std::fill_n(V, n_d_ * width * g.rows, 0.0);
    active().tiled_pass(g.rows, 0, g.rows, backward_, P, D, n_w, W, n_d_, H, V);
  } else {
    shared_pass(g, P, V);
  }
}

// The same in parts; part p has columns of its own, and meets only rows from the first of them on.
void BlockKalman::shared_pass(const Group& g, double* P, double* V) {
  const double* H = H_.data();
  const double* D = &D_[g.offset];
  const double* W = &W_[n_d_ * g.offset];
  const std::size_t n_w = downdate_waits_ ? n_d_ : 0;
  const std::size_t n = width * g.rows;
  workers_.run(parts, [&](std::size_t k) {
    const std::size_t part = backward_ ? parts - 1 - k : k;
    const std::size_t first = first_column(part, g.rows);
    double* V_part = &parts_of_V_[part * n_d_ * n];
    for (std::size_t d = 0; d < n_d_; ++d)
      std::fill(V_part + d * n + width * first, V_part + (d + 1) * n, 0.0);
    active().tiled_pass(g.rows, first, first_column(part + 1, g.rows), backward_, P, D, n_w, W,
                        n_d_, H, V_part);
  });
  std::fill_n(V, n_d_ * n, 0.0);
  for (std::size_t part = 0; part < parts; ++part)
    for (std::size_t d = 0; d < n_d_; ++d) {
      const std::size_t first = d * n + width * first_column(part, g.rows);
      active().axpy((d + 1) * n - first, 1, &parts_of_V_[part * n_d_ * n + first], V + first);
    }
}

// The downdate that waits, on a copy of P.
void BlockKalman::downdate(const Group& g, double* P) const {
  const double* D = &D_[g.offset];
  const double* W = &W_[n_d_ * g.offset];
  const std::size_t n_w = downdate_waits_ ? n_d_ : 0;
  if (g.interleaved)
    active().interleaved_pass(g.n, P, D, n_w, W, 0, nullptr, nullptr);
  else
    active().tiled_pass(g.rows, 0, g.rows, false, P, D, n_w, W, 0, nullptr, nullptr);
}

// S_i = H_iP_iH_iᵀ for every block of the group.
void BlockKalman::innovation(const Group& g) {
  const std::size_t size = width * g.rows;
  const double* H = H_.data();
  const double* V = &V_[n_d_ * g.offset];
  for (std::size_t k = 0; k < n_d_; ++k)
    for (std::size_t l = 0; l <= k; ++l) {
      double* S = &S_[g.S_offset + (k * n_d_ + l) * width];
      active().lane_dots(g.rows, H + k * size, V + l * size, S);
      if (!g.interleaved) std::fill_n(S, width, active().sum(width, S));
    }
}

// S = Σ_i S_i takes the place of S_i in every block that shares it.
void BlockKalman::share_innovation() {
  for (std::size_t k = 0; k < n_d_ * n_d_; ++k) {
    double total = 0;
    for (const Group& g : groups_)
      for (std::size_t l = 0; l < g.blocks; ++l) total += S_[g.S_offset + k * width + l];
    for (const Group& g : groups_)
      for (std::size_t l = 0; l < width; ++l) {
        const std::size_t block = g.first_block + (l < g.blocks ? l : 0);
        if (blocks_[block].shares_S) S_[g.S_offset + k * width + l] = total;
      }
  }
}

// With LLᵀ = S + rI and W = PHᵀL⁻ᵀ: G e = W(L⁻¹e) and GHP = WWᵀ, which is exactly symmetric, and Tr
// P can only fall. Without a floor the gain has no scale: PHᵀ/(4HPHᵀ) sends weights to 1e90 as H
// goes to 0, and is 0/0 there. A block with as good as no information is therefore left alone, as
// any r > 0 would do.
int BlockKalman::gain(const Group& g, std::span<const double> e, double floor, double q,
                      double& trace) {
  const double least = floor > 0 ? -1 : least_information * static_cast<double>(n_d_);
  double* S = &S_[g.S_offset];
  if (const int faults =
          active().factor(n_d_, e.data(), floor, options_.noise_factor, least, S, u_.data());
      faults != 0)
    return faults;
  return active().gain(g.rows, n_d_, S, q, &D_[g.offset], &V_[n_d_ * g.offset], &D_new_[g.offset],
                       &trace);
}

// θ⁺ = θ + W u for the group's weights; whether they are of usable size.
bool BlockKalman::move(const Group& g, const double* theta) {
  const std::size_t stride = width * g.rows;
  const double* W = &V_[n_d_ * g.offset];
  bool usable = true;
  for (const GroupSegment& s : segments(g)) {
    if (!g.interleaved) {
      const double* from = theta + s.offsets[0];
      double* to = theta_new_.data() + s.offsets[0];
      for (std::size_t k = 0; k < n_d_; ++k, from = to)
        usable &= active().move_within(s.length, u_[width * k], W + k * stride, from,
                                       largest_magnitude, to);
      W += s.length;
      continue;
    }
    std::array<const double*, width> rows;
    std::array<double*, width> rows_new;
    rows.fill(nothing_.data());
    rows_new.fill(waste_.data());
    for (std::size_t l = 0; l < g.blocks; ++l) {
      rows[l] = theta + s.offsets[l];
      rows_new[l] = theta_new_.data() + s.offsets[l];
    }
    usable &= active().add_interleaved(s.length, n_d_, u_.data(), W, stride, rows.data(),
                                       largest_magnitude, rows_new.data());
    W += width * s.length;
  }
  return usable;
}

std::unique_ptr<UpdateRule> make_rule(const Ekf& o, const ParameterLayout& layout) {
  return std::make_unique<BlockKalman>(
      BlockKalmanOptions{.partition = Partition::full,
                         .initial_covariance = o.initial_covariance,
                         .process_noise = o.process_noise,
                         .noise_floor = o.measurement_noise,
                         .threads = o.threads},
      layout);
}

std::unique_ptr<UpdateRule> make_rule(const Dekf& o, const ParameterLayout& layout) {
  return std::make_unique<BlockKalman>(
      BlockKalmanOptions{.partition = o.partition,
                         .shared_innovation = true,
                         .output_apart = o.output_apart,
                         .initial_covariance = o.initial_covariance,
                         .process_noise = o.process_noise,
                         .noise_floor = o.measurement_noise},
      layout);
}

std::unique_ptr<UpdateRule> make_rule(const Iekf& o, const ParameterLayout& layout) {
  return std::make_unique<BlockKalman>(
      BlockKalmanOptions{.partition = o.partition,
                         .initial_covariance = o.initial_covariance,
                         .process_noise = o.process_noise,
                         .noise_floor = o.measurement_noise},
      layout);
}

std::unique_ptr<UpdateRule> make_rule(const Algorithm1& o, const ParameterLayout& layout) {
  const double bound = o.error_bound;
  return std::make_unique<BlockKalman>(
      BlockKalmanOptions{.partition = o.partition,
                         .initial_covariance = o.initial_covariance,
                         .process_noise = o.process_noise,
                         .noise_floor = o.noise_floor,
                         .noise_factor = o.noise_factor,
                         .gate_threshold = o.gate == Gate::bound ? 4 * bound : 4 * bound * bound,
                         .process_noise_when_gated = o.process_noise_when_gated},
      layout);
}

}  // namespace kalstream

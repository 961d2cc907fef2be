#include "update/covariance.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "core/archive.h"

namespace kalstream {

using kernels::active;
using kernels::width;

namespace {

// A block of more weights is passed over in a fixed number of parts, whoever does the work: sums
// are taken in the same order for any number of threads.
constexpr std::size_t largest_undivided = 4000;
constexpr std::size_t parts = 16;

// The first column of tiles of a part: all parts have about as many of the N(N+1)/2 tiles.
std::size_t first_column(std::size_t part, std::size_t N) {
  const double left = 1 - static_cast<double>(part) / parts;
  return N - static_cast<std::size_t>(std::sqrt(left) * static_cast<double>(N));
}

// f(number) for every number of a group's array that belongs to the block in `lane`.
void for_each_of(const BlockGroup& g, std::size_t lane, auto numbers, auto f) {
  const std::size_t step = g.interleaved ? width : 1;
  for (std::size_t k = g.interleaved ? lane : 0; k < numbers.size(); k += step) f(numbers[k]);
}

// f(c, count, place) for all entries of row r left of the diagonal: so many from column c on are in
// P at `place` and every `width` numbers after it. What most runs have is known to the compiler.
void for_each_run(const BlockGroup& g, std::size_t lane, std::size_t r, auto f) {
  std::size_t c = 0;
  if (!g.interleaved)
    for (; c + width <= r; c += width)
      f(c, std::integral_constant<std::size_t, width>(), g.place(lane, r, c));
  if (c < r) f(c, r - c, g.place(lane, r, c));
}

template <class Number>
void copy_row(const BlockGroup& g, std::size_t lane, std::size_t r, const Number* P, Number* row) {
  for_each_run(g, lane, r, [&](std::size_t c, auto count, std::size_t place) {
    for (std::size_t k = 0; k < count; ++k) row[c + k] = P[place + width * k];
  });
}

// Tiles on the diagonal have both halves.
template <class Number>
void set_row(const BlockGroup& g, std::size_t lane, std::size_t r, const Number* row, Number* P) {
  for_each_run(g, lane, r, [&](std::size_t c, auto count, std::size_t place) {
    for (std::size_t k = 0; k < count; ++k) P[place + width * k] = row[c + k];
  });
  if (g.interleaved) return;
  const std::size_t c = r - r % width;
  std::copy(row + c, row + r, P + g.place(lane, c, r));
}

}  // namespace

Covariance::Covariance(std::vector<Block> blocks, std::size_t n_d, std::size_t threads,
                       Precision precision)
    : n_d_(n_d),
      S_size_(n_d * n_d * width),
      groups_(std::move(blocks)),
      D_(groups_.vector_size()),
      D_new_(D_.size()),
      V_(n_d * D_.size()),
      W_(n_d * D_.size()),
      S_(groups_.size() * S_size_),
      workers_(groups_.largest_in_tiles() > largest_undivided ? std::min(threads, parts) : 1) {
  const bool in_tiles = std::none_of(groups_.begin(), groups_.end(),
                                     [](const BlockGroup& g) { return g.interleaved; });
  if (precision == Precision::single && in_tiles && groups_.largest_in_tiles() <= largest_undivided)
    P_single_.resize(groups_.P_size());
  else
    P_.resize(groups_.P_size());
  for (const BlockGroup& g : groups_) {
    H_.resize(std::max(H_.size(), n_d_ * g.size()));
    if (!g.interleaved && g.n > largest_undivided)
      parts_of_V_.resize(std::max(parts_of_V_.size(), parts * n_d_ * g.size()));
  }
  if (is_single())
    for (SingleVector* v : {&W_single_, &H_single_, &V_single_}) v->resize(H_.size());
}

void Covariance::reset(double p1) {
  downdate_waits_ = false;
  backward_ = false;
  std::fill(P_.begin(), P_.end(), 0.0);
  std::fill(P_single_.begin(), P_single_.end(), 0.0F);
  std::fill(D_.begin(), D_.end(), 0.0);
  for (const BlockGroup& g : groups_)
    for (std::size_t k = 0; k < g.n; ++k)
      for (std::size_t l = 0; l < g.blocks; ++l) D_[g.offset + g.place(l, k)] = p1;
  sum_trace();
}

// Row by row, by way of a buffer: number after number would take several times as long. In single
// precision the diagonal comes by itself.
template <class Number>
void Covariance::exchange_triangle(Archive& archive, const BlockGroup& g, std::size_t lane,
                                   Number* P) {
  constexpr bool has_diagonal = std::is_same_v<Number, double>;
  std::vector<Number> row(g.n);
  for (std::size_t r = 0; r < g.n; ++r) {
    [[maybe_unused]] double& d = D_[g.offset + g.place(lane, r)];
    if (!archive.reading()) copy_row(g, lane, r, P, row.data());
    if constexpr (has_diagonal) row[r] = d;
    archive.run(std::span(row).first(has_diagonal ? r + 1 : r));
    if constexpr (has_diagonal) archive.require(Archive::positive(row[r]));
    if (!archive.reading()) continue;
    set_row(g, lane, r, row.data(), P);
    if constexpr (has_diagonal) d = row[r];
  }
  if constexpr (!has_diagonal) archive.run(std::span(&D_[g.offset], g.n), Archive::positive);
}

// P as it is: if the downdate waits, it waits in the snapshot, too.
void Covariance::exchange(Archive& archive) {
  archive.number(trace_, Archive::positive);
  archive.flag(backward_);
  archive.flag(downdate_waits_);
  if (archive.takes_arrays()) {
    for (AlignedVector* all : {&P_, &D_, &W_})
      archive.array(std::as_writable_bytes(std::span(*all)));
    archive.array(std::as_writable_bytes(std::span(P_single_)));
    return;
  }
  for (const BlockGroup& g : groups_)
    for (std::size_t lane = 0; lane < g.blocks; ++lane) {
      archive.size(g.n);
      if (is_single())
        exchange_triangle(archive, g, lane, &P_single_[g.P_offset]);
      else
        exchange_triangle(archive, g, lane, P_of(g));
      for (std::size_t k = 0; k < waiting(); ++k) {
        double* W = &W_[n_d_ * g.offset + k * g.size()];
        if (!g.interleaved)
          archive.run({W, g.n});
        else
          for (std::size_t r = 0; r < g.n; ++r) archive.number(W[g.place(lane, r)]);
      }
    }
}

std::vector<double> Covariance::block(std::size_t i) const {
  const BlockGroup& g = groups_.of_block(i);
  Covariance now = *this;
  now.downdate(g);
  const std::size_t lane = i - g.first_block;
  std::vector<double> packed;
  for (std::size_t r = 0; r < g.n; ++r) {
    for (std::size_t c = 0; c < r; ++c) packed.push_back(now.entry(g, g.place(lane, r, c)));
    packed.push_back(variance(g, lane, r));
  }
  return packed;
}

// ---- One sample

void Covariance::multiply(std::span<const double> H) {
  const std::size_t n_theta = H.size() / n_d_;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const BlockGroup& g = groups_[backward_ ? groups_.size() - 1 - i : i];
    for (std::size_t k = 0; k < n_d_; ++k)
      groups_.gather(g, H.data() + k * n_theta, &H_[k * g.size()]);
    pass(g, n_d_);
    form_S(g);
  }
  downdate_waits_ = false;
}

// P ← P − WWᵀ off the diagonal if that still waits, and V = PHᵀ for n_h rows of H: all, or none.
void Covariance::pass(const BlockGroup& g, std::size_t n_h) {
  const double* D = &D_[g.offset];
  double* V = V_of(g);
  if (is_single()) {
    pass_in_single(g, n_h);
  } else if (g.interleaved) {
    active().interleaved_pass(g.n, P_of(g), D, waiting(), W_of(g), n_h, H_.data(), V);
  } else if (g.n <= largest_undivided) {
    std::fill_n(V, n_h * g.size(), 0.0);
    active().tiled_pass(g.rows, 0, g.rows, backward_, P_of(g), D, waiting(), W_of(g), n_h,
                        H_.data(), V);
  } else {
    pass_in_parts(g, n_h);
  }
}

// The same, but for the diagonal's part of PHᵀ, which is added in double precision.
void Covariance::pass_in_single(const BlockGroup& g, std::size_t n_h) {
  const std::size_t n = n_h * g.size();
  std::copy_n(W_of(g), waiting() * g.size(), W_single_.begin());
  std::copy_n(H_.begin(), n, H_single_.begin());
  std::fill_n(V_single_.begin(), n, 0.0F);
  active().single_pass(g.rows, backward_, &P_single_[g.P_offset], waiting(), W_single_.data(), n_h,
                       H_single_.data(), V_single_.data());
  double* V = V_of(g);
  for (std::size_t k = 0; k < n; ++k) V[k] = V_single_[k] + D_[g.offset + k % g.size()] * H_[k];
}

// The same; part p has columns of its own, and meets only rows from the first of them on.
void Covariance::pass_in_parts(const BlockGroup& g, std::size_t n_h) {
  const std::size_t n = g.size();
  workers_.run(parts, [&](std::size_t k) {
    const std::size_t part = backward_ ? parts - 1 - k : k;
    const std::size_t first = first_column(part, g.rows);
    double* V_part = &parts_of_V_[part * n_d_ * n];
    for (std::size_t d = 0; d < n_h; ++d)
      std::fill(V_part + d * n + width * first, V_part + (d + 1) * n, 0.0);
    active().tiled_pass(g.rows, first, first_column(part + 1, g.rows), backward_, P_of(g),
                        &D_[g.offset], waiting(), W_of(g), n_h, H_.data(), V_part);
  });
  double* V = V_of(g);
  std::fill_n(V, n_h * n, 0.0);
  for (std::size_t part = 0; part < parts; ++part)
    for (std::size_t d = 0; d < n_h; ++d) {
      const std::size_t first = d * n + width * first_column(part, g.rows);
      active().axpy((d + 1) * n - first, 1, &parts_of_V_[part * n_d_ * n + first], V + first);
    }
}

// S_i = H_iP_iH_iᵀ for every block of the group.
void Covariance::form_S(const BlockGroup& g) {
  const double* V = V_of(g);
  for (std::size_t k = 0; k < n_d_; ++k)
    for (std::size_t l = 0; l <= k; ++l) {
      double* S_kl = &S_[g.index * S_size_ + (k * n_d_ + l) * width];
      active().lane_dots(g.rows, &H_[k * g.size()], V + l * g.size(), S_kl);
      if (!g.interleaved) std::fill_n(S_kl, width, active().sum(width, S_kl));
    }
}

int Covariance::propose(const BlockGroup& g, std::span<const double> L, double q, double& trace) {
  return active().gain(g.rows, n_d_, L.data(), q, &D_[g.offset], V_of(g), &D_new_[g.offset],
                       &trace);
}

void Covariance::accept(double trace) {
  take_over();
  backward_ = !backward_;
  trace_ = trace;
}

void Covariance::take_over() {
  std::swap(D_, D_new_);
  std::swap(W_, V_);
  downdate_waits_ = true;
}

void Covariance::sum_trace() { trace_ = active().sum(D_.size(), D_.data()); }

// ---- Single weights measured

// Columns of P are read, so nothing may wait. Of the n_d vectors w there is only one.
void Covariance::start_measuring() {
  for (const BlockGroup& g : groups_) downdate(g);
  downdate_waits_ = false;
  std::copy(D_.begin(), D_.end(), D_new_.begin());
  std::fill(V_.begin(), V_.end(), 0.0);
}

bool Covariance::propose_measurement(const BlockGroup& g, std::size_t k, double v,
                                     std::span<double> roots) {
  double* w = V_of(g);
  bool sound = true;
  for (std::size_t lane = 0; lane < g.blocks; ++lane) {
    const double p_kk = variance(g, lane, k);
    roots[lane] = std::sqrt(p_kk + v);
    for (std::size_t r = 0; r < g.n; ++r) {
      const double p_rk =
          r == k ? p_kk : entry(g, r > k ? g.place(lane, r, k) : g.place(lane, k, r));
      const std::size_t at = g.place(lane, r);
      w[at] = p_rk / roots[lane];
      D_new_[g.offset + at] -= w[at] * w[at];
      sound = sound && D_new_[g.offset + at] > 0;
    }
  }
  return sound;
}

void Covariance::accept_measurements() {
  take_over();
  sum_trace();
}

// ---- Changes that cannot fail

void Covariance::add(double q) {
  for (double& d : D_) d = d > 0 ? d + q : 0;
  sum_trace();
}

void Covariance::inflate(double epsilon) {
  for (double& d : D_) d += epsilon * d;
  sum_trace();
}

void Covariance::halve_from(double limit) {
  const auto is_over = [&](double d) { return d >= limit; };
  bool any = false;
  for (const double d : D_) any |= is_over(d);
  if (!any) return;
  for (const BlockGroup& g : groups_)
    for (std::size_t lane = 0; lane < g.blocks; ++lane) {
      bool over = false;
      for (std::size_t r = 0; r < g.n && !over; ++r) over = is_over(variance(g, lane, r));
      if (over) halve(g, lane);
    }
  sum_trace();
}

void Covariance::halve(const BlockGroup& g, std::size_t lane) {
  downdate(g);
  std::fill_n(&W_[n_d_ * g.offset], n_d_ * g.size(), 0.0);
  const auto half = [](auto& p) { p /= 2; };
  for_each_entry(g, lane, half);
  for_each_of(g, lane, std::span(&D_[g.offset], g.size()), half);
}

void Covariance::drop_impossible_correlations() {
  for (const BlockGroup& g : groups_)
    for (std::size_t lane = 0; lane < g.blocks; ++lane)
      if (has_impossible_correlation(g, lane)) for_each_entry(g, lane, [](auto& p) { p = 0; });
}

template <class F>
void Covariance::for_each_entry(const BlockGroup& g, std::size_t lane, const F& f) {
  if (is_single())
    for_each_of(g, lane, std::span(P_single_).subspan(g.P_offset, g.P_size), f);
  else
    for_each_of(g, lane, std::span(P_).subspan(g.P_offset, g.P_size), f);
}

bool Covariance::has_impossible_correlation(const BlockGroup& g, std::size_t lane) const {
  const auto deviation = [&](std::size_t r) { return std::sqrt(variance(g, lane, r)); };
  for (std::size_t r = 0; r < g.n; ++r)
    for (std::size_t c = 0; c < r; ++c)
      if (std::abs(entry(g, g.place(lane, r, c))) > deviation(r) * deviation(c)) return true;
  return false;
}

}  // namespace kalstream

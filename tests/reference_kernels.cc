// The plain version of every kernel, in the order of its formula: slow, and the oracle of the
// others. A program that links this file can choose them by the name "reference".
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/moments.h"
#include "kernels/dispatch.h"
#include "kernels/kernels.h"

namespace kalstream::kernels {
namespace {

double dot(std::size_t n, const double* a, const double* b) {
  double s = 0;
  for (std::size_t i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}

double sum(std::size_t n, const double* a) {
  double s = 0;
  for (std::size_t i = 0; i < n; ++i) s += a[i];
  return s;
}

void axpy(std::size_t n, double a, const double* x, double* y) {
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

bool move_within(std::size_t n, double a, const double* x, const double* theta, double largest,
                 double* theta_new) {
  bool within = true;
  for (std::size_t i = 0; i < n; ++i) {
    theta_new[i] = theta[i] + a * x[i];
    within &= std::abs(theta_new[i]) <= largest;
  }
  return within;
}

void tanh(std::size_t n, const double* x, double* y) {
  for (std::size_t k = 0; k < n; ++k) y[k] = std::tanh(x[k]);
}

void logistic(std::size_t n, const double* x, double* y) {
  for (std::size_t k = 0; k < n; ++k) y[k] = 1 / (1 + std::exp(-x[k]));
}

void copy_rows(std::size_t rows, std::size_t n, const double* from, std::size_t from_stride,
               double* to, std::size_t to_stride) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < n; ++j) to[to_stride * r + j] = from[from_stride * r + j];
}

void interleave(std::size_t n, const double* const* rows, std::size_t stride, double* out) {
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t l = 0; l < width; ++l) out[stride * j + l] = rows[l][j];
}

bool add_interleaved(std::size_t n, std::size_t n_w, const double* u, const double* W,
                     std::size_t stride, const double* const* rows, double largest,
                     double* const* rows_new) {
  bool within = true;
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t l = 0; l < width; ++l) {
      double v = rows[l][j];
      for (std::size_t k = 0; k < n_w; ++k) v += u[width * k + l] * W[stride * k + width * j + l];
      rows_new[l][j] = v;
      within &= std::abs(v) <= largest;
    }
  return within;
}

void interleaved_pass(std::size_t n, double* P, const double* D, std::size_t n_w, const double* W,
                      std::size_t n_h, const double* H, double* V) {
  const auto number = [](std::size_t i, std::size_t l) { return width * i + l; };
  for (std::size_t l = 0; l < width; ++l) {
    for (std::size_t k = 0; k < n_h; ++k)
      for (std::size_t i = 0; i < n; ++i)
        V[k * width * n + number(i, l)] = D[number(i, l)] * H[k * width * n + number(i, l)];
    for (std::size_t i = 0, entry = 0; i < n; ++i)
      for (std::size_t j = 0; j < i; ++j, ++entry) {
        double& p = P[number(entry, l)];
        for (std::size_t k = 0; k < n_w; ++k) {
          const double* w = W + k * width * n;
          p -= w[number(i, l)] * w[number(j, l)];
        }
        for (std::size_t k = 0; k < n_h; ++k) {
          const double* h = H + k * width * n;
          double* v = V + k * width * n;
          v[number(i, l)] += p * h[number(j, l)];
          v[number(j, l)] += p * h[number(i, l)];
        }
      }
  }
}

void tiled_pass(std::size_t N, std::size_t first, std::size_t last, bool backward, double* P,
                const double* D, std::size_t n_w, const double* W, std::size_t n_h, const double* H,
                double* V) {
  const std::size_t n = width * N;
  for (std::size_t count = first; count < last; ++count) {
    const std::size_t J = backward ? first + last - 1 - count : count;
    for (std::size_t I = J; I < N; ++I) {
      double* tile = P + width * width * (J * N - J * (J + 1) / 2 + I);
      for (std::size_t j = width * J; j < width * (J + 1); ++j)
        for (std::size_t i = width * I; i < width * (I + 1); ++i, ++tile) {
          double& p = *tile;
          for (std::size_t k = 0; k < n_w; ++k) p -= W[k * n + i] * W[k * n + j];
          if (i == j) p = D[i];
          for (std::size_t k = 0; k < n_h; ++k) {
            V[k * n + i] += p * H[k * n + j];
            if (I != J) V[k * n + j] += p * H[k * n + i];
          }
        }
    }
  }
}

void single_pass(std::size_t N, bool backward, float* P, std::size_t n_w, const float* W,
                 std::size_t n_h, const float* H, float* V) {
  const std::size_t n = width * N;
  for (std::size_t count = 0; count < N; ++count) {
    const std::size_t J = backward ? N - 1 - count : count;
    for (std::size_t I = J; I < N; ++I) {
      float* tile = P + width * width * (J * N - J * (J + 1) / 2 + I);
      for (std::size_t j = width * J; j < width * (J + 1); ++j)
        for (std::size_t i = width * I; i < width * (I + 1); ++i, ++tile) {
          float& p = *tile;
          for (std::size_t k = 0; k < n_w; ++k) p -= W[k * n + i] * W[k * n + j];
          if (i == j) p = 0;
          for (std::size_t k = 0; k < n_h; ++k) {
            V[k * n + i] += p * H[k * n + j];
            if (I != J) V[k * n + j] += p * H[k * n + i];
          }
        }
    }
  }
}

void lane_dots(std::size_t rows, const double* a, const double* b, double* out) {
  std::fill_n(out, width, 0.0);
  for (std::size_t m = 0; m < width * rows; ++m) out[m % width] += a[m] * b[m];
}

int factor(std::size_t n_d, const double* e, double floor, double noise_factor, double least,
           double* S, double* u) {
  int faults = no_fault;
  for (std::size_t lane = 0; lane < width; ++lane) {
    const auto at = [&](std::size_t k, std::size_t l) -> double& {
      return S[(k * n_d + l) * width + lane];
    };
    double trace = 0;
    for (std::size_t k = 0; k < n_d; ++k) {
      if (!std::isfinite(at(k, k))) faults |= not_finite;
      if (at(k, k) < 0) faults |= not_a_covariance;
      trace += at(k, k);
    }
    const double r = floor + noise_factor * trace / static_cast<double>(n_d);
    for (std::size_t k = 0; k < n_d; ++k) {
      double rest_of_e = e[k];
      for (std::size_t l = 0; l <= k; ++l) {
        double rest = at(k, l) + (l == k ? r : 0);
        for (std::size_t i = 0; i < l; ++i) rest -= at(k, i) * at(l, i);
        if (l < k) {
          at(k, l) = rest * at(l, l);
          rest_of_e -= at(k, l) * u[l * width + lane];
        } else {
          at(k, k) = rest > 0 ? 1 / std::sqrt(rest) : 0;
        }
        if (!(trace > least)) at(k, l) = 0;
        if (!std::isfinite(at(k, l))) faults |= not_finite;
      }
      u[k * width + lane] = rest_of_e * at(k, k);
    }
  }
  return faults;
}

int gain(std::size_t rows, std::size_t n_d, const double* L, double q, const double* D, double* W,
         double* D_new, double* trace) {
  const std::size_t n = width * rows;
  int faults = no_fault;
  for (std::size_t m = 0; m < n; ++m) {
    const std::size_t l = m % width;
    double d = D[m];
    for (std::size_t k = 0; k < n_d; ++k) {
      double& w = W[k * n + m];
      for (std::size_t i = 0; i < k; ++i) w -= L[(k * n_d + i) * width + l] * W[i * n + m];
      w *= L[(k * n_d + k) * width + l];
      d -= w * w;
    }
    if (!std::isfinite(d)) faults |= not_finite;
    D_new[m] = D[m] > 0 ? d + q : 0;
    if (D[m] > 0 && !(D_new[m] > 0)) faults |= not_a_covariance;
    *trace += D_new[m];
  }
  return faults;
}

void lstm_forward(std::size_t n_s, std::size_t n, const double* W_transposed, const double* input,
                  const double* c_before, double* gates, double* c, double* tanh_c, double* y) {
  const std::size_t m = (4 * n_s + width - 1) / width * width + width;
  for (std::size_t r = 0; r < 4 * n_s; ++r) {
    double a = 0;
    for (std::size_t j = 0; j < n; ++j) a += W_transposed[j * m + r] * input[j];
    gates[r] = a;
  }
  tanh(n_s, gates, gates);
  logistic(3 * n_s, gates + n_s, gates + n_s);
  const double* z = gates;
  const double* i = z + n_s;
  const double* f = i + n_s;
  const double* o = f + n_s;
  for (std::size_t k = 0; k < n_s; ++k) c[k] = i[k] * z[k] + f[k] * c_before[k];
  tanh(n_s, c, tanh_c);
  for (std::size_t k = 0; k < n_s; ++k) y[k] = o[k] * tanh_c[k];
}

void lstm_backward(std::size_t n_s, const double* W_y, const double* gates, const double* c_before,
                   const double* tanh_c, double* da, double* dy, double* dc) {
  const std::size_t row = (n_s + width - 1) / width * width;
  const double* z = gates;
  const double* i = z + n_s;
  const double* f = i + n_s;
  const double* o = f + n_s;
  for (std::size_t k = 0; k < n_s; ++k) {
    da[3 * n_s + k] = dy[k] * tanh_c[k] * o[k] * (1 - o[k]);
    dc[k] += dy[k] * o[k] * (1 - tanh_c[k] * tanh_c[k]);
    da[k] = dc[k] * i[k] * (1 - z[k] * z[k]);
    da[n_s + k] = dc[k] * z[k] * i[k] * (1 - i[k]);
    da[2 * n_s + k] = dc[k] * c_before[k] * f[k] * (1 - f[k]);
    dc[k] *= f[k];
  }
  std::fill_n(dy, n_s, 0.0);
  for (std::size_t r = 0; r < 4 * n_s; ++r) axpy(n_s, da[r], W_y + r * row, dy);
}

void gru_forward(std::size_t n_s, std::size_t n_x, const double* W_transposed, const double* input,
                 const double* y_before, double* reset_input, double* gates, double* y) {
  const std::size_t m = (3 * n_s + width - 1) / width * width + width;
  const auto preactivation = [&](std::size_t r, const double* seen) {
    double a = 0;
    for (std::size_t j = 0; j < n_x + n_s; ++j) a += W_transposed[j * m + r] * seen[j];
    return a;
  };
  const double* r = gates;
  const double* f = r + n_s;
  double* z = gates + 2 * n_s;
  for (std::size_t k = 0; k < 2 * n_s; ++k) gates[k] = preactivation(k, input);
  logistic(2 * n_s, gates, gates);
  for (std::size_t k = 0; k < n_s; ++k) reset_input[n_x + k] = r[k] * y_before[k];
  for (std::size_t k = 0; k < n_s; ++k) z[k] = preactivation(2 * n_s + k, reset_input);
  tanh(n_s, z, z);
  for (std::size_t k = 0; k < n_s; ++k) y[k] = z[k] + f[k] * (y_before[k] - z[k]);
}

void gru_backward(std::size_t n_s, const double* W_y, const double* gates, const double* y_before,
                  double* da, double* dy, double* through) {
  const std::size_t row = (n_s + width - 1) / width * width;
  const double* r = gates;
  const double* f = r + n_s;
  const double* z = f + n_s;
  std::fill_n(through, n_s, 0.0);
  for (std::size_t k = 0; k < n_s; ++k) {
    da[n_s + k] = dy[k] * (y_before[k] - z[k]) * f[k] * (1 - f[k]);
    da[2 * n_s + k] = dy[k] * (1 - f[k]) * (1 - z[k] * z[k]);
    axpy(n_s, da[2 * n_s + k], W_y + (2 * n_s + k) * row, through);
  }
  for (std::size_t k = 0; k < n_s; ++k) {
    da[k] = through[k] * y_before[k] * r[k] * (1 - r[k]);
    dy[k] = dy[k] * f[k] + through[k] * r[k];
  }
  for (std::size_t k = 0; k < 2 * n_s; ++k) axpy(n_s, da[k], W_y + k * row, dy);
}

void tanh_forward(std::size_t n_s, std::size_t n, const double* W_transposed, const double* input,
                  double* y) {
  const std::size_t m = (n_s + width - 1) / width * width + width;
  for (std::size_t r = 0; r < n_s; ++r) {
    double a = 0;
    for (std::size_t j = 0; j < n; ++j) a += W_transposed[j * m + r] * input[j];
    y[r] = a;
  }
  tanh(n_s, y, y);
}

void tanh_backward(std::size_t n_s, const double* W_y, const double* y, double* da, double* dy) {
  const std::size_t row = (n_s + width - 1) / width * width;
  for (std::size_t k = 0; k < n_s; ++k) da[k] = dy[k] * (1 - y[k] * y[k]);
  if (W_y == nullptr) return;
  std::fill_n(dy, n_s, 0.0);
  for (std::size_t r = 0; r < n_s; ++r) axpy(n_s, da[r], W_y + r * row, dy);
}

void outer_products(std::size_t steps, std::size_t rows, std::size_t columns, const double* A,
                    std::size_t A_stride, const double* B, std::size_t B_stride, double* C) {
  std::fill_n(C, rows * columns, 0.0);
  for (std::size_t t = 0; t < steps; ++t)
    for (std::size_t r = 0; r < rows; ++r)
      axpy(columns, A[t * A_stride + r], B + t * B_stride, C + r * columns);
}

bool adam(std::size_t n, const AdamStep& s, const double* g, const double* theta, const double* m,
          const double* v, double largest, double* theta_new, double* m_new, double* v_new) {
  bool usable = true;
  for (std::size_t k = 0; k < n; ++k) {
    const double g_k = s.gradient_scale * g[k] + s.pull * theta[k];
    m_new[k] = s.first_decay * m[k] + (1 - s.first_decay) * g_k;
    v_new[k] = s.second_decay * v[k] + (1 - s.second_decay) * g_k * g_k;
    theta_new[k] = theta[k] - s.learning_rate * (m_new[k] * s.first_scale) /
                                  (std::sqrt(v_new[k] * s.second_scale) + s.epsilon);
    usable &= std::isfinite(v_new[k]) && std::abs(theta_new[k]) <= largest;
  }
  return usable;
}

bool rmsprop(std::size_t n, const RmsPropStep& s, const double* g, const double* theta,
             const double* v, double largest, double* theta_new, double* v_new) {
  bool usable = true;
  for (std::size_t k = 0; k < n; ++k) {
    const double g_k = s.gradient_scale * g[k] + s.pull * theta[k];
    v_new[k] = s.decay * v[k] + (1 - s.decay) * g_k * g_k;
    theta_new[k] = theta[k] - s.learning_rate * g_k / (std::sqrt(v_new[k]) + s.epsilon);
    usable &= std::isfinite(v_new[k]) && std::abs(theta_new[k]) <= largest;
  }
  return usable;
}

// ---- Linear models.

// Of model l: h into work, d̂ in its units; false if x cannot be used.
bool rls_look(std::size_t n, const RlsModels& m, const RlsRules& rules, const double* x,
              std::size_t l, double* h, double& y) {
  y = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t at = width * j + l;
    if (!(std::abs(x[at]) <= rules.largest)) return false;
    const double count = m.x_count[l] + 1;
    const Welford now =
        Welford{m.mean[at], m.sum_sq[at]}.with(count, x[at], rules.reach, rules.horizon);
    h[at] = rules.scale * now.standardised(count, x[at], rules.reach);
    y += m.theta[at] * h[at];
  }
  h[width * n + l] = 1;
  y += m.theta[width * n + l];
  return true;
}

double in_units_of_target(const RlsModels& m, std::size_t l, double y) {
  const Welford d{m.d_mean[l], m.d_sum_sq[l]};
  return d.mean + d.deviation(m.d_count[l]) * y;
}

void rls_predict(std::size_t n, const RlsModels& m, const RlsRules& rules, const double* x,
                 double* work, double* d_hat) {
  for (std::size_t l = 0; l < width; ++l) {
    double y = 0;
    const bool usable = rls_look(n, m, rules, x, l, work, y);
    d_hat[l] = usable ? in_units_of_target(m, l, y) : std::numeric_limits<double>::quiet_NaN();
  }
}

// θ and the diagonal of P of model l, by the error e; w: Ph, then w.
RlsOutcome rls_update(std::size_t rows, const RlsModels& m, const RlsRules& rules, std::size_t l,
                      const double* h, double e, double* w) {
  double s = 0;
  for (std::size_t i = l; i < width * rows; i += width) s += h[i] * w[i];
  const double root = std::sqrt(s + rules.noise);
  bool finite = std::isfinite(s);
  bool sound = s >= 0;
  for (std::size_t i = l; i < width * rows; i += width) {
    w[i] /= root;
    finite &= std::isfinite(m.D[i] - w[i] * w[i]) &&
              std::abs(m.theta[i] + w[i] * e / root) <= rules.largest;
    sound &= m.D[i] - w[i] * w[i] + rules.q > 0;
  }
  if (!finite) return rls_not_finite;
  if (!sound) return rls_not_a_covariance;
  for (std::size_t i = l; i < width * rows; i += width) {
    m.D[i] += rules.q - w[i] * w[i];
    m.theta[i] += w[i] * e / root;
  }
  return rls_applied;
}

void rls_learn(std::size_t n, const RlsModels& m, const RlsRules& rules, const double* x,
               const double* d, double* work, double* d_hat, double* outcome) {
  const std::size_t rows = n + 1;
  double* const w = work + width * rows;
  double y[width];
  RlsOutcome became[width];
  for (std::size_t l = 0; l < width; ++l) {
    const bool usable = rls_look(n, m, rules, x, l, work, y[l]) &&
                        (std::isnan(d[l]) || std::abs(d[l]) <= rules.largest);
    d_hat[l] = usable ? in_units_of_target(m, l, y[l]) : std::numeric_limits<double>::quiet_NaN();
    became[l] = usable ? rls_missing : rls_refused;
  }
  interleaved_pass(rows, m.P, m.D, 0, nullptr, 1, work, w);  // w = Ph
  for (std::size_t l = 0; l < width; ++l) {
    const bool usable = became[l] != rls_refused;
    if (usable && !std::isnan(d[l])) {
      const Welford before{m.d_mean[l], m.d_sum_sq[l]};
      const double wanted =
          m.d_count[l] < 2 ? 0 : before.standardised(m.d_count[l], d[l], rules.reach);
      became[l] = rls_update(rows, m, rules, l, work, wanted - y[l], w);
      const Welford now = before.with(++m.d_count[l], d[l], rules.reach, rules.horizon);
      m.d_mean[l] = now.mean;
      m.d_sum_sq[l] = now.sum_sq;
    }
    outcome[l] = became[l];
    if (became[l] != rls_applied)
      for (std::size_t i = l; i < width * rows; i += width) w[i] = 0;
    m.x_count[l] += usable ? 1 : 0;
    for (std::size_t j = l; j < width * n && usable; j += width) {
      const Welford now =
          Welford{m.mean[j], m.sum_sq[j]}.with(m.x_count[l], x[j], rules.reach, rules.horizon);
      m.mean[j] = now.mean;
      m.sum_sq[j] = now.sum_sq;
    }
  }
  interleaved_pass(rows, m.P, m.D, 1, w, 0, nullptr, nullptr);  // P ← P − wwᵀ off the diagonal
}

const Kernels reference = {.name = "reference",
                           .dot = dot,
                           .sum = sum,
                           .axpy = axpy,
                           .move_within = move_within,
                           .tanh = tanh,
                           .logistic = logistic,
                           .copy_rows = copy_rows,
                           .interleave = interleave,
                           .add_interleaved = add_interleaved,
                           .interleaved_pass = interleaved_pass,
                           .tiled_pass = tiled_pass,
                           .single_pass = single_pass,
                           .lane_dots = lane_dots,
                           .factor = factor,
                           .gain = gain,
                           .lstm_forward = lstm_forward,
                           .lstm_backward = lstm_backward,
                           .gru_forward = gru_forward,
                           .gru_backward = gru_backward,
                           .tanh_forward = tanh_forward,
                           .tanh_backward = tanh_backward,
                           .outer_products = outer_products,
                           .adam = adam,
                           .rmsprop = rmsprop,
                           .rls_predict = rls_predict,
                           .rls_learn = rls_learn};

[[maybe_unused]] const bool added = add_target(reference);

}  // namespace
}  // namespace kalstream::kernels

// The hot loops, behind one table of plain functions. Everything above is written in terms of
// these.
//
// Every vector unit the library knows fills such a table (simd.inc). Which one works is decided
// once, by what the processor can do, or by the environment variable KALSTREAM_TARGET. They are
// tested against plain loops in the order of the formulas (tests/reference_kernels.cc).
//
// Two ways to store symmetric matrices P; in both the diagonal is an array D of its own, so that
// process noise and variances need no pass over P:
//
//   interleaved: the strictly lower triangles of eight matrices of n rows, entry by entry: entry
//     (i,j), j < i, of matrix l is number 8·(i(i−1)/2 + j) + l. Vectors are interleaved alike:
//     entry i of vector l is number 8i + l.
//   tiled: one matrix, padded to N tiles of 8 × 8. Tile (I,J), I ≥ J, holds its columns one after
//     the other; tiles are ordered by J, then I. Tiles on the diagonal are stored whole.
//
// No function allocates; no two arguments may overlap unless said. This header has no inline
// functions on purpose: files compiled for different processors include it.
#pragma once

#include <cstddef>

namespace kalstream::kernels {

/// Numbers that travel together: matrices interleaved, rows of a tile.
inline constexpr std::size_t width = 8;

/// Why an update must not be made; 0 if it may. Several can be true at once.
enum Fault : int {
  no_fault = 0,
  not_finite = 1,
  not_a_covariance = 2,  // a variance that is negative, or would no longer be positive
};

struct AdamStep {
  double learning_rate, first_decay, second_decay, epsilon;
  double first_scale, second_scale;  // 1/(1 − β₁ᵗ), 1/(1 − β₂ᵗ)
  double gradient_scale, pull;       // the gradient is gradient_scale·g + pull·θ
};

struct RmsPropStep {
  double learning_rate, decay, epsilon;
  double gradient_scale, pull;
};

/// Eight linear models of n inputs and a constant, m = n + 1 weights, interleaved (kernels above).
struct RlsModels {
  double *x_count, *d_count;  // 8: samples, and of them those with a target
  double *mean, *sum_sq;      // 8n: of the inputs, by Welford's recursion
  double *d_mean, *d_sum_sq;  // 8: of the target
  double *theta, *D;          // 8m
  double* P;                  // 8·m(m−1)/2
};

/// What they are learnt by (docs/batches.md).
struct RlsRules {
  double noise, q;        // of the target, standardised; added to variances with every update
  double scale;           // of the inputs, standardised
  double reach, horizon;  // of the moments: deviations, samples
  double largest;         // beyond it a number cannot be used
};

/// What became of a model's sample.
enum RlsOutcome : int {
  rls_applied,
  rls_missing,           // no target: the moments of the inputs have moved on
  rls_refused,           // cannot be used: nothing has changed
  rls_not_finite,        // only the moments have moved on
  rls_not_a_covariance,  // the same
};

struct Kernels {
  const char* name;

  /// aᵀb.
  double (*dot)(std::size_t n, const double* a, const double* b);
  /// Σ a.
  double (*sum)(std::size_t n, const double* a);
  /// y ← y + a·x.
  void (*axpy)(std::size_t n, double a, const double* x, double* y);
  /// θ⁺ = θ + a·x; whether all |θ⁺| ≤ largest. θ⁺ may take the place of θ.
  bool (*move_within)(std::size_t n, double a, const double* x, const double* theta, double largest,
                      double* theta_new);

  /// y ← tanh(x), element by element; x and y may be the same.
  void (*tanh)(std::size_t n, const double* x, double* y);
  /// y ← 1/(1 + e⁻ˣ), element by element; x and y may be the same.
  void (*logistic)(std::size_t n, const double* x, double* y);

  /// to[to_stride·r + j] ← from[from_stride·r + j] for j < n.
  void (*copy_rows)(std::size_t rows, std::size_t n, const double* from, std::size_t from_stride,
                    double* to, std::size_t to_stride);
  /// out[stride·j + l] ← rows[l][j] for eight rows of n.
  void (*interleave)(std::size_t n, const double* const* rows, std::size_t stride, double* out);
  /// rows_new[l][j] ← rows[l][j] + Σ_k u[8k + l]·w_k[8j + l]; whether all of them are within
  /// ±largest. W: n_w vectors at a distance of `stride`.
  bool (*add_interleaved)(std::size_t n, std::size_t n_w, const double* u, const double* W,
                          std::size_t stride, const double* const* rows, double largest,
                          double* const* rows_new);

  /// P ← P − Σ_k w_k w_kᵀ off the diagonal, then v_k ← P h_k, for eight interleaved P, in one go.
  /// W: n_w vectors, one after the other; H and V: n_h.
  void (*interleaved_pass)(std::size_t n, double* P, const double* D, std::size_t n_w,
                           const double* W, std::size_t n_h, const double* H, double* V);
  /// The same for the columns of tiles first … last − 1 of one tiled P of N × N tiles (vectors have
  /// 8N entries), from the last to the first if `backward`. Adds its part of P h_k to v_k.
  void (*tiled_pass)(std::size_t N, std::size_t first, std::size_t last, bool backward, double* P,
                     const double* D, std::size_t n_w, const double* W, std::size_t n_h,
                     const double* H, double* V);
  /// The same for the whole of one tiled P in single precision, whose diagonal counts as 0: what it
  /// adds to v_k is the caller's.
  void (*single_pass)(std::size_t N, bool backward, float* P, std::size_t n_w, const float* W,
                      std::size_t n_h, const float* H, float* V);
  /// out[l] ← Σ_m a[8m + l]·b[8m + l].
  void (*lane_dots)(std::size_t rows, const double* a, const double* b, double* out);
  /// For eight S (n_d × n_d × 8, the lower halves), each on its own:
  ///   LLᵀ = S + rI,  r = floor + noise_factor·Tr(S)/n_d;   u = L⁻¹e
  /// S ← L with 1/L_kk in the place of L_kk, or 0 where L_kk = 0; all 0 where Tr(S) ≤ least.
  /// Faults: a diagonal entry of S is negative; it or an entry of L is not finite.
  int (*factor)(std::size_t n_d, const double* e, double floor, double noise_factor, double least,
                double* S, double* u);
  /// For vectors of 8·rows entries, entry m with the L (as factor leaves it) of m mod 8:
  ///   w_k = (v_k − Σ_{i<k} L_ki w_i)/L_kk;   D⁺ = D − Σ_k w_k² + q
  /// W: the v_k, then the w_k. D = 0 marks padding, which stays 0. Adds Σ D⁺ to `trace`.
  /// Faults: D⁺ − q is not finite; D⁺ ≤ 0.
  int (*gain)(std::size_t rows, std::size_t n_d, const double* L, double q, const double* D,
              double* W, double* D_new, double* trace);

  /// One step of an LSTM layer; n = n_x + n_s, m = 4 n_s rounded up to eights, and 8 more.
  ///   [z;i;f;o] = act(W·input);  c = i∘z + f∘c₋;  y = o∘tanh(c)
  /// Wᵀ: n × m; gates: m numbers; c₋, c, tanh_c and y: n_s rounded up to eights, where what
  /// follows entry n_s has no meaning.
  void (*lstm_forward)(std::size_t n_s, std::size_t n, const double* W_transposed,
                       const double* input, const double* c_before, double* gates, double* c,
                       double* tanh_c, double* y);
  /// The way back: from ∂/∂y in dy and the part of ∂/∂c that comes from later in dc to ∂/∂a of the
  /// step in da and both of the step before. Sizes as above (da: as gates);
  /// W_y: 4 n_s rows of n_s rounded up to eights.
  ///   da_o = dy∘tanh(c)∘o(1−o);  dc += dy∘o∘(1−tanh²c);
  ///   da_z = dc∘i∘(1−z²);  da_i = dc∘z∘i(1−i);  da_f = dc∘c₋∘f(1−f);
  ///   dy ← W_yᵀ da;  dc ← dc∘f
  void (*lstm_backward)(std::size_t n_s, const double* W_y, const double* gates,
                        const double* c_before, const double* tanh_c, double* da, double* dy,
                        double* dc);
  /// One step of a layer of gated recurrent units; n_x inputs, m = 3 n_s rounded up to eights, and
  /// 8 more. Rows of W in the order r, f, z:
  ///   [r;f] = logistic(W·[x ; y₋]);  z = tanh(W_z·[x ; r∘y₋]);  y = z + f∘(y₋ − z)
  /// Wᵀ: (n_x + n_s) × m; input: [x ; y₋]; reset_input: its x is there, r∘y₋ is written; gates: m
  /// numbers; y₋ once more and y: n_s rounded up to eights.
  void (*gru_forward)(std::size_t n_s, std::size_t n_x, const double* W_transposed,
                      const double* input, const double* y_before, double* reset_input,
                      double* gates, double* y);
  /// The way back, with sizes as above and W_y of 3 n_s rows; `through` (n_s in eights) is scratch.
  ///   da_z = dy∘(1−f)∘(1−z²);  da_f = dy∘(y₋−z)∘f(1−f);  t = W_y,zᵀ da_z;  da_r = t∘y₋∘r(1−r);
  ///   dy ← dy∘f + t∘r + W_y,rᵀ da_r + W_y,fᵀ da_f
  void (*gru_backward)(std::size_t n_s, const double* W_y, const double* gates,
                       const double* y_before, double* da, double* dy, double* through);
  /// y ← tanh(W·input) for n_s rows of n; Wᵀ: n × (n_s rounded up to eights, and 8 more).
  void (*tanh_forward)(std::size_t n_s, std::size_t n, const double* W_transposed,
                       const double* input, double* y);
  /// da = dy∘(1 − y²);  dy ← W_yᵀ da, or as it was if there is no W_y (of n_s rows as above).
  void (*tanh_backward)(std::size_t n_s, const double* W_y, const double* y, double* da,
                        double* dy);
  /// C ← Σ_t a_t b_tᵀ (rows × columns) for `steps` vectors a_t and b_t, at strides of their own.
  void (*outer_products)(std::size_t steps, std::size_t rows, std::size_t columns, const double* A,
                         std::size_t A_stride, const double* B, std::size_t B_stride, double* C);

  /// m⁺ = β₁m + (1−β₁)g;  v⁺ = β₂v + (1−β₂)g²;  θ⁺ = θ − μ m̂⁺/(√v̂⁺ + ε). Whether |θ⁺| ≤ largest
  /// and v⁺ is finite, everywhere.
  bool (*adam)(std::size_t n, const AdamStep& step, const double* g, const double* theta,
               const double* m, const double* v, double largest, double* theta_new, double* m_new,
               double* v_new);
  /// v⁺ = βv + (1−β)g²;  θ⁺ = θ − μ g/(√v⁺ + ε). Returns as adam.
  bool (*rmsprop)(std::size_t n, const RmsPropStep& step, const double* g, const double* theta,
                  const double* v, double largest, double* theta_new, double* v_new);

  /// Recursive least squares of eight models, each on its own. x: 8n, interleaved; work: 32m.
  ///   h = [x' ; 1],  x' = scale·(x − mean)/deviation within ±reach, by moments that include x;
  ///   d̂ = d_mean + d_deviation·θᵀh;  not a number where x cannot be used
  void (*rls_predict)(std::size_t n, const RlsModels& models, const RlsRules& rules,
                      const double* x, double* work, double* d_hat);
  /// The same, and with d (8; not a number: missing), d' as x' but by moments before d:
  ///   S = hᵀPh + noise;  w = Ph/√S;  θ ← θ + w(d' − θᵀh)/√S;  P ← P − wwᵀ + qI
  /// whole or not at all, and then the moments. outcome: 8 of RlsOutcome.
  void (*rls_learn)(std::size_t n, const RlsModels& models, const RlsRules& rules, const double* x,
                    const double* d, double* work, double* d_hat, double* outcome);
};

/// The kernels at work (dispatch.h says how they are chosen).
const Kernels& active();

}  // namespace kalstream::kernels

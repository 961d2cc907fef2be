// The plain version of every kernel, in the order of its formula.
#include <cmath>

#include "kernels/kernels.h"

namespace kalstream::kernels {

double dot(std::size_t n, const double* a, const double* b) {
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (std::size_t i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}

void axpy(std::size_t n, double a, const double* x, double* y) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

void matvec(std::size_t rows, std::size_t columns, const double* A, const double* x, double* y) {
  for (std::size_t i = 0; i < rows; ++i) y[i] = dot(columns, A + i * columns, x);
}

// One pass over the stored half: entry (i,j), j < i, serves v_i and v_j.
void symmetric_matvec(std::size_t n, const double* P, const double* h, double* v) {
  for (std::size_t i = 0; i < n; ++i) {
    const double* row = P + packed_size(i);
    const double h_i = h[i];
    double s = 0;
#pragma omp simd reduction(+ : s)
    for (std::size_t j = 0; j < i; ++j) {
      s += row[j] * h[j];
      v[j] += row[j] * h_i;
    }
    v[i] = s + row[i] * h_i;
  }
}

void rank_one_downdate(std::size_t n, double* P, const double* w) {
  for (std::size_t i = 0; i < n; ++i) axpy(i + 1, -w[i], w, P + packed_size(i));
}

void gate_activations(std::size_t n_s, double* a) {
  tanh(n_s, a, a);
  for (std::size_t k = n_s; k < 4 * n_s; ++k) a[k] = 1 / (1 + std::exp(-a[k]));
}

void tanh(std::size_t n, const double* x, double* y) {
  for (std::size_t k = 0; k < n; ++k) y[k] = std::tanh(x[k]);
}

}  // namespace kalstream::kernels

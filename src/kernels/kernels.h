// The hot loops, behind a few plain functions. Everything above is written in terms of these.
//
// Symmetric matrices are packed lower triangles: row i holds entries (i,0) … (i,i), at offset
// i(i+1)/2. No function allocates; no two arguments may overlap unless said.
#pragma once

#include <cstddef>

namespace kalstream::kernels {

constexpr std::size_t packed_size(std::size_t n) { return n * (n + 1) / 2; }
constexpr std::size_t packed_diagonal(std::size_t i) { return i * (i + 3) / 2; }

/// aᵀb.
double dot(std::size_t n, const double* a, const double* b);

/// y ← y + a·x.
void axpy(std::size_t n, double a, const double* x, double* y);

/// y ← A x for a dense row-major A (rows × columns).
void matvec(std::size_t rows, std::size_t columns, const double* A, const double* x, double* y);

/// v ← P h for a packed symmetric P.
void symmetric_matvec(std::size_t n, const double* P, const double* h, double* v);

/// P ← P − w wᵀ for a packed symmetric P.
void rank_one_downdate(std::size_t n, double* P, const double* w);

/// a ← [tanh(a_z); σ(a_i); σ(a_f); σ(a_o)] in place, for 4 n_s pre-activations.
void gate_activations(std::size_t n_s, double* a);

/// y ← tanh(x), element by element; x and y may be the same.
void tanh(std::size_t n, const double* x, double* y);

}  // namespace kalstream::kernels

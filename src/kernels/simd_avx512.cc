#define KALSTREAM_SIMD_TABLE avx512
#include "kernels/simd.inc"

#define KALSTREAM_SIMD_TABLE avx2
#include "kernels/simd.inc"

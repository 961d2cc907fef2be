#define KALSTREAM_SIMD_TABLE portable
#include "kernels/simd.inc"

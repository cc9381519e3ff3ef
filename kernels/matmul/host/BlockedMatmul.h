// Computes products of f32 matrices in blocks, for processors without AVX-512. The loops are those of
//
//   K. Goto, R. van de Geijn: Anatomy of High-Performance Matrix Multiplication. ACM TOMS 34 (2008)
//
// For such processors, oneDNN's product allocates memory in each call, which no plan knows, and cuts its sums by the
// number of threads. Here:
//
//   scratch   is planned: for each thread, a block of the right operand and, if the left operand is transposed, some of
//             its rows
//   sums      each sum of 256 products is added in ascending k, and these sums are added in ascending k. Work is
//             divided into blocks and among threads only by rows and columns, so the division changes no bit.
#ifndef CLEAVE_KERNELS_MATMUL_HOST_BLOCKEDMATMUL_H
#define CLEAVE_KERNELS_MATMUL_HOST_BLOCKEDMATMUL_H

#include "kernels/matmul/host/Matmul.h"

namespace cleave::rt {

// `shape` must have f32 inputs and results, and a plain right operand.
std::unique_ptr<HostKernel> makeBlockedMatmul(const MatmulShape &shape, int threads);

} // namespace cleave::rt

#endif

// Products of f32 matrices in blocks, for processors without AVX-512, in the loops of
//
//   K. Goto, R. van de Geijn: Anatomy of High-Performance Matrix Multiplication. ACM TOMS 34 (2008)
//
// oneDNN's product for such processors allocates memory in each call, which no plan knows, and cuts its sums by the
// number of threads. Here
//
//   scratch   is planned: for each thread, a block of the right operand and, of a transposed left one, some rows
//   sums      are those of 256 products in ascending k, added up in ascending k. Blocks and threads share out rows and
//             columns alone, so that they change no bit.
#ifndef CLEAVE_KERNELS_MATMUL_HOST_BLOCKEDMATMUL_H
#define CLEAVE_KERNELS_MATMUL_HOST_BLOCKEDMATMUL_H

#include "kernels/matmul/host/Matmul.h"

namespace cleave::rt {

// `shape` of f32, in and out, with a plain right operand.
std::unique_ptr<HostKernel> makeBlockedMatmul(const MatmulShape &shape, int threads);

} // namespace cleave::rt

#endif

// Finds sums of exponentials that can be computed together with the maximum that keeps them small:
//
//   m = max over x,  s = sum of e^(x - m)          two passes over the row
//
//   for each vector of x: n = max(m, vector), s = s e^(m - n) + sum of e^(x - n), m = n          one pass
//
// (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). The order of the sum is fixed, as that
// of other sums, but its rounding differs from that of two passes.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_SCALEDSUM_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_SCALEDSUM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace cleave {

// Returns the maximum m if `sum` is a sum of e^(x - m) in f32 or f64, where m is the maximum of all its x; null for
// other reductions.
mlir::Operation *maximumOfScaledSum(mlir::linalg::GenericOp sum);

} // namespace cleave

#endif

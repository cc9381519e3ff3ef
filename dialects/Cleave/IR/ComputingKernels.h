// Kernels that compute, as products do, and not those that move elements.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_COMPUTINGKERNELS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_COMPUTINGKERNELS_H

#include "mlir/IR/Operation.h"

namespace cleave {

// Whether the op is a kernel of its own that does floating-point operations.
bool isComputingKernel(mlir::Operation *op);

// Whether it is one that multiplies floating-point operands by each other, as a matrix product or a convolution does. A
// pool has one operand, and is none.
bool isProductKernel(mlir::Operation *op);

} // namespace cleave

#endif

// Tells kernels that compute, such as products, from those that move elements.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_COMPUTINGKERNELS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_COMPUTINGKERNELS_H

#include "mlir/IR/Operation.h"

namespace cleave {

// True if the op is a kernel of its own that does floating-point operations.
bool isComputingKernel(mlir::Operation *op);

// True if it also multiplies floating-point operands by each other, as a matrix product or a convolution does. A pool
// has only one operand, so it is not a product.
bool isProductKernel(mlir::Operation *op);

} // namespace cleave

#endif

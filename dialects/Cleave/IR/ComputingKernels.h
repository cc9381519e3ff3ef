// Kernels that compute, as products do, and not those that move elements.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_COMPUTINGKERNELS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_COMPUTINGKERNELS_H

#include "mlir/IR/Operation.h"

namespace cleave {

// Whether the op is a kernel of its own that does floating-point operations.
bool isComputingKernel(mlir::Operation *op);

} // namespace cleave

#endif

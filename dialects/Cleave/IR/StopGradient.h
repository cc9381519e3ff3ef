// The op through which no gradient flows (CleaveGradientOps.td): include this to build or match it.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_STOPGRADIENT_H
#define CLEAVE_DIALECTS_CLEAVE_IR_STOPGRADIENT_H

#include "dialects/Cleave/IR/Cleave.h"

#define GET_OP_CLASSES
#include "dialects/Cleave/IR/CleaveGradientOps.h.inc"

namespace cleave {

// Replaces every stop_gradient of the function by its operand. Gradients must have been built, or none will be.
void eraseStopGradients(mlir::func::FuncOp function);

} // namespace cleave

#endif

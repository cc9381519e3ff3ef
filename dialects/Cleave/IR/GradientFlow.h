// What an op does with a gradient that arrives at it. Every pass that follows gradients through a graph uses this. An
// op without a derivative is either a decision, whose gradient is zero by definition, or a gap, and a gap must never be
// taken for a zero.
//
//   cleave.mul         -> Passes      it builds its vector-Jacobian product (DifferentiableOpInterface)
//   cleave.compare     -> Decision    no result is a floating-point number
//   cleave.floor       -> Decision    it says so (DecisionOpInterface)
//   cleave.max_pool_grad -> Missing   a function of floating-point numbers without a derivative
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_GRADIENTFLOW_H
#define CLEAVE_DIALECTS_CLEAVE_IR_GRADIENTFLOW_H

#include "mlir/IR/OpDefinition.h"

#include "dialects/Cleave/IR/CleaveDecisions.h.inc"

namespace cleave {

enum class GradientFlow { Passes, Decision, Missing };

// `op` must have a floating-point operand.
GradientFlow gradientFlow(mlir::Operation *op);

// True if a decision gives its operands a gradient of zeros, and false if it gives none: floor gives zeros, compare
// none. A parameter with a gradient of zeros is shrunk by weight decay; one without a gradient does not change (in
// PyTorch, its `grad` is None).
bool givesZeroGradient(mlir::Operation *op);

// True if the elements are floating-point numbers, because only these have gradients.
bool mayHaveGradient(mlir::Value value);

// Attaches the decisions. The dialect calls it when it is loaded.
void attachDecisions(mlir::MLIRContext &context);

} // namespace cleave

#endif

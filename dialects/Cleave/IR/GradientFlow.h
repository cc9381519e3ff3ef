// What becomes of a gradient that arrives at an op. Whoever follows gradients through a graph asks here: an op without
// a derivative is either a decision, whose gradient is zero by definition, or a gap, and a gap must never be taken for
// a zero.
//
//   cleave.mul         -> Passes      it builds its vector-Jacobian product (DifferentiableOpInterface)
//   cleave.compare     -> Decision    no result is a floating-point number
//   cleave.floor       -> Decision    it says so (DecisionOpInterface)
//   cleave.max_pool_grad -> Missing   a function of floating-point numbers, and nobody wrote its derivative
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_GRADIENTFLOW_H
#define CLEAVE_DIALECTS_CLEAVE_IR_GRADIENTFLOW_H

#include "mlir/IR/OpDefinition.h"

#include "dialects/Cleave/IR/CleaveDecisions.h.inc"

namespace cleave {

enum class GradientFlow { Passes, Decision, Missing };

// Of an op with a floating-point operand.
GradientFlow gradientFlow(mlir::Operation *op);

// Whether a decision gives its operands a gradient of zeros, and not none: floor does, compare does not. It is the
// difference between a parameter that weight decay shrinks and one that nothing changes (PyTorch's `grad` is None).
bool givesZeroGradient(mlir::Operation *op);

// Whether the elements are floating-point numbers, which alone have gradients.
bool mayHaveGradient(mlir::Value value);

// The dialect attaches them when it is loaded.
void attachDecisions(mlir::MLIRContext &context);

} // namespace cleave

#endif

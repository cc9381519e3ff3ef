// Which ops a partial value may pass through without being reduced: f(a + b + ...) = f(a) + f(b) + ..., on every rank
// alone.
//
// The op's own gradient answers this: an op is linear in its operands exactly if its vector-Jacobian product uses
// neither them nor its result. So `add`, `transpose`, `concat`, `reduce sum` pass; `mul` of two partial values, `exp`,
// `max` do not. Rejected: a list of ops (no pass lists ops by name), and a trait (it would repeat what the gradient
// says).
#ifndef CLEAVE_COMPILER_SHARDING_LINEARITY_H
#define CLEAVE_COMPILER_SHARDING_LINEARITY_H

#include "mlir/IR/Operation.h"

namespace cleave {

// True if `op` is linear in all its floating-point operands together, and makes zero of zero. So an op with a non-zero
// number among its attributes (pad's value) is not linear.
bool isLinear(mlir::Operation *op);

// True for a tensor of floating-point numbers. Only these are terms of a sum over ranks.
bool isFloat(mlir::Value value);

// True for a constant that is zero everywhere. It may be added to any sum.
bool isZero(mlir::Value value);

} // namespace cleave

#endif

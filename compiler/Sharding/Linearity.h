// Which ops a partial value may pass unreduced: f(a + b + ...) = f(a) + f(b) + ..., on every rank alone.
//
// We ask the op's own gradient: an op is linear in its operands exactly when its vector-Jacobian product uses neither
// them nor its result. So `add`, `transpose`, `concat`, `reduce sum` pass; `mul` of two partial values, `exp`, `max` do
// not. Rejected: a list of ops (no pass lists ops by name), and a trait (it would say again what the gradient says).
#ifndef CLEAVE_COMPILER_SHARDING_LINEARITY_H
#define CLEAVE_COMPILER_SHARDING_LINEARITY_H

#include "mlir/IR/Operation.h"

namespace cleave {

// Is `op` linear in all its floating-point operands together? Zero stays zero: an op with a non-zero number among its
// attributes (pad's value) does not count.
bool isLinear(mlir::Operation *op);

// A constant that is zero everywhere: part of any sum.
bool isZero(mlir::Value value);

} // namespace cleave

#endif

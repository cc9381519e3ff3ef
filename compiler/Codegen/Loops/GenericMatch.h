// Matches the linalg forms of ops, by finding the tensor to which an element of a generic's body belongs.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_GENERICMATCH_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_GENERICMATCH_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace cleave {

// Returns the generic that makes a value with one element for each iteration of its loops, in their order; null if
// another op makes it.
mlir::linalg::GenericOp elementwiseMaker(mlir::Value value);

// Returns the value that the body of a generic with one result yields.
mlir::Value yieldedOf(mlir::linalg::GenericOp op);

// Returns the tensor that an argument of the body is an element of, at the index of the result. Null for other values.
mlir::Value operandOf(mlir::linalg::GenericOp op, mlir::Value element);

// For a reduction whose body is `accumulator op term`, where the term may be widened: the tensor whose elements are the
// terms, in the loops' order, and the op. Nulls for other reductions.
struct Terms {
  mlir::Value tensor;
  mlir::Operation *combiner = nullptr;
};
Terms termsOf(mlir::linalg::GenericOp reduction);

} // namespace cleave

#endif

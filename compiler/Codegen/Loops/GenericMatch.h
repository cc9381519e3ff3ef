// Looking through the forms of ops: which tensor an element of a generic's body is of.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_GENERICMATCH_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_GENERICMATCH_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace cleave {

// The generic that makes a value, one element of its result for each of its loops, in their order; null where another op
// makes it.
mlir::linalg::GenericOp elementwiseMaker(mlir::Value value);

// What the body of a generic with one result gives.
mlir::Value yieldedOf(mlir::linalg::GenericOp op);

// The tensor that an argument of the body is an element of, at the same index as the result's; null for what is none.
mlir::Value operandOf(mlir::linalg::GenericOp op, mlir::Value element);

// Of a reduction whose body is `accumulator op term`, where the term may be widened: the tensor whose elements are the
// terms, in the loops' order, and the op; nulls where it is none.
struct Terms {
  mlir::Value tensor;
  mlir::Operation *combiner = nullptr;
};
Terms termsOf(mlir::linalg::GenericOp reduction);

} // namespace cleave

#endif

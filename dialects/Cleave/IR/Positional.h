// Helpers for ops whose elements depend on their position: the `origin` operand.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_POSITIONAL_H
#define CLEAVE_DIALECTS_CLEAVE_IR_POSITIONAL_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cleave {

// Checks that an origin, if there is one, is a tensor<rank x i64>.
mlir::LogicalResult verifyOrigin(mlir::Operation *op, mlir::Value origin, mlir::RankedTensorType result);

// Returns the origin's elements as tensors of rank 0.
llvm::SmallVector<mlir::Value> originScalars(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value origin);

} // namespace cleave

#endif

// Shared by the ops whose elements depend on where they stand: the `origin` operand.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_POSITIONAL_H
#define CLEAVE_DIALECTS_CLEAVE_IR_POSITIONAL_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cleave {

// An origin, when there, is tensor<rank x i64>.
mlir::LogicalResult verifyOrigin(mlir::Operation *op, mlir::Value origin, mlir::RankedTensorType result);

// The origin's elements as tensors of rank 0.
llvm::SmallVector<mlir::Value> originScalars(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value origin);

} // namespace cleave

#endif

// The common answers of all elementwise ops: loops, maps and the linalg frame around one scalar computation.
//
// Example: for `cleave.add %a, %b : tensor<8x4xf32>` the loops are (parallel, parallel), the three maps
// (d0, d1) -> (d0, d1), and the frame is one linalg.generic whose region is what AddOp::buildScalar makes.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_ELEMENTWISE_H
#define CLEAVE_DIALECTS_CLEAVE_IR_ELEMENTWISE_H

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace cleave {

llvm::SmallVector<mlir::utils::IteratorType> elementwiseLoops(mlir::Operation *op);
llvm::SmallVector<mlir::AffineMap> elementwiseMaps(mlir::Operation *op);

using ScalarBuilder = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;
mlir::Value elementwiseLinalg(mlir::Operation *op, mlir::OpBuilder &builder, mlir::ValueRange operands,
                              ScalarBuilder scalar);

// linalg and arith know only signless integers: ui8 becomes i8 before them, and ui8 again after them.
mlir::RankedTensorType signlessType(mlir::RankedTensorType type);
mlir::Value toSignless(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor);
mlir::Value fromSignless(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor, mlir::Type type);

} // namespace cleave

#endif

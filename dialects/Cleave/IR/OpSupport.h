// Helpers by which the op families answer their interfaces: loop descriptions, and small expressions of cleave ops for
// gradients and decompositions.
//
// A loop description is a list of loops and, for every operand and result, which loop walks each dimension:
//
//   matmul, one batch dimension      loops: b m n k(sum)
//     lhs [b, m, k] -> {0, 1, 3}     rhs [b, k, n] -> {0, 3, 2}     result [b, m, n] -> {0, 1, 2}
//
// kWhole in place of a loop marks a dimension that cannot be split. It becomes the constant 0 in the indexing map.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_OPSUPPORT_H
#define CLEAVE_DIALECTS_CLEAVE_IR_OPSUPPORT_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace cleave {

constexpr int64_t kWhole = -1;

// Returns the map (d0, ..., d{numLoops-1}) -> (d{loops[0]}, d{loops[1]}, ...).
AffineMap loopMap(mlir::MLIRContext *context, int64_t numLoops, llvm::ArrayRef<int64_t> loops);

// True if each element of a result is computed from the elements at its place alone: all indexing maps are identities.
bool isElementwise(mlir::Operation *op);

// True if a type has a static shape, and at most 2^63 - 1 bytes. All tensors of the dialect have, so that sizes and
// places of their elements are numbers of 64 bits.
bool isCountable(mlir::Type type);

mlir::RankedTensorType tensorTypeOf(mlir::Value value);
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);
int64_t product(llvm::ArrayRef<int64_t> sizes);
// Returns first, first + 1, ..., first + count - 1.
llvm::SmallVector<int64_t> range(int64_t first, int64_t count);
// Returns the dimensions 0 ... rank-1 that are not among `dims`, in order.
llvm::SmallVector<int64_t> otherDims(int64_t rank, llvm::ArrayRef<int64_t> dims);
// Checks that `dims` increase strictly and are in [0, rank). Says what is wrong through `emitError`.
llvm::LogicalResult checkDims(llvm::ArrayRef<int64_t> dims, int64_t rank,
                              llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

// Returns a constant with the same value everywhere; for integers, the value is truncated.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value);
mlir::Value splatLike(mlir::ImplicitLocOpBuilder &builder, mlir::Value like, double value);
mlir::Value reduceSum(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, llvm::ArrayRef<int64_t> dims);
// Repeats `reduced` (which lost `dims`) along `dims` to the shape of `like`.
mlir::Value repeat(mlir::ImplicitLocOpBuilder &builder, mlir::Value reduced, mlir::Value like,
                   llvm::ArrayRef<int64_t> dims);
// Returns the sum of both gradients, or the one that is not null; null if both are.
mlir::Value addGradients(mlir::ImplicitLocOpBuilder &builder, mlir::Value a, mlir::Value b);

// f16 and bf16 are computed in f32: inputs are widened, and the output is rounded.
mlir::Type computeElementType(mlir::Type element);
mlir::Value castTo(mlir::ImplicitLocOpBuilder &builder, mlir::Value value, mlir::Type element);
mlir::Value widen(mlir::ImplicitLocOpBuilder &builder, mlir::Value value);

// Returns the cost of the given work, with the bytes of every operand and result once.
OpCost costWithFlops(mlir::Operation *op, int64_t flops);

} // namespace cleave

#endif

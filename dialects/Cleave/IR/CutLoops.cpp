#include "dialects/Cleave/IR/CutLoops.h"
#include "dialects/Cleave/IR/OpSupport.h"

#include "dialects/Cleave/IR/CleaveCutLoops.cpp.inc"

using namespace cleave;
using llvm::ArrayRef;
using mlir::OpBuilder;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::ValueRange;

bool cleave::computesAtOwnIndex(mlir::Operation *op) {
  auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
  auto sharding = llvm::dyn_cast<mlir::shard::ShardingInterface>(op);
  if (!compute || !sharding || compute.getComputeKind() != ComputeKind::Fusible || !compute.isReproducible() ||
      llvm::isa<PositionalOpInterface>(op) || op->getNumOperands() == 0 || op->getNumResults() != 1)
    return false;
  auto type = llvm::cast<RankedTensorType>(op->getResult(0).getType());
  auto isOfItsShape = [&](Value operand) { return tensorTypeOf(operand).getShape() == type.getShape(); };
  return llvm::all_of(op->getOperands(), isOfItsShape) &&
         llvm::all_of(sharding.getIndexingMaps(), [](AffineMap map) { return map.isIdentity(); });
}

bool cleave::hasCutLoops(mlir::Operation *op) { return llvm::isa<CutLoopsOpInterface>(op) || computesAtOwnIndex(op); }

Value cleave::cutLoops(OpBuilder &builder, mlir::Operation *op, ValueRange operands, RankedTensorType result,
                       ArrayRef<int64_t> parts) {
  if (auto known = llvm::dyn_cast<CutLoopsOpInterface>(op))
    return known.withCutLoops(builder, operands, result, parts);
  mlir::Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(result);
  return copy->getResult(0);
}

// Returns the new dimensions of `dims`. Their loops are those of the op, in order.
static SmallVector<int64_t> cutDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> parts) {
  SmallVector<int64_t> cut;
  int64_t first = 0;
  for (auto [dim, count] : llvm::enumerate(parts)) {
    if (llvm::is_contained(dims, static_cast<int64_t>(dim)))
      llvm::append_range(cut, range(first, count));
    first += count;
  }
  return cut;
}

// If only single elements are reduced, the operand is the result.
static Value cut(ReduceOp op, OpBuilder &builder, ValueRange operands, RankedTensorType, ArrayRef<int64_t> parts) {
  SmallVector<int64_t> dims = cutDims(op.getDims(), parts);
  return dims.empty() ? operands[0] : ReduceOp::create(builder, op.getLoc(), op.getKind(), operands[0], dims);
}

static Value cut(BroadcastOp op, OpBuilder &builder, ValueRange operands, RankedTensorType result,
                 ArrayRef<int64_t> parts) {
  if (operands[0].getType() == result)
    return operands[0];
  return BroadcastOp::create(builder, op.getLoc(), result, operands[0], cutDims(op.getDims(), parts));
}

namespace {
template <typename Op> struct CutsLoops : CutLoopsOpInterface::ExternalModel<CutsLoops<Op>, Op> {
  Value withCutLoops(mlir::Operation *op, OpBuilder &builder, ValueRange operands, RankedTensorType result,
                     ArrayRef<int64_t> parts) const {
    return cut(llvm::cast<Op>(op), builder, operands, result, parts);
  }
};
} // namespace

void cleave::attachCutLoops(mlir::MLIRContext &context) {
  ReduceOp::attachInterface<CutsLoops<ReduceOp>>(context);
  BroadcastOp::attachInterface<CutsLoops<BroadcastOp>>(context);
}

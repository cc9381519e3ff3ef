#include "dialects/Cleave/IR/OpSupport.h"

#include <algorithm>

using namespace cleave;
using llvm::ArrayRef;
using mlir::ImplicitLocOpBuilder;
using mlir::RankedTensorType;
using mlir::Value;

AffineMap cleave::loopMap(mlir::MLIRContext *context, int64_t numLoops, ArrayRef<int64_t> loops) {
  SmallVector<mlir::AffineExpr> dims;
  for (int64_t loop : loops)
    dims.push_back(loop == kWhole ? mlir::getAffineConstantExpr(0, context) : mlir::getAffineDimExpr(loop, context));
  return AffineMap::get(numLoops, 0, dims, context);
}

bool cleave::isElementwise(mlir::Operation *op) {
  auto loops = llvm::dyn_cast<mlir::shard::ShardingInterface>(op);
  return loops && llvm::all_of(loops.getIndexingMaps(), [](AffineMap map) { return map.isIdentity(); });
}

bool cleave::isCountable(mlir::Type type) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return false;
  int64_t bytes = llvm::divideCeil(tensor.getElementType().getIntOrFloatBitWidth(), 8);
  bool fits = true;
  for (int64_t size : tensor.getShape())
    fits &= !llvm::MulOverflow(bytes, size, bytes);
  return fits || llvm::is_contained(tensor.getShape(), 0);
}

RankedTensorType cleave::tensorTypeOf(Value value) { return llvm::cast<RankedTensorType>(value.getType()); }

ArrayRef<int64_t> cleave::shapeOf(Value value) { return tensorTypeOf(value).getShape(); }

int64_t cleave::product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

SmallVector<int64_t> cleave::range(int64_t first, int64_t count) {
  SmallVector<int64_t> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back(first + i);
  return result;
}

SmallVector<int64_t> cleave::otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

llvm::LogicalResult cleave::checkDims(ArrayRef<int64_t> dims, int64_t rank,
                                      llvm::function_ref<mlir::InFlightDiagnostic()> emitError) {
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return emitError() << "expects dims in [0, " << rank << "), the operand's dimensions; got: " << dim;
    if (dim <= previous)
      return emitError() << "expects strictly increasing dims; got: " << dim << " after " << previous;
    previous = dim;
  }
  return mlir::success();
}

Value cleave::splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type, double value) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  mlir::Type element = tensor.getElementType();
  mlir::Attribute scalar;
  if (llvm::isa<mlir::FloatType>(element))
    scalar = mlir::FloatAttr::get(element, value);
  else
    scalar = mlir::IntegerAttr::get(
        element, llvm::APInt(64, static_cast<int64_t>(value), true).sextOrTrunc(element.getIntOrFloatBitWidth()));
  return ConstantOp::create(builder, loc, mlir::DenseElementsAttr::get(tensor, scalar));
}

Value cleave::splatLike(ImplicitLocOpBuilder &builder, Value like, double value) {
  return splat(builder, builder.getLoc(), like.getType(), value);
}

Value cleave::reduceSum(ImplicitLocOpBuilder &builder, Value value, ArrayRef<int64_t> dims) {
  return ReduceOp::create(builder, ReduceKind::Sum, value, dims);
}

Value cleave::repeat(ImplicitLocOpBuilder &builder, Value reduced, Value like, ArrayRef<int64_t> dims) {
  auto type = tensorTypeOf(like).clone(tensorTypeOf(reduced).getElementType());
  return BroadcastOp::create(builder, type, reduced, otherDims(type.getRank(), dims));
}

Value cleave::addGradients(ImplicitLocOpBuilder &builder, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return AddOp::create(builder, a, b);
}

mlir::Type cleave::computeElementType(mlir::Type element) {
  if (llvm::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() < 32)
    return mlir::Float32Type::get(element.getContext());
  return element;
}

Value cleave::castTo(ImplicitLocOpBuilder &builder, Value value, mlir::Type element) {
  auto type = tensorTypeOf(value);
  if (type.getElementType() == element)
    return value;
  return CastOp::create(builder, type.clone(element), value);
}

Value cleave::widen(ImplicitLocOpBuilder &builder, Value value) {
  return castTo(builder, value, computeElementType(tensorTypeOf(value).getElementType()));
}

OpCost cleave::costWithFlops(mlir::Operation *op, int64_t flops) {
  OpCost cost = elementwiseCost(op);
  cost.flops = flops;
  return cost;
}

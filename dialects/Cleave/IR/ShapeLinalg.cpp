// The shape ops as linalg and tensor ops: generics if fusion must see through them, tensor ops if elements only move.
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Elementwise.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/IR/Positional.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace cleave;
using llvm::SmallVector;
using mlir::OpBuilder;
using mlir::OpFoldResult;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::ValueRange;
namespace tensor = mlir::tensor;

static Value empty(OpBuilder &b, mlir::Location loc, RankedTensorType type) {
  return tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
}

static SmallVector<OpFoldResult> indices(OpBuilder &b, llvm::ArrayRef<int64_t> values) {
  return mlir::getAsIndexOpFoldResult(b.getContext(), values);
}

// With one dimension (or none) in between, every pair of shapes can be reshaped.
static Value reshape(OpBuilder &b, mlir::Location loc, Value x, RankedTensorType to) {
  RankedTensorType from = tensorTypeOf(x);
  if (from == to)
    return x;
  if (from.getRank() != to.getRank())
    if (auto groups = mlir::getReassociationIndicesForReshape(from, to)) {
      if (from.getRank() > to.getRank())
        return tensor::CollapseShapeOp::create(b, loc, to, x, *groups);
      return tensor::ExpandShapeOp::create(b, loc, to, x, *groups);
    }
  RankedTensorType flat = to.clone({to.getNumElements()});
  return reshape(b, loc, reshape(b, loc, x, flat), to);
}

SmallVector<Value> ReshapeOp::buildLinalg(OpBuilder &b, ValueRange operands) {
  Value x = toSignless(b, getLoc(), operands[0]);
  Value result = reshape(b, getLoc(), x, signlessType(getResult().getType()));
  return {fromSignless(b, getLoc(), result, getResult().getType())};
}

SmallVector<Value> OffloadOp::buildLinalg(OpBuilder &, ValueRange operands) { return {operands[0]}; }

// Makes a generic that copies through the op's own maps.
static SmallVector<Value> copyThroughMaps(OpBuilder &b, mlir::Location loc, Value operand, RankedTensorType type,
                                          llvm::ArrayRef<mlir::AffineMap> maps,
                                          llvm::ArrayRef<mlir::utils::IteratorType> loops) {
  RankedTensorType signless = signlessType(type);
  Value x = toSignless(b, loc, operand), init = empty(b, loc, signless);
  auto copy = mlir::linalg::GenericOp::create(b, loc, signless, x, init, maps, loops,
                                              [](OpBuilder &body, mlir::Location bodyLoc, ValueRange args) {
                                                mlir::linalg::YieldOp::create(body, bodyLoc, args[0]);
                                              });
  return {fromSignless(b, loc, copy.getResult(0), type)};
}

SmallVector<Value> TransposeOp::buildLinalg(OpBuilder &b, ValueRange operands) {
  return copyThroughMaps(b, getLoc(), operands[0], getResult().getType(), getIndexingMaps(), getLoopIteratorTypes());
}

SmallVector<Value> BroadcastOp::buildLinalg(OpBuilder &b, ValueRange operands) {
  return copyThroughMaps(b, getLoc(), operands[0], getResult().getType(), getIndexingMaps(), getLoopIteratorTypes());
}

SmallVector<Value> SliceOp::buildLinalg(OpBuilder &b, ValueRange operands) {
  Value x = toSignless(b, getLoc(), operands[0]);
  Value part = tensor::ExtractSliceOp::create(b, getLoc(), signlessType(getResult().getType()), x,
                                              indices(b, getStarts()), indices(b, getSizes()), indices(b, getSteps()));
  return {fromSignless(b, getLoc(), part, getResult().getType())};
}

// Each part is inserted into what the parts before it have left: a chain. More than kLongestChain parts are first
// joined to that many longer ones, because code generation follows a chain by recursion.
static Value joinParts(OpBuilder &b, mlir::Location loc, SmallVector<Value> parts, RankedTensorType type,
                       unsigned dim) {
  constexpr size_t kLongestChain = 256;
  auto typeOf = [&](llvm::ArrayRef<Value> some) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = 0;
    for (Value part : some)
      shape[dim] += tensorTypeOf(part).getDimSize(dim);
    return type.clone(shape);
  };
  if (size_t each = llvm::divideCeil(parts.size(), kLongestChain); each > 1) {
    SmallVector<Value> joined;
    for (llvm::ArrayRef<Value> rest = parts; !rest.empty(); rest = rest.drop_front(std::min(each, rest.size()))) {
      llvm::ArrayRef<Value> some = rest.take_front(each);
      joined.push_back(joinParts(b, loc, SmallVector<Value>(some), typeOf(some), dim));
    }
    parts = std::move(joined);
  }
  Value whole = empty(b, loc, type);
  SmallVector<int64_t> starts(type.getRank(), 0), steps(type.getRank(), 1);
  for (Value part : parts) {
    auto shape = tensorTypeOf(part).getShape();
    whole =
        tensor::InsertSliceOp::create(b, loc, part, whole, indices(b, starts), indices(b, shape), indices(b, steps));
    starts[dim] += shape[dim];
  }
  return whole;
}

SmallVector<Value> ConcatOp::buildLinalg(OpBuilder &b, ValueRange operands) {
  SmallVector<Value> parts;
  for (Value operand : operands)
    parts.push_back(toSignless(b, getLoc(), operand));
  Value whole = joinParts(b, getLoc(), std::move(parts), signlessType(getResult().getType()), getDim());
  return {fromSignless(b, getLoc(), whole, getResult().getType())};
}

SmallVector<Value> PadOp::buildLinalg(OpBuilder &b, ValueRange operands) {
  RankedTensorType type = signlessType(getResult().getType());
  Value x = toSignless(b, getLoc(), operands[0]);
  double value = getValue().convertToDouble();
  mlir::TypedAttr element;
  if (llvm::isa<mlir::FloatType>(type.getElementType()))
    element = b.getFloatAttr(type.getElementType(), value);
  else
    element = b.getIntegerAttr(type.getElementType(), static_cast<int64_t>(value));
  Value fill = mlir::arith::ConstantOp::create(b, getLoc(), element);
  Value filled = mlir::linalg::FillOp::create(b, getLoc(), fill, empty(b, getLoc(), type)).getResult(0);
  SmallVector<int64_t> steps;
  for (int64_t interior : getInterior())
    steps.push_back(interior + 1);
  Value whole = tensor::InsertSliceOp::create(b, getLoc(), x, filled, indices(b, getLow()),
                                              indices(b, tensorTypeOf(x).getShape()), indices(b, steps));
  return {fromSignless(b, getLoc(), whole, getResult().getType())};
}

static Value toElement(OpBuilder &b, mlir::Location loc, Value number, mlir::Type element) {
  if (auto type = llvm::dyn_cast<mlir::FloatType>(element))
    return mlir::arith::SIToFPOp::create(b, loc, type, number);
  unsigned width = element.getIntOrFloatBitWidth();
  return width == 64 ? number : mlir::arith::TruncIOp::create(b, loc, b.getIntegerType(width), number).getResult();
}

SmallVector<Value> IotaOp::buildLinalg(OpBuilder &b, ValueRange operands) {
  RankedTensorType type = signlessType(getResult().getType());
  SmallVector<Value> inputs;
  if (getOrigin())
    inputs.push_back(originScalars(b, getLoc(), operands[0])[getDim()]);
  SmallVector<mlir::AffineMap> maps(inputs.size(), mlir::AffineMap::get(type.getRank(), 0, getContext()));
  maps.push_back(mlir::AffineMap::getMultiDimIdentityMap(type.getRank(), getContext()));
  auto generic = mlir::linalg::GenericOp::create(
      b, getLoc(), type, inputs, empty(b, getLoc(), type), maps, getLoopIteratorTypes(),
      [&](OpBuilder &body, mlir::Location loc, ValueRange args) {
        Value index = mlir::linalg::IndexOp::create(body, loc, getDim());
        index = mlir::arith::IndexCastOp::create(body, loc, body.getI64Type(), index);
        if (!inputs.empty())
          index = mlir::arith::AddIOp::create(body, loc, index, args[0]);
        mlir::linalg::YieldOp::create(body, loc, toElement(body, loc, index, type.getElementType()));
      });
  return {fromSignless(b, getLoc(), generic.getResult(0), getResult().getType())};
}

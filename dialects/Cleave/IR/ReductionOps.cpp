// cleave.reduce and cleave.argmax. The composite ops are in CompositeOps.cpp.
#include "dialects/Cleave/IR/OpSupport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::ImplicitLocOpBuilder;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::utils::IteratorType;

//===----------------------------------------------------------------------===//
// ReduceOp: types
//===----------------------------------------------------------------------===//

llvm::LogicalResult ReduceOp::inferReturnTypes(mlir::MLIRContext *, std::optional<mlir::Location> location,
                                               mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                               mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                               llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto type = tensorTypeOf(op.getOperand());
  auto emitError = [&] {
    return mlir::emitError(location.value_or(mlir::UnknownLoc::get(type.getContext()))) << "'cleave.reduce' op ";
  };
  if (mlir::failed(checkDims(op.getDims(), type.getRank(), emitError)))
    return mlir::failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : otherDims(type.getRank(), op.getDims()))
    shape.push_back(type.getDimSize(dim));
  types.push_back(type.clone(shape));
  return mlir::success();
}

static llvm::LogicalResult checkOrdered(mlir::Operation *op, Value operand) {
  mlir::Type element = tensorTypeOf(operand).getElementType();
  if (!llvm::isa<mlir::FloatType>(element) && (!element.isSignlessInteger() || element.isInteger(1)))
    return op->emitOpError() << "takes floating-point and signed integer elements, cast others first; got: " << element;
  return mlir::success();
}

llvm::LogicalResult ReduceOp::verify() { return checkOrdered(*this, getOperand()); }

mlir::OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
  if (getDims().empty())
    return getOperand();
  // Folds extrema of a splat. Sums are not folded, because count * value rounds differently from adding.
  // An empty splat has a value too, but its extremum is the identity.
  auto splat = llvm::dyn_cast_if_present<mlir::SplatElementsAttr>(adaptor.getOperand());
  if (splat && splat.getNumElements() != 0 && (getKind() == ReduceKind::Max || getKind() == ReduceKind::Min))
    return splat.resizeSplat(getType());
  if (splat && getKind() == ReduceKind::Sum && mlir::matchPattern(getOperand(), mlir::m_AnyZeroFloat()))
    return splat.resizeSplat(getType());
  return {};
}

//===----------------------------------------------------------------------===//
// ReduceOp: gradient
//===----------------------------------------------------------------------===//

// The gradient is divided among the elements that are equal to the extremum.
static Value extremumGradient(ImplicitLocOpBuilder &builder, ReduceOp op, Value grad) {
  Value x = op.getOperand();
  ArrayRef<int64_t> dims = op.getDims();
  Value isExtremum = CompareOp::create(builder, Predicate::Eq, x, repeat(builder, op.getResult(), x, dims));
  Value mask = castTo(builder, isExtremum, tensorTypeOf(x).getElementType());
  Value share = DivOp::create(builder, grad, reduceSum(builder, mask, dims));
  return MulOp::create(builder, mask, repeat(builder, share, x, dims));
}

// d(x0 x1 x2)/dx0 = x1 x2, without dividing by zeros. P is the product of the non-zero factors. If all *other* factors
// are non-zero, an element's gradient is P / itself (or P if it is zero). If another factor is zero, the gradient is 0.
static Value productGradient(ImplicitLocOpBuilder &builder, ReduceOp op, Value grad) {
  Value x = op.getOperand();
  ArrayRef<int64_t> dims = op.getDims();
  Value zero = splatLike(builder, x, 0.0);
  Value isZero = CompareOp::create(builder, Predicate::Eq, x, zero);
  Value factors = SelectOp::create(builder, isZero, splatLike(builder, x, 1.0), x);
  Value nonZeroProduct = ReduceOp::create(builder, ReduceKind::Product, factors, dims);
  Value zeros = castTo(builder, isZero, tensorTypeOf(x).getElementType());
  Value otherZeros = SubOp::create(builder, repeat(builder, reduceSum(builder, zeros, dims), x, dims), zeros);
  Value scaled = repeat(builder, MulOp::create(builder, grad, nonZeroProduct), x, dims);
  Value alone = CompareOp::create(builder, Predicate::Eq, otherZeros, zero);
  return SelectOp::create(builder, alone, DivOp::create(builder, scaled, factors), zero);
}

llvm::LogicalResult ReduceOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                       llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0] || !llvm::isa<mlir::FloatType>(getType().getElementType()))
    return mlir::success();
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  switch (getKind()) {
  case ReduceKind::Sum:
    operandGrads[0] = repeat(builder, resultGrads[0], getOperand(), getDims());
    break;
  case ReduceKind::Max:
  case ReduceKind::Min:
    operandGrads[0] = extremumGradient(builder, *this, resultGrads[0]);
    break;
  case ReduceKind::Product:
    operandGrads[0] = productGradient(builder, *this, resultGrads[0]);
    break;
  }
  return mlir::success();
}

//===----------------------------------------------------------------------===//
// ReduceOp: loops, cost, computation
//===----------------------------------------------------------------------===//

SmallVector<IteratorType> ReduceOp::getLoopIteratorTypes() {
  SmallVector<IteratorType> types(tensorTypeOf(getOperand()).getRank(), IteratorType::parallel);
  for (int64_t dim : getDims())
    types[dim] = IteratorType::reduction;
  return types;
}

static ReductionKind toReductionKind(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
    return ReductionKind::Sum;
  case ReduceKind::Max:
    return ReductionKind::Max;
  case ReduceKind::Min:
    return ReductionKind::Min;
  case ReduceKind::Product:
    return ReductionKind::Product;
  }
  llvm_unreachable("all kinds are above");
}

SmallVector<ReductionKind> ReduceOp::getReductionLoopIteratorKinds() {
  return SmallVector<ReductionKind>(getDims().size(), toReductionKind(getKind()));
}

SmallVector<AffineMap> ReduceOp::getIndexingMaps() {
  int64_t rank = tensorTypeOf(getOperand()).getRank();
  return {AffineMap::getMultiDimIdentityMap(rank, getContext()),
          loopMap(getContext(), rank, otherDims(rank, getDims()))};
}

OpCost ReduceOp::getCost() { return costWithFlops(*this, tensorTypeOf(getOperand()).getNumElements()); }

ComputeKind ReduceOp::getComputeKind() { return ComputeKind::Fusible; }

// Extrema, and all reductions of integers, are the same in every order.
bool ReduceOp::isReproducible() {
  bool isExtremum = getKind() == ReduceKind::Max || getKind() == ReduceKind::Min;
  return isExtremum || !llvm::isa<mlir::FloatType>(getType().getElementType());
}

static mlir::arith::AtomicRMWKind toAtomicKind(ReduceKind kind, bool isFloat) {
  using mlir::arith::AtomicRMWKind;
  switch (kind) {
  case ReduceKind::Sum:
    return isFloat ? AtomicRMWKind::addf : AtomicRMWKind::addi;
  case ReduceKind::Max:
    return isFloat ? AtomicRMWKind::maximumf : AtomicRMWKind::maxs;
  case ReduceKind::Min:
    return isFloat ? AtomicRMWKind::minimumf : AtomicRMWKind::mins;
  case ReduceKind::Product:
    return isFloat ? AtomicRMWKind::mulf : AtomicRMWKind::muli;
  }
  llvm_unreachable("all kinds are above");
}

// Makes an elementwise generic that rounds the f32 accumulator to the result's type.
static Value roundTo(ImplicitLocOpBuilder &builder, Value value, RankedTensorType type) {
  Value init = mlir::tensor::EmptyOp::create(builder, type.getShape(), type.getElementType());
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<IteratorType> loops(type.getRank(), IteratorType::parallel);
  auto body = [&](mlir::OpBuilder &nested, mlir::Location loc, mlir::ValueRange args) {
    Value rounded = mlir::arith::TruncFOp::create(nested, loc, type.getElementType(), args[0]);
    mlir::linalg::YieldOp::create(nested, loc, rounded);
  };
  return mlir::linalg::GenericOp::create(builder, type, value, init, maps, loops, body).getResult(0);
}

SmallVector<Value> ReduceOp::buildLinalg(mlir::OpBuilder &opBuilder, mlir::ValueRange operands) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  auto inputType = tensorTypeOf(operands[0]);
  SmallVector<int64_t> shape;
  for (int64_t dim : otherDims(inputType.getRank(), getDims()))
    shape.push_back(inputType.getDimSize(dim));
  mlir::Type element = computeElementType(inputType.getElementType());
  auto kind = toAtomicKind(getKind(), llvm::isa<mlir::FloatType>(element));

  Value empty = mlir::tensor::EmptyOp::create(builder, shape, element);
  Value identity = mlir::arith::getIdentityValue(kind, element, builder, getLoc(), /*useOnlyFiniteValue=*/false);
  Value init = mlir::linalg::FillOp::create(builder, identity, empty).getResult(0);
  auto body = [&](mlir::OpBuilder &nested, mlir::Location loc, mlir::ValueRange args) {
    Value wide = args[0];
    if (wide.getType() != element)
      wide = mlir::arith::ExtFOp::create(nested, loc, element, wide);
    mlir::linalg::YieldOp::create(nested, loc, mlir::arith::getReductionOp(kind, nested, loc, wide, args[1]));
  };
  Value result = mlir::linalg::GenericOp::create(builder, init.getType(), operands[0], init, getIndexingMaps(),
                                                 getLoopIteratorTypes(), body)
                     .getResult(0);
  if (element != inputType.getElementType())
    result = roundTo(builder, result, inputType.clone(shape));
  return {result};
}

//===----------------------------------------------------------------------===//
// ArgMaxOp
//===----------------------------------------------------------------------===//

llvm::LogicalResult ArgMaxOp::inferReturnTypes(mlir::MLIRContext *context, std::optional<mlir::Location> location,
                                               mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                               mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                               llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto type = tensorTypeOf(op.getOperand());
  int64_t dim = op.getDim();
  if (dim < 0 || dim >= type.getRank())
    return mlir::emitOptionalError(location, "'cleave.argmax' op expects dim in [0, ", type.getRank(),
                                   "), the operand's dimensions; got: ", dim);
  if (type.getDimSize(dim) == 0)
    return mlir::emitOptionalError(location, "'cleave.argmax' op expects at least one element along dim; got: ", type);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  types.push_back(RankedTensorType::get(shape, mlir::IntegerType::get(context, 64)));
  return mlir::success();
}

llvm::LogicalResult ArgMaxOp::verify() { return checkOrdered(*this, getOperand()); }

SmallVector<IteratorType> ArgMaxOp::getLoopIteratorTypes() {
  return SmallVector<IteratorType>(getType().getRank(), IteratorType::parallel);
}

SmallVector<ReductionKind> ArgMaxOp::getReductionLoopIteratorKinds() { return {}; }

SmallVector<AffineMap> ArgMaxOp::getIndexingMaps() {
  int64_t loops = getType().getRank();
  SmallVector<int64_t> operand = range(0, loops);
  operand.insert(operand.begin() + getDim(), kWhole);
  return {loopMap(getContext(), loops, operand), loopMap(getContext(), loops, range(0, loops))};
}

OpCost ArgMaxOp::getCost() { return costWithFlops(*this, tensorTypeOf(getOperand()).getNumElements()); }

ComputeKind ArgMaxOp::getComputeKind() { return ComputeKind::Kernel; }

KernelSpec ArgMaxOp::getKernelSpec() {
  ArrayRef<int64_t> shape = shapeOf(getOperand());
  int64_t dim = getDim();
  return {"argmax",
          {{"outer", {product(shape.take_front(dim))}},
           {"extent", {shape[dim]}},
           {"inner", {product(shape.drop_front(dim + 1))}}},
          {{"dtype", tensorTypeOf(getOperand()).getElementType()}}};
}

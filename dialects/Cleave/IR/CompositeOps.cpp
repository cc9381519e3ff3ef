// softmax, log_softmax and normalize: ops whose gradients are better than those of their parts.
//
// Their dimensions are loops of the result too, and the reduced ones are reduction loops of kind Generic. No collective
// can complete these, so a partitioner that wants to split one decomposes the op first.
#include "dialects/Cleave/IR/OpSupport.h"

using namespace cleave;
using llvm::ArrayRef;
using mlir::ImplicitLocOpBuilder;
using mlir::Value;
using mlir::utils::IteratorType;

static SmallVector<IteratorType> compositeLoops(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<IteratorType> types(rank, IteratorType::parallel);
  for (int64_t dim : dims)
    types[dim] = IteratorType::reduction;
  return types;
}

//===----------------------------------------------------------------------===//
// softmax and log_softmax
//===----------------------------------------------------------------------===//

static llvm::LogicalResult verifySoftmaxDim(mlir::Operation *op, Value operand, int64_t dim) {
  auto type = tensorTypeOf(operand);
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError() << "expects dim in [0, " << type.getRank() << "), the operand's dimensions; got: " << dim;
  return mlir::success();
}
llvm::LogicalResult SoftmaxOp::verify() { return verifySoftmaxDim(*this, getOperand(), getDim()); }
llvm::LogicalResult LogSoftmaxOp::verify() { return verifySoftmaxDim(*this, getOperand(), getDim()); }

// Returns x minus its maximum along `dim`, so that the exponentials cannot overflow.
static Value subtractMax(ImplicitLocOpBuilder &builder, Value x, int64_t dim) {
  Value max = ReduceOp::create(builder, ReduceKind::Max, x, ArrayRef<int64_t>{dim});
  return SubOp::create(builder, x, repeat(builder, max, x, dim));
}

SmallVector<Value> SoftmaxOp::decompose(mlir::OpBuilder &opBuilder, mlir::ValueRange operands) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  int64_t dim = getDim();
  Value exponentials = ExpOp::create(builder, subtractMax(builder, widen(builder, operands[0]), dim));
  Value sum = repeat(builder, reduceSum(builder, exponentials, dim), exponentials, dim);
  return {castTo(builder, DivOp::create(builder, exponentials, sum), getType().getElementType())};
}

SmallVector<Value> LogSoftmaxOp::decompose(mlir::OpBuilder &opBuilder, mlir::ValueRange operands) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  int64_t dim = getDim();
  Value shifted = subtractMax(builder, widen(builder, operands[0]), dim);
  Value sum = reduceSum(builder, ExpOp::create(builder, shifted), dim);
  Value logSum = repeat(builder, LogOp::create(builder, sum), shifted, dim);
  return {castTo(builder, SubOp::create(builder, shifted, logSum), getType().getElementType())};
}

// dx = y * (dy - sum(dy * y))
llvm::LogicalResult SoftmaxOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                        llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0])
    return mlir::success();
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  int64_t dim = getDim();
  Value y = widen(builder, getResult()), dy = widen(builder, resultGrads[0]);
  Value dot = reduceSum(builder, MulOp::create(builder, dy, y), dim);
  Value dx = MulOp::create(builder, y, SubOp::create(builder, dy, repeat(builder, dot, y, dim)));
  operandGrads[0] = castTo(builder, dx, getType().getElementType());
  return mlir::success();
}

// dx = dy - e^y * sum(dy)
llvm::LogicalResult LogSoftmaxOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                           llvm::SmallVectorImpl<Value> &operandGrads) {
  if (!resultGrads[0])
    return mlir::success();
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  int64_t dim = getDim();
  Value y = widen(builder, getResult()), dy = widen(builder, resultGrads[0]);
  Value sum = repeat(builder, reduceSum(builder, dy, dim), y, dim);
  Value dx = SubOp::create(builder, dy, MulOp::create(builder, ExpOp::create(builder, y), sum));
  operandGrads[0] = castTo(builder, dx, getType().getElementType());
  return mlir::success();
}

// Per element: maximum, subtraction, exponential, sum, and division or subtraction.
static OpCost softmaxCost(mlir::Operation *op, int64_t elements) { return costWithFlops(op, 5 * elements); }

#define SOFTMAX_LOOPS(Op)                                                                                              \
  SmallVector<IteratorType> Op::getLoopIteratorTypes() { return compositeLoops(getType().getRank(), getDim()); }       \
  SmallVector<ReductionKind> Op::getReductionLoopIteratorKinds() { return {ReductionKind::Generic}; }                  \
  SmallVector<AffineMap> Op::getIndexingMaps() {                                                                       \
    return SmallVector<AffineMap>(2, AffineMap::getMultiDimIdentityMap(getType().getRank(), getContext()));            \
  }                                                                                                                    \
  ComputeKind Op::getComputeKind() { return ComputeKind::Composite; }                                                  \
  OpCost Op::getCost() { return softmaxCost(*this, getType().getNumElements()); }
SOFTMAX_LOOPS(SoftmaxOp)
SOFTMAX_LOOPS(LogSoftmaxOp)
#undef SOFTMAX_LOOPS

//===----------------------------------------------------------------------===//
// normalize
//===----------------------------------------------------------------------===//

llvm::LogicalResult NormalizeOp::inferReturnTypes(mlir::MLIRContext *context, std::optional<mlir::Location> location,
                                                  mlir::ValueRange operands, mlir::DictionaryAttr attributes,
                                                  mlir::OpaqueProperties properties, mlir::RegionRange regions,
                                                  llvm::SmallVectorImpl<mlir::Type> &types) {
  Adaptor op(operands, attributes, properties, regions);
  auto type = tensorTypeOf(op.getOperand());
  auto emitError = [&] {
    return mlir::emitError(location.value_or(mlir::UnknownLoc::get(context))) << "'cleave.normalize' op ";
  };
  if (mlir::failed(checkDims(op.getDims(), type.getRank(), emitError)))
    return mlir::failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : otherDims(type.getRank(), op.getDims()))
    shape.push_back(type.getDimSize(dim));
  mlir::Type statistics = mlir::RankedTensorType::get(shape, computeElementType(type.getElementType()));
  types.assign({type, statistics, statistics});
  return mlir::success();
}

llvm::LogicalResult NormalizeOp::verify() {
  if (getDims().empty())
    return emitOpError("expects at least one dimension to normalize over; got: none");
  if (getEpsilon().isNegative() || getEpsilon().isNaN())
    return emitOpError() << "expects epsilon >= 0; got: " << getEpsilon().convertToDouble();
  return mlir::success();
}

static int64_t normalizedCount(NormalizeOp op) {
  int64_t count = 1;
  for (int64_t dim : op.getDims())
    count *= op.getResult().getType().getDimSize(dim);
  return count;
}

static Value mean(ImplicitLocOpBuilder &builder, Value value, ArrayRef<int64_t> dims, int64_t count) {
  Value sum = reduceSum(builder, value, dims);
  return MulOp::create(builder, sum, splatLike(builder, sum, 1.0 / count));
}

static double largestOf(Value value) {
  auto type = llvm::cast<mlir::FloatType>(tensorTypeOf(value).getElementType());
  return llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

// The variance is computed in two passes over memory: first the mean, then the squares of the differences. One pass,
// E[x^2] - E[x]^2, would cancel all digits if the mean is large. The second pass also adds up the differences
// themselves, whose sum the rounding of the mean has left (corrected two-pass algorithm: Chan, Golub, LeVeque, 1983).
// Without this correction all results of a group err by the same amount, which is large if the mean is much larger than
// the deviation, and which the sums of the gradients would add up.
SmallVector<Value> NormalizeOp::decompose(mlir::OpBuilder &opBuilder, mlir::ValueRange operands) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  ArrayRef<int64_t> dims = getDims();
  int64_t count = normalizedCount(*this);
  Value x = widen(builder, operands[0]);
  Value average = mean(builder, x, dims, count);
  Value centered = SubOp::create(builder, x, repeat(builder, average, x, dims));
  Value rest = mean(builder, centered, dims, count);
  Value squares = mean(builder, MulOp::create(builder, centered, centered), dims, count);
  Value correction = MulOp::create(builder, rest, rest);
  // If the squares overflow, so may the correction. The variance is infinite then, and not inf - inf.
  correction = MinOp::create(builder, correction, splatLike(builder, correction, largestOf(correction)));
  Value variance = SubOp::create(builder, squares, correction);
  variance = MaxOp::create(builder, variance, splatLike(builder, variance, 0)); // rounding may leave less than 0
  centered = SubOp::create(builder, centered, repeat(builder, rest, x, dims));
  Value shifted = AddOp::create(builder, variance, splatLike(builder, variance, getEpsilon().convertToDouble()));
  Value rstd = repeat(builder, RsqrtOp::create(builder, shifted), x, dims);
  Value result = MulOp::create(builder, centered, rstd);
  return {castTo(builder, result, getResult().getType().getElementType()), AddOp::create(builder, average, rest),
          variance};
}

// The gradient from the normalized result: rstd * (dy - mean(dy) - y * mean(dy * y)).
static Value normalizedGradient(ImplicitLocOpBuilder &builder, NormalizeOp op, Value y, Value shifted, Value dy) {
  ArrayRef<int64_t> dims = op.getDims();
  int64_t count = normalizedCount(op);
  Value meanGrad = repeat(builder, mean(builder, dy, dims, count), y, dims);
  Value meanDot = repeat(builder, mean(builder, MulOp::create(builder, dy, y), dims, count), y, dims);
  Value projected = SubOp::create(builder, SubOp::create(builder, dy, meanGrad), MulOp::create(builder, y, meanDot));
  return MulOp::create(builder, repeat(builder, RsqrtOp::create(builder, shifted), y, dims), projected);
}

// d mean / dx = 1/N; d variance / dx = 2 (x - mean) / N, where x - mean = y * sqrt(variance + epsilon).
llvm::LogicalResult NormalizeOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                          llvm::SmallVectorImpl<Value> &operandGrads) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  auto [dy, dMean, dVariance] = std::make_tuple(resultGrads[0], resultGrads[1], resultGrads[2]);
  if (!dy && !dMean && !dVariance)
    return mlir::success();
  ArrayRef<int64_t> dims = getDims();
  double perElement = 1.0 / normalizedCount(*this);
  Value y = widen(builder, getResult());
  Value dx;
  if (dy || dVariance) {
    Value epsilon = splatLike(builder, getVariance(), getEpsilon().convertToDouble());
    Value shifted = AddOp::create(builder, getVariance(), epsilon);
    if (dy)
      dx = normalizedGradient(builder, *this, y, shifted, widen(builder, dy));
    if (dVariance) {
      Value deviation = MulOp::create(builder, SqrtOp::create(builder, shifted), dVariance);
      Value scaled = MulOp::create(builder, deviation, splatLike(builder, deviation, 2 * perElement));
      dx = addGradients(builder, dx, MulOp::create(builder, y, repeat(builder, scaled, y, dims)));
    }
  }
  if (dMean) {
    Value scaled = MulOp::create(builder, dMean, splatLike(builder, dMean, perElement));
    dx = addGradients(builder, dx, repeat(builder, scaled, y, dims));
  }
  operandGrads[0] = castTo(builder, dx, getResult().getType().getElementType());
  return mlir::success();
}

SmallVector<IteratorType> NormalizeOp::getLoopIteratorTypes() {
  return compositeLoops(getResult().getType().getRank(), getDims());
}

SmallVector<ReductionKind> NormalizeOp::getReductionLoopIteratorKinds() {
  return SmallVector<ReductionKind>(getDims().size(), ReductionKind::Generic);
}

SmallVector<AffineMap> NormalizeOp::getIndexingMaps() {
  int64_t rank = getResult().getType().getRank();
  AffineMap whole = AffineMap::getMultiDimIdentityMap(rank, getContext());
  AffineMap statistics = loopMap(getContext(), rank, otherDims(rank, getDims()));
  return {whole, whole, statistics, statistics};
}

ComputeKind NormalizeOp::getComputeKind() { return ComputeKind::Composite; }

// Per element: sum, subtraction, square, two sums, subtraction, multiplication.
OpCost NormalizeOp::getCost() { return costWithFlops(*this, 7 * getResult().getType().getNumElements()); }

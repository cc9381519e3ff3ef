// Attention and its gradient in plain ops. The plain ops are the definition: the executable reference runs them, and
// kernels are tested against the same formulas.
#include "dialects/Cleave/IR/Attention.h"
#include "dialects/Cleave/IR/OpSupport.h"

#include "llvm/ADT/DenseMap.h"

#include <limits>

using namespace cleave;
using llvm::ArrayRef;
using mlir::ImplicitLocOpBuilder;
using mlir::RankedTensorType;
using mlir::Value;

static Value matmul(ImplicitLocOpBuilder &builder, Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
  return MatmulOp::create(builder, lhs, rhs, /*bias=*/Value(), transposeLhs, transposeRhs);
}

static Value scaled(ImplicitLocOpBuilder &builder, Value value, const llvm::APFloat &scale) {
  return MulOp::create(builder, value, splatLike(builder, value, scale.convertToDouble()));
}

// Returns the mask in the scores' shape.
static Value spread(ImplicitLocOpBuilder &builder, Value mask, ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorTypeOf(mask);
  SmallVector<int64_t> kept, sizes;
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    if (size == shape[d]) {
      kept.push_back(d);
      sizes.push_back(size);
    }
  if (kept.size() == shape.size())
    return mask;
  Value small = ReshapeOp::create(builder, type.clone(sizes), mask);
  return BroadcastOp::create(builder, type.clone(shape), small, kept);
}

// Returns for every score whether its row may use its column.
static Value visible(ImplicitLocOpBuilder &builder, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  Value row = IotaOp::create(builder, type, builder.getI64IntegerAttr(2), Value());
  Value column = IotaOp::create(builder, type, builder.getI64IntegerAttr(3), Value());
  return CompareOp::create(builder, Predicate::Ge, row, column);
}

template <typename Op> static Value scoresOf(ImplicitLocOpBuilder &builder, Op op, Value query, Value key, Value mask) {
  Value scores = scaled(builder, matmul(builder, query, key, false, true), op.getScale());
  if (mask) {
    Value whole = spread(builder, mask, shapeOf(scores));
    if (std::optional<llvm::APFloat> fill = op.getFill())
      scores = SelectOp::create(builder, whole, scores, splatLike(builder, scores, fill->convertToDouble()));
    else
      scores = AddOp::create(builder, scores, whole);
  }
  if (op.getCausal()) {
    Value least = splatLike(builder, scores, -std::numeric_limits<double>::infinity());
    scores = SelectOp::create(builder, visible(builder, shapeOf(scores)), scores, least);
  }
  return scores;
}

// Returns which probabilities dropout keeps; null if there is no dropout. `op` is an adaptor of either op.
template <typename Adaptor> static Value keptOf(ImplicitLocOpBuilder &builder, Adaptor op, ArrayRef<int64_t> scores) {
  if (!op.getSeed())
    return {};
  auto type = RankedTensorType::get(scores, builder.getI64Type());
  Value first = BroadcastOp::create(builder, type, op.getFirst(), ArrayRef<int64_t>{0, 1});
  Value row = IotaOp::create(builder, type, builder.getI64IntegerAttr(2), Value());
  Value column = IotaOp::create(builder, type, builder.getI64IntegerAttr(3), Value());
  Value ofRow = MulOp::create(builder, row, splatLike(builder, row, static_cast<double>(scores[3])));
  Value index = AddOp::create(builder, first, AddOp::create(builder, ofRow, column));
  Value uniform =
      RandomUniformAtOp::create(builder, type.clone(builder.getF32Type()), op.getSeed(), op.getStream(), index);
  return CompareOp::create(builder, Predicate::Ge, uniform,
                           splatLike(builder, uniform, op.getRateAttr().getValueAsDouble()));
}

// Returns probabilities after dropout, or gradients of the probabilities from gradients of the values after dropout.
static Value dropped(ImplicitLocOpBuilder &builder, Value value, Value kept, std::optional<llvm::APFloat> rate) {
  if (!kept)
    return value;
  Value larger = MulOp::create(builder, value, splatLike(builder, value, 1 / (1 - rate->convertToDouble())));
  return SelectOp::create(builder, kept, larger, splatLike(builder, value, 0));
}

SmallVector<Value> AttentionOp::decompose(mlir::OpBuilder &opBuilder, mlir::ValueRange operands) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  Adaptor given(operands, *this);
  Value scores =
      scoresOf(builder, *this, widen(builder, given.getQuery()), widen(builder, given.getKey()), given.getMask());
  Value maximum = ReduceOp::create(builder, ReduceKind::Max, scores, ArrayRef<int64_t>{3});
  Value powers = ExpOp::create(builder, SubOp::create(builder, scores, repeat(builder, maximum, scores, 3)));
  Value sum = reduceSum(builder, powers, 3);
  Value probabilities = DivOp::create(builder, powers, repeat(builder, sum, powers, 3));
  Value left = dropped(builder, probabilities, keptOf(builder, given, shapeOf(scores)), getRate());
  Value result = matmul(builder, left, widen(builder, given.getValue()), false, false);
  return {castTo(builder, result, tensorTypeOf(getResult()).getElementType()), maximum, sum};
}

// With p the probabilities and d(.) dropout: dp = d(dy v^T), ds = p * (dp - delta), dq = ds k, dk = ds^T q,
// dv = d(p)^T dy.
SmallVector<Value> AttentionGradOp::decompose(mlir::OpBuilder &opBuilder, mlir::ValueRange operands) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  Adaptor given(operands, *this);
  Value query = widen(builder, given.getQuery()), key = widen(builder, given.getKey());
  Value value = widen(builder, given.getValue()), grad = widen(builder, given.getResultGrad()), mask = given.getMask();
  Value scores = scoresOf(builder, *this, query, key, mask);
  auto along = [&](Value statistic) { return repeat(builder, statistic, scores, 3); };
  Value powers = ExpOp::create(builder, SubOp::create(builder, scores, along(given.getMaximum())));
  Value probabilities = DivOp::create(builder, powers, along(given.getSum()));
  Value kept = keptOf(builder, given, shapeOf(scores));
  Value ofProbabilities = dropped(builder, matmul(builder, grad, value, false, true), kept, getRate());
  Value differences = SubOp::create(builder, ofProbabilities, along(given.getDelta()));
  Value scoreGrad = MulOp::create(builder, probabilities, differences);
  if (getFill()) // a score that was replaced has no gradient
    scoreGrad =
        SelectOp::create(builder, spread(builder, mask, shapeOf(scores)), scoreGrad, splatLike(builder, scoreGrad, 0));
  auto narrow = [&](Value gradient) { return castTo(builder, gradient, tensorTypeOf(getQuery()).getElementType()); };
  return {narrow(scaled(builder, matmul(builder, scoreGrad, key, false, false), getScale())),
          narrow(scaled(builder, matmul(builder, scoreGrad, query, true, false), getScale())),
          narrow(matmul(builder, dropped(builder, probabilities, kept, getRate()), grad, true, false))};
}

// The gradient of the op's plain parts. The backward pass then computes with all scores. It is for gradients that
// attention_grad does not give: those of a mask, and those through the statistics.
static llvm::LogicalResult throughParts(ImplicitLocOpBuilder &builder, AttentionOp op, ArrayRef<Value> resultGrads,
                                        llvm::SmallVectorImpl<Value> &operandGrads) {
  llvm::SmallVector<mlir::Operation *> parts;
  llvm::DenseMap<Value, Value> gradients;
  mlir::Operation *before = builder.getInsertionPoint() == builder.getInsertionBlock()->begin()
                                ? nullptr
                                : &*std::prev(builder.getInsertionPoint());
  for (auto [value, gradient] : llvm::zip_equal(op.decompose(builder, op->getOperands()), resultGrads))
    gradients[value] = gradient;
  mlir::Block::iterator part = before ? std::next(before->getIterator()) : builder.getInsertionBlock()->begin();
  for (; part != builder.getInsertionPoint(); ++part)
    parts.push_back(&*part);
  for (mlir::Operation *each : llvm::reverse(parts)) {
    llvm::SmallVector<Value> given, own(each->getNumOperands());
    for (Value result : each->getResults())
      given.push_back(gradients.lookup(result));
    auto differentiable = mlir::dyn_cast<DifferentiableOpInterface>(each);
    if (!differentiable || llvm::none_of(given, [](Value gradient) { return gradient != nullptr; }))
      continue;
    if (mlir::failed(differentiable.buildVJP(builder, given, own)))
      return mlir::failure();
    for (auto [operand, gradient] : llvm::zip_equal(each->getOperands(), own))
      if (gradient)
        gradients[operand] = addGradients(builder, gradients.lookup(operand), gradient);
  }
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    operandGrads[index] = gradients.lookup(operand);
  return mlir::success();
}

llvm::LogicalResult AttentionOp::buildVJP(mlir::OpBuilder &opBuilder, ArrayRef<Value> resultGrads,
                                          llvm::SmallVectorImpl<Value> &operandGrads) {
  ImplicitLocOpBuilder builder(getLoc(), opBuilder);
  if (resultGrads[1] || resultGrads[2])
    if (mlir::failed(throughParts(builder, *this, {Value(), resultGrads[1], resultGrads[2]}, operandGrads)))
      return mlir::failure();
  Value grad = resultGrads[0];
  if (!grad)
    return mlir::success();
  Value products = MulOp::create(builder, widen(builder, getResult()), widen(builder, grad));
  Value delta = reduceSum(builder, products, 3);
  auto fused = AttentionGradOp::create(builder, getQuery(), getKey(), getValue(), getMask(), getSeed(), getStream(),
                                       getFirst(), grad, getMaximum(), getSum(), delta, getScaleAttr(), getFillAttr(),
                                       getCausalAttr(), getRateAttr());
  for (auto [index, gradient] : llvm::enumerate(fused.getResults()))
    operandGrads[index] = addGradients(builder, operandGrads[index], gradient);
  if (getMask() && !getFill()) {
    llvm::SmallVector<Value> ofMask(getNumOperands());
    if (mlir::failed(throughParts(builder, *this, {grad, Value(), Value()}, ofMask)))
      return mlir::failure();
    operandGrads[3] = addGradients(builder, operandGrads[3], ofMask[3]);
  }
  return mlir::success();
}

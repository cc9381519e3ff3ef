#include "compiler/Import/ONNX/Emitter.h"
#include "compiler/Import/ONNX/Predicates.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Scatter.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <numeric>

using namespace cleave;
using namespace cleave::onnx_import;

// As broadcastShapes(), but without a limit on the number of elements. The importer checks the results of each node
// afterwards (FunctionImporter.cpp).
static std::optional<Shape> joinShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return std::nullopt;
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

std::optional<Shape> cleave::onnx_import::broadcastShapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  std::optional<Shape> result = joinShapes(a, b);
  return result && countElements(*result) ? result : std::nullopt;
}

Shape cleave::onnx_import::reducedShape(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims, bool keepDims) {
  Shape result;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(dims, int64_t(dim)))
      result.push_back(size);
    else if (keepDims)
      result.push_back(1);
  }
  return result;
}

void Emitter::alignShapes(Value &a, Value &b) {
  if (shapeOf(a) == shapeOf(b))
    return;
  Shape shape = *joinShapes(shapeOf(a), shapeOf(b));
  a = broadcastTo(a, shape);
  b = broadcastTo(b, shape);
}

// Returns the value whose numbers these are: before integers were checked or made wider.
static Value sameNumbers(Budget &budget, Value value) {
  auto isInteger = [](Value one) { return elementOf(one).isSignlessInteger() && !elementOf(one).isInteger(1); };
  while (mlir::Operation *op = value.getDefiningOp()) {
    if (!budget.draw(Budget::Kind::Work, 1))
      break;
    bool keeps = llvm::isa<CheckIndexOp>(op);
    if (auto cast = llvm::dyn_cast<CastOp>(op))
      keeps = isInteger(value) && isInteger(cast.getOperand()) &&
              elementOf(cast.getOperand()).getIntOrFloatBitWidth() <= elementOf(value).getIntOrFloatBitWidth();
    if (!keeps)
      break;
    value = op->getOperand(0);
  }
  return value;
}

// True for positions and for constants without a negative number, in any shape.
static bool isNeverNegative(Budget &budget, Value value) {
  constexpr int64_t kMostElements = 1 << 16;
  mlir::DenseIntElementsAttr elements;
  value = sameNumbers(budget, value);
  if (!elementOf(value).isInteger(32) && !elementOf(value).isInteger(64))
    return false;
  mlir::Operation *op = value.getDefiningOp();
  while (llvm::isa_and_present<ReshapeOp, TransposeOp, BroadcastOp, SliceOp>(op) && budget.draw(Budget::Kind::Work, 1))
    op = op->getOperand(0).getDefiningOp();
  if (op && mlir::matchPattern(op, mlir::m_Constant(&elements))) {
    if (elements.isSplat())
      return !elements.getSplatValue<llvm::APInt>().isNegative();
    return elements.getNumElements() <= kMostElements &&
           budget.draw(Budget::Kind::Work, uint64_t(elements.getNumElements())) &&
           llvm::none_of(elements, [](const llvm::APInt &x) { return x.isNegative(); });
  }
  return llvm::isa_and_present<IotaOp>(op);
}

// The answer that a comparison with `number` has for all numbers from 0 on, or nothing if it differs among them.
static std::optional<bool> answerFromZero(Predicate predicate, double number) {
  bool isAlike = number < 0 || (number == 0 && (predicate == Predicate::Ge || predicate == Predicate::Lt));
  return isAlike ? std::optional(holds(predicate, 0.0, number)) : std::nullopt;
}

// Compares a choice between one negative number and numbers that are not negative with a constant that lies between
// them. Returns the choice's condition or its opposite, or null for other comparisons. Labels that count are of this
// form:
//
//   where(keep, position, -100) != -100      keep
//   where(keep, position, -100) == -100      not keep
//   where(keep, position, -100) >= 0         keep
//
// A condition belongs to its sample, and a position does not: so micro-batches know how many labels count.
static Value compareChoice(Emitter &emit, Predicate predicate, Value value, Value number) {
  constexpr double kLeast = -0x1p53; // below, two integers may be one number in f64
  auto select = sameNumbers(emit.budget, value).getDefiningOp<SelectOp>();
  auto limit = getConstantNumber(number);
  if (!select || !limit || *limit <= kLeast)
    return nullptr;
  std::optional<bool> ofOther = answerFromZero(predicate, *limit);
  auto onTrue = getConstantNumber(select.getOnTrue()), onFalse = getConstantNumber(select.getOnFalse());
  bool isOnTrue = onTrue && *onTrue < 0;
  auto known = isOnTrue ? onTrue : onFalse;
  Value other = isOnTrue ? select.getOnFalse() : select.getOnTrue();
  if (!ofOther || !known || *known >= 0 || *known <= kLeast || !isNeverNegative(emit.budget, other))
    return nullptr;
  bool ofKnown = holds(predicate, *known, *limit);
  if (ofKnown == *ofOther)
    return nullptr;
  return isOnTrue == ofKnown ? select.getCondition() : emit.unary<NotOp>(select.getCondition());
}

Value Emitter::compare(Predicate predicate, Value a, Value b) {
  alignShapes(a, b);
  if (Value condition = compareChoice(*this, predicate, a, b))
    return condition;
  if (Value condition = compareChoice(*this, exchanged(predicate), b, a))
    return condition;
  return make<CompareOp>(typeOf(a).clone(builder.getI1Type()), predicate, a, b);
}

Value Emitter::select(Value condition, Value onTrue, Value onFalse) {
  Shape shape = *joinShapes(shapeOf(onTrue), shapeOf(onFalse));
  shape = *joinShapes(shape, shapeOf(condition));
  onTrue = broadcastTo(onTrue, shape);
  return make<SelectOp>(onTrue.getType(), broadcastTo(condition, shape), onTrue, broadcastTo(onFalse, shape));
}

Value Emitter::cast(Value a, mlir::Type element) {
  return elementOf(a) == element ? a : make<CastOp>(typeOf(a).clone(element), a);
}

Value Emitter::literal(const Literal &value) { return make<ConstantOp>(value.type(), value.attribute()); }

Value Emitter::splat(double value, RankedTensorType type) {
  Literal constant(type.getElementType(), type.getShape());
  constant.push(value);
  return literal(constant);
}

Value Emitter::reshape(Value a, llvm::ArrayRef<int64_t> shape) {
  return shapeOf(a) == shape ? a : make<ReshapeOp>(typeOf(a).clone(shape), a);
}

Value Emitter::transpose(Value a, llvm::ArrayRef<int64_t> permutation) {
  if (llvm::is_sorted(permutation))
    return a;
  Shape shape;
  for (int64_t dim : permutation)
    shape.push_back(shapeOf(a)[dim]);
  return make<TransposeOp>(typeOf(a).clone(shape), a, builder.getDenseI64ArrayAttr(permutation));
}

Value Emitter::broadcastDims(Value a, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dims) {
  return shapeOf(a) == shape ? a : make<BroadcastOp>(typeOf(a).clone(shape), a, builder.getDenseI64ArrayAttr(dims));
}

Value Emitter::broadcastTo(Value a, llvm::ArrayRef<int64_t> shape) {
  if (shapeOf(a) == shape)
    return a;
  // A splat is built in the requested shape directly.
  if (auto constant = a.getDefiningOp<ConstantOp>())
    if (auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()); dense && dense.isSplat())
      return make<ConstantOp>(typeOf(a).clone(shape), dense.resizeSplat(typeOf(a).clone(shape)));
  int64_t offset = int64_t(shape.size()) - rankOf(a);
  Shape kept, dims;
  for (auto [dim, size] : llvm::enumerate(shapeOf(a)))
    if (size != 1 || shape[dim + offset] == 1) {
      kept.push_back(size);
      dims.push_back(int64_t(dim) + offset);
    }
  return broadcastDims(reshape(a, kept), shape, dims);
}

Value Emitter::slice(Value a, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<int64_t> steps) {
  if (shapeOf(a) == sizes)
    return a;
  return make<SliceOp>(typeOf(a).clone(sizes), a, builder.getDenseI64ArrayAttr(starts),
                       builder.getDenseI64ArrayAttr(sizes), builder.getDenseI64ArrayAttr(steps));
}

Value Emitter::sliceDim(Value a, int64_t dim, int64_t start, int64_t size) {
  Shape starts(rankOf(a), 0), sizes(shapeOf(a)), steps(rankOf(a), 1);
  starts[dim] = start, sizes[dim] = size;
  return slice(a, starts, sizes, steps);
}

// A plan lists the sources of all pieces of a concatenation. A value that is concatenated with itself doubles their
// number, and repeating this makes it grow exponentially, so the pieces are drawn from the budget.
constexpr uint64_t kPieceSteps = 8; // a piece takes some hundred bytes
static void drawPieces(Budget &budget, llvm::ArrayRef<Value> parts) {
  llvm::SmallVector<Value> stack(parts.begin(), parts.end());
  while (!stack.empty() && budget.draw(Budget::Kind::Work, kPieceSteps)) {
    mlir::Operation *maker = stack.pop_back_val().getDefiningOp();
    if (llvm::isa_and_nonnull<ConcatOp, ReshapeOp>(maker))
      llvm::append_range(stack, maker->getOperands());
  }
}

Value Emitter::concat(llvm::ArrayRef<Value> parts, int64_t dim) {
  if (parts.size() == 1)
    return parts[0];
  Shape shape(shapeOf(parts[0]));
  shape[dim] = 0;
  llvm::SmallVector<Value> filled;
  for (Value part : parts) {
    shape[dim] += shapeOf(part)[dim];
    if (!isEmpty(part))
      filled.push_back(part);
  }
  if (filled.empty())
    return splat(0, typeOf(parts[0]).clone(shape));
  if (filled.size() != parts.size())
    return concat(filled, dim);
  drawPieces(budget, parts);
  return make<ConcatOp>(typeOf(parts[0]).clone(shape), parts, builder.getI64IntegerAttr(dim));
}

Value Emitter::pad(Value a, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high, double value) {
  Shape shape(shapeOf(a));
  for (size_t dim = 0; dim < shape.size(); ++dim)
    shape[dim] += low[dim] + high[dim];
  if (shape == shapeOf(a))
    return a;
  if (isEmpty(a))
    return splat(value, typeOf(a).clone(shape));
  return make<PadOp>(typeOf(a).clone(shape), a, builder.getDenseI64ArrayAttr(low), builder.getDenseI64ArrayAttr(high),
                     builder.getDenseI64ArrayAttr(Shape(shape.size(), 0)), builder.getF64FloatAttr(value));
}

Value Emitter::iota(int64_t dim, RankedTensorType type) {
  return make<IotaOp>(type, builder.getI64IntegerAttr(dim), Value());
}

// Returns the result of a reduction over no elements.
static Literal neutralElement(ReduceKind kind, RankedTensorType type) {
  Literal value(type.getElementType(), type.getShape());
  bool extremum = kind == ReduceKind::Max || kind == ReduceKind::Min, isMax = kind == ReduceKind::Max;
  if (!extremum) {
    value.push(kind == ReduceKind::Product ? 1.0 : 0.0);
  } else if (llvm::isa<mlir::FloatType>(type.getElementType())) {
    double infinity = std::numeric_limits<double>::infinity();
    value.push(isMax ? -infinity : infinity);
  } else {
    unsigned width = type.getElementTypeBitWidth();
    value.push((isMax ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getSignedMaxValue(width)).getSExtValue());
  }
  return value;
}

Value Emitter::reduce(ReduceKind kind, Value a, llvm::ArrayRef<int64_t> dims, bool keepDims) {
  Shape result = reducedShape(shapeOf(a), dims, keepDims);
  if (dims.empty())
    return a;
  if (isEmpty(a))
    return literal(neutralElement(kind, typeOf(a).clone(result)));
  auto type = typeOf(a).clone(reducedShape(shapeOf(a), dims, false));
  return reshape(make<ReduceOp>(type, kind, a, builder.getDenseI64ArrayAttr(dims)), result);
}

Value Emitter::mean(Value a, llvm::ArrayRef<int64_t> dims, bool keepDims) {
  double count = 1;
  for (int64_t dim : dims)
    count *= double(shapeOf(a)[dim]);
  return div(reduce(ReduceKind::Sum, a, dims, keepDims), count);
}

Value Emitter::norm(Value squares) {
  Value zero = compare(Predicate::Eq, squares, 0.0);
  return select(zero, squares, unary<SqrtOp>(select(zero, splat(1, typeOf(squares)), squares)));
}

// Returns the operand of a transpose that only exchanges the last two dimensions, and flips `transposed`. Returns `a`
// itself if it is anything else.
static Value peelTranspose(Value a, bool &transposed) {
  auto op = a.getDefiningOp<TransposeOp>();
  if (!op || rankOf(a) < 2)
    return a;
  llvm::SmallVector<int64_t> swap(rankOf(a));
  std::iota(swap.begin(), swap.end(), 0);
  std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
  if (op.getPermutation() != llvm::ArrayRef<int64_t>(swap))
    return a;
  transposed = !transposed;
  return op.getOperand();
}

Value Emitter::matmul(Value a, Value b, bool transposeA, bool transposeB) {
  a = peelTranspose(a, transposeA);
  b = peelTranspose(b, transposeB);
  llvm::ArrayRef<int64_t> x = shapeOf(a), y = shapeOf(b);
  Shape shape(rankOf(a) >= rankOf(b) ? x.drop_back(2) : y.drop_back(2));
  shape.push_back(transposeA ? x.back() : x[x.size() - 2]);
  shape.push_back(transposeB ? y[y.size() - 2] : y.back());
  if (isEmpty(a) || isEmpty(b))
    return splat(0, typeOf(a).clone(shape));
  budget.draw(Budget::Kind::Ops, 1);
  auto op = MatmulOp::create(builder, loc, typeOf(a).clone(shape), a, b, /*bias=*/Value(), transposeA, transposeB);
  return op.getResult();
}

Emitter::Normalized Emitter::normalize(Value a, llvm::ArrayRef<int64_t> dims, double epsilon) {
  auto statistics = typeOf(a).clone(reducedShape(shapeOf(a), dims, false));
  budget.draw(Budget::Kind::Ops, 1);
  auto op = NormalizeOp::create(builder, loc, a.getType(), statistics, statistics, a,
                                builder.getDenseI64ArrayAttr(dims), builder.getF64FloatAttr(epsilon));
  return {op.getResult(), op.getMean(), op.getVariance()};
}

// Finds attention in the graphs that exporters write. The scores are read from softmax upwards, as a chain of values
// with one use each:
//
//   operand <- { dropout } <- softmax <- { + mask | select(mask, ., fill) }* <- { * number | / number }* <- product
//
// There may be casts between floating-point types anywhere. Numbers by which queries or keys are multiplied belong to
// the scale, too (exporters split it between both).
#include "dialects/Cleave/IR/Attention.h"
#include "dialects/Cleave/IR/OpSupport.h"
#include "dialects/Cleave/Transforms/AttentionDropout.h"
#include "dialects/Cleave/Transforms/AttentionMasks.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace cleave {
#define GEN_PASS_DEF_FORMATTENTION
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using mlir::ImplicitLocOpBuilder;
using mlir::RankedTensorType;
using mlir::Value;

namespace {
struct Scores {
  MatmulOp product;
  double scale = 1;
  bool isScaled = false; // by an op that was seen before: a mask further in would be scaled too
  AttentionMasks masks;
};
} // namespace

static bool isFloatCast(CastOp cast) {
  return llvm::isa<mlir::FloatType>(tensorTypeOf(cast.getOperand()).getElementType());
}

// Multiplies `scale` by the number of a product or quotient, and returns the other side; null for other ops.
static Value withoutFactor(mlir::Operation *op, double *scale) {
  if (auto mul = llvm::dyn_cast<MulOp>(op))
    for (auto [number, other] : {std::pair(mul.getLhs(), mul.getRhs()), std::pair(mul.getRhs(), mul.getLhs())})
      if (std::optional<double> factor = splatNumber(number))
        return *scale *= *factor, other;
  if (auto div = llvm::dyn_cast<DivOp>(op))
    if (std::optional<double> divisor = splatNumber(div.getRhs()); divisor && *divisor != 0)
      return *scale /= *divisor, div.getLhs();
  return {};
}

static bool readScores(Value value, Scores &scores);

static bool readAdd(AddOp add, Scores &scores) {
  for (auto [inner, mask] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    Scores found = scores;
    if (!scores.isScaled && readScores(inner, found)) {
      found.masks.add(mask);
      scores = found;
      return true;
    }
  }
  return false;
}

static bool readSelect(SelectOp select, Scores &scores) {
  for (bool keeps : {true, false}) {
    std::optional<double> fill = splatNumber(keeps ? select.getOnFalse() : select.getOnTrue());
    if (!fill || scores.isScaled || !readScores(keeps ? select.getOnTrue() : select.getOnFalse(), scores))
      continue;
    scores.masks.keep(select.getCondition(), keeps, *fill);
    return true;
  }
  return false;
}

static bool readScores(Value value, Scores &scores) {
  mlir::Operation *op = value.getDefiningOp();
  if (!op || !value.hasOneUse())
    return false;
  if (auto product = llvm::dyn_cast<MatmulOp>(op)) {
    scores.product = product;
    return !product.getBias();
  }
  if (auto cast = llvm::dyn_cast<CastOp>(op))
    return isFloatCast(cast) && readScores(cast.getOperand(), scores);
  if (auto add = llvm::dyn_cast<AddOp>(op))
    return readAdd(add, scores);
  if (auto select = llvm::dyn_cast<SelectOp>(op))
    return readSelect(select, scores);
  Value inner = withoutFactor(op, &scores.scale);
  scores.isScaled = true;
  return inner && readScores(inner, scores);
}

static Value throughCasts(Value value) {
  while (value.hasOneUse()) {
    auto cast = value.getDefiningOp<CastOp>();
    if (!cast || !isFloatCast(cast))
      break;
    value = cast.getOperand();
  }
  return value;
}

// Returns the softmax that makes the rows of `value`, perhaps before dropout.
static SoftmaxOp softmaxOf(Value value, std::optional<AttentionDropout> &dropout) {
  value = throughCasts(value);
  dropout = AttentionDropout::find(value);
  if (dropout)
    value = throughCasts(dropout->probabilities);
  return value.hasOneUse() ? value.getDefiningOp<SoftmaxOp>() : SoftmaxOp();
}

// Returns an operand of the first product without the number by which it is multiplied.
static Value withoutScale(ImplicitLocOpBuilder &builder, Value value, double *scale) {
  mlir::Type element = tensorTypeOf(value).getElementType();
  Value inner = value;
  if (auto cast = value.getDefiningOp<CastOp>(); cast && isFloatCast(cast))
    inner = cast.getOperand();
  mlir::Operation *op = inner.getDefiningOp();
  Value unscaled = op ? withoutFactor(op, scale) : Value();
  if (!unscaled)
    return value;
  if (auto cast = unscaled.getDefiningOp<CastOp>(); cast && tensorTypeOf(cast.getOperand()).getElementType() == element)
    return cast.getOperand();
  return castTo(builder, unscaled, element);
}

static Value withLastSwapped(ImplicitLocOpBuilder &builder, Value value) {
  SmallVector<int64_t> permutation = range(0, tensorTypeOf(value).getRank());
  std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose)
    return TransposeOp::create(builder, value, permutation);
  for (int64_t &dim : permutation)
    dim = transpose.getPermutation()[dim];
  if (llvm::is_sorted(permutation))
    return transpose.getOperand();
  return TransposeOp::create(builder, transpose.getOperand(), permutation);
}

// Returns the value as [batch, heads, rows, size]. Missing leading dimensions get size 1.
static Value withFourDims(ImplicitLocOpBuilder &builder, Value value) {
  RankedTensorType type = tensorTypeOf(value);
  if (type.getRank() == 4)
    return value;
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.end() - 2, 4 - type.getRank(), 1);
  return ReshapeOp::create(builder, type.clone(shape), value);
}

// True if the op's operands have the ranks that attention needs.
static bool hasOwnBatches(MatmulOp op) {
  int64_t rank = op.getType().getRank();
  return rank >= 2 && rank <= 4 && tensorTypeOf(op.getLhs()).getRank() == rank &&
         tensorTypeOf(op.getRhs()).getRank() == rank;
}

static bool formAttention(MatmulOp last) {
  std::optional<AttentionDropout> dropout;
  SoftmaxOp softmax = softmaxOf(last.getLhs(), dropout);
  if (!softmax || last.getBias() || last.getTransposeLhs() || !hasOwnBatches(last) ||
      static_cast<int64_t>(softmax.getDim()) != softmax.getType().getRank() - 1)
    return false;
  mlir::Type computed = computeElementType(last.getType().getElementType());
  if (softmax.getType().getElementTypeBitWidth() > computed.getIntOrFloatBitWidth())
    return false; // the model's type is wider than the one in which the kernel computes
  llvm::ArrayRef<int64_t> shape = softmax.getType().getShape();
  if (dropout && !dropout->hasRowsInOrder(shape[shape.size() - 2], shape.back()))
    return false;
  Scores scores;
  if (!readScores(softmax.getOperand(), scores) || !hasOwnBatches(scores.product) ||
      scores.product.getType().getElementType() != last.getType().getElementType())
    return false;
  auto mask = scores.masks.classify(shape);
  if (!mask)
    return false;

  ImplicitLocOpBuilder builder(last.getLoc(), last);
  MatmulOp first = scores.product;
  double scale = scores.scale;
  Value query = withoutScale(builder, first.getLhs(), &scale), key = withoutScale(builder, first.getRhs(), &scale);
  query = first.getTransposeLhs() ? withLastSwapped(builder, query) : query;
  key = first.getTransposeRhs() ? key : withLastSwapped(builder, key);
  Value value = last.getTransposeRhs() ? withLastSwapped(builder, last.getRhs()) : last.getRhs();
  Value masks = mask->build(builder, computed);
  mlir::FloatAttr fill = masks && mask->fill ? builder.getF64FloatAttr(*mask->fill) : mlir::FloatAttr();
  query = withFourDims(builder, query), key = withFourDims(builder, key), value = withFourDims(builder, value);
  AttentionDropout::Operands drops;
  if (dropout)
    drops = dropout->build(builder, tensorTypeOf(query).getDimSize(0), tensorTypeOf(query).getDimSize(1));
  auto attention = AttentionOp::create(builder, query, key, value, masks, drops.seed, drops.stream, drops.first,
                                       builder.getF64FloatAttr(scale), fill,
                                       mask->isCausal ? builder.getUnitAttr() : mlir::UnitAttr(),
                                       dropout ? builder.getF64FloatAttr(dropout->rate) : mlir::FloatAttr());
  attention->setDiscardableAttrs(last->getDiscardableAttrDictionary());
  Value result = attention.getResult();
  if (result.getType() != last.getType())
    result = ReshapeOp::create(builder, last.getType(), result);
  last.replaceAllUsesWith(result);
  return true;
}

// Removes an op without uses, and then the ops that are no longer used.
static void eraseUnused(mlir::Operation *op) {
  SmallVector<mlir::Operation *> stack = {op};
  while (!stack.empty()) {
    mlir::Operation *each = stack.pop_back_val();
    if (!mlir::isOpTriviallyDead(each))
      continue;
    llvm::SetVector<mlir::Operation *> makers;
    for (Value operand : each->getOperands())
      if (mlir::Operation *maker = operand.getDefiningOp())
        makers.insert(maker);
    each->erase();
    stack.append(makers.begin(), makers.end());
  }
}

namespace {
struct FormAttention : impl::FormAttentionBase<FormAttention> {
  void runOnOperation() override {
    SmallVector<MatmulOp> products;
    getOperation().walk([&](MatmulOp op) { products.push_back(op); });
    SmallVector<MatmulOp> replaced;
    for (MatmulOp op : products)
      if (formAttention(op))
        replaced.push_back(op);
    for (MatmulOp op : replaced)
      eraseUnused(op);
    if (!replaced.empty())
      eraseUnreadConstants(getOperation());
  }

  static void eraseUnreadConstants(mlir::ModuleOp module) {
    llvm::StringSet<> read;
    module.walk([&](ReadOp op) { read.insert(op.getState()); });
    for (auto state : llvm::make_early_inc_range(module.getOps<StateOp>()))
      if (state.getRole() == Role::Constant && !read.contains(state.getSymName()))
        state.erase();
  }
};
} // namespace

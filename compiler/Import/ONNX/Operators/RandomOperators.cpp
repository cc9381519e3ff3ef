// Imports operators that draw random numbers: RandomUniform, RandomNormal, their -Like forms, Bernoulli, Multinomial.
//
// All of them use the dialect's counter-based generator. So the number of an element depends on the seed, the step, the
// node and the element's position in the whole tensor, and not on the sharding. The seed is that of the run (train
// --seed), or the attribute `seed`. Programs that do not train have a seed of their own, and a step for each run
// (runtime/session/DrawnNumbers.h).
#include "compiler/Import/ONNX/Operators/OperatorTable.h"

#include "runtime/plan/ScalarNames.h"
#include "llvm/ADT/bit.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using mlir::RankedTensorType;

namespace {

Value seedOf(OpContext &op) {
  if (!op.attribute("seed"))
    return op.environment().readScalar(rt::kSeedScalar);
  auto bits = llvm::bit_cast<uint32_t>(float(op.floatAttr("seed", 0)));
  return op.emit.literal(Literal::ofInts(op.emit.i64(), {}, {int64_t(bits)}));
}

// Draws uniform numbers in [0, 1) of this type, with a site of their own.
Value drawFractions(OpContext &op, RankedTensorType type) {
  mlir::OpBuilder &b = op.emit.builder;
  return op.emit.make<RandomUniformOp>(type, seedOf(op), op.environment().readScalar(rt::kStepScalar), Value(),
                                       b.getI64IntegerAttr(op.takeSite()), b.getDenseI64ArrayAttr(type.getShape()));
}

// Returns the result's type: `dtype`, or that of `like`, or f32 without either. Returns null, with a message, if
// numbers of this type cannot be drawn.
RankedTensorType drawnType(OpContext &op, llvm::ArrayRef<int64_t> shape, mlir::Type like) {
  mlir::Type element = like ? like : op.emit.builder.getF32Type();
  if (int64_t dtype = op.intAttr("dtype", 0)) {
    element = elementTypeOf(op.emit.context(), int(dtype));
    if (!element)
      return (void)op.fail("its dtype " + dataTypeName(int(dtype)) + " is not supported"), RankedTensorType();
  }
  if (!llvm::isa<mlir::FloatType>(element))
    return (void)op.fail("draws floating-point numbers; its dtype is another one"), RankedTensorType();
  return RankedTensorType::get(shape, element);
}

RankedTensorType givenType(OpContext &op) {
  auto shape = op.intsAttr("shape");
  if (!shape || !countElements(*shape))
    return (void)op.fail("`shape` is missing, negative somewhere or too large"), RankedTensorType();
  return drawnType(op, *shape, {});
}

RankedTensorType likeType(OpContext &op) {
  RankedTensorType like = typeOf(op.value(0));
  return drawnType(op, like.getShape(), like.getElementType());
}

// low + (high - low) * u.
LogicalResult uniform(OpContext &op, RankedTensorType type) {
  if (!type)
    return failure();
  double low = op.floatAttr("low", 0), high = op.floatAttr("high", 1);
  Value numbers = drawFractions(op, type);
  if (high - low != 1)
    numbers = op.emit.mul(numbers, high - low);
  return op.result(low == 0 ? numbers : op.emit.add(numbers, low));
}

// Box-Muller transform: sqrt(-2 ln(1 - u)) cos(2 pi v), u and v uniform in [0, 1). It is computed in f32 or wider, so
// that the logarithm gets all 24 bits of 1 - u. In f32 the largest number is 5.8.
LogicalResult normal(OpContext &op, RankedTensorType type) {
  if (!type)
    return failure();
  Emitter &emit = op.emit;
  mlir::Type element = type.getElementType();
  auto wide = type.clone(element.getIntOrFloatBitWidth() < 32 ? emit.builder.getF32Type() : element);
  Value rest = emit.add(emit.neg(drawFractions(op, wide)), 1);
  Value radius = emit.unary<SqrtOp>(emit.mul(emit.unary<LogOp>(rest), -2));
  Value angle = emit.mul(drawFractions(op, wide), 6.283185307179586);
  Value numbers = emit.mul(radius, emit.unary<CosOp>(angle));
  if (double scale = op.floatAttr("scale", 1); scale != 1)
    numbers = emit.mul(numbers, scale);
  if (double mean = op.floatAttr("mean", 0); mean != 0)
    numbers = emit.add(numbers, mean);
  return op.result(emit.cast(numbers, element));
}

LogicalResult importRandomUniform(OpContext &op) { return uniform(op, givenType(op)); }
LogicalResult importRandomUniformLike(OpContext &op) { return uniform(op, likeType(op)); }
LogicalResult importRandomNormal(OpContext &op) { return normal(op, givenType(op)); }
LogicalResult importRandomNormalLike(OpContext &op) { return normal(op, likeType(op)); }

// Returns 1 with the probability that the input's element gives. It has no gradient, as in PyTorch.
LogicalResult importBernoulli(OpContext &op) {
  Value probability = op.value(0);
  if (failed(op.expectFloat(probability)))
    return failure();
  mlir::Type element = elementOf(probability);
  if (int64_t dtype = op.intAttr("dtype", 0))
    element = elementTypeOf(op.emit.context(), int(dtype));
  if (!element)
    return op.fail("its dtype is not supported");
  auto wide = typeOf(probability).clone(op.emit.builder.getF32Type());
  Value drawn =
      op.emit.compare(Predicate::Lt, drawFractions(op, wide), op.emit.cast(probability, wide.getElementType()));
  return op.result(op.emit.cast(drawn, element));
}

// Draws classes. The rows contain the logarithms of the probabilities, up to a constant. The class with the largest
// score - log(-log u), u uniform, has the given probability (Gumbel-max trick).
LogicalResult importMultinomial(OpContext &op) {
  Value scores = op.value(0);
  int64_t count = op.intAttr("sample_size", 1);
  mlir::Type element = elementTypeOf(op.emit.context(), int(op.intAttr("dtype", 6)));
  if (failed(op.expectRank(scores, 2, 2)))
    return failure();
  Shape all{shapeOf(scores)[0], count, shapeOf(scores)[1]};
  if (count < 1 || isEmpty(scores) || !countElements(all) || !element)
    return op.fail("expected scores [batch, classes] with elements, a sample_size of 1 or more and a type of integers; "
                   "got scores " +
                   formatShape(shapeOf(scores)) + " and a sample_size of " + llvm::Twine(count));
  Emitter &emit = op.emit;
  auto type = RankedTensorType::get(all, emit.builder.getF32Type());
  Value rest = emit.add(emit.neg(drawFractions(op, type)), 1); // in (0, 1]
  // With an exponential of 0 the noise would be infinite, and its class would be drawn whatever its score is.
  Value exponential = emit.atLeast(emit.neg(emit.unary<LogOp>(rest)), std::ldexp(1.0, -25));
  Value noise = emit.neg(emit.unary<LogOp>(exponential));
  Value spread = emit.broadcastDims(emit.cast(scores, type.getElementType()), all, {0, 2});
  auto indices = RankedTensorType::get({all[0], count}, emit.i64());
  Value drawn = emit.make<ArgMaxOp>(indices, emit.add(spread, noise), emit.builder.getI64IntegerAttr(2));
  return op.result(emit.cast(drawn, element));
}

} // namespace

void cleave::onnx_import::addRandomOperators(OperatorTable &table) {
  table.add("Bernoulli", 15, importBernoulli);
  table.add("Multinomial", 13, importMultinomial);
  table.add("RandomNormal", 13, importRandomNormal);
  table.add("RandomNormalLike", 13, importRandomNormalLike);
  table.add("RandomUniform", 13, importRandomUniform);
  table.add("RandomUniformLike", 13, importRandomUniformLike);
}

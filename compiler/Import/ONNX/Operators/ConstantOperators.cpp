// Imports operators whose result is known at import: Constant, ConstantOfShape, Shape, Size, Range, Identity, EyeLike,
// NonZero.
#include "compiler/Import/ONNX/Evaluate.h"
#include "compiler/Import/ONNX/File/TensorReader.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/StaticOperands.h"

#include <cmath>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;

namespace {

LogicalResult defineTensor(OpContext &op, const onnx::TensorProto &tensor) {
  auto value = op.tensors.readLiteral(tensor);
  if (!value)
    return op.fail("its tensor cannot be read: " + llvm::toString(value.takeError()));
  return op.result(std::move(*value));
}

LogicalResult importConstant(OpContext &op) {
  mlir::Builder &builder = op.emit.builder;
  if (const auto *value = op.attribute("value"); value && value->has_t())
    return defineTensor(op, value->t());
  if (auto value = op.floatAttr("value_float"))
    return op.result(Literal::ofReals(builder.getF32Type(), {}, {*value}));
  if (auto value = op.intAttr("value_int"))
    return op.result(Literal::ofInts(builder.getI64Type(), {}, {*value}));
  // The node may be in a loop, whose turns copy it.
  if (const auto *value = op.attribute("value_ints")) {
    if (!op.emit.budget.draw(Budget::Kind::Elements, uint64_t(value->ints_size())))
      return failure();
    return op.result(Literal::vector(op.emit.context(), *op.intsAttr("value_ints")));
  }
  if (const auto *value = op.attribute("value_floats")) {
    if (!op.emit.budget.draw(Budget::Kind::Elements, uint64_t(value->floats_size())))
      return failure();
    std::vector<double> reals(value->floats().begin(), value->floats().end());
    return op.result(Literal::ofReals(builder.getF32Type(), {int64_t(reals.size())}, reals));
  }
  return op.fail("has no tensor or number as its value; strings and sparse tensors are not supported");
}

LogicalResult importConstantOfShape(OpContext &op) {
  auto shape = op.ints("shape", 0);
  if (failed(shape))
    return failure();
  if (!countElements(**shape))
    return op.fail("the shape " + formatShape(**shape) + " is negative somewhere or too large");
  Literal value = Literal::ofReals(op.emit.builder.getF32Type(), {}, {0.0});
  if (const auto *given = op.attribute("value"); given && given->has_t()) {
    if (failed(defineTensor(op, given->t())))
      return failure();
    value = *op.environment().binding(op.outputName(0)).known;
    if (value.numElements() != 1)
      return op.fail("`value` must have one element; got shape " + formatShape(value.shape()));
  }
  return op.result(value.withShape(**shape));
}

LogicalResult importShape(OpContext &op) {
  llvm::ArrayRef<int64_t> shape = op.literal(0) ? op.literal(0)->shape() : shapeOf(op.value(0));
  int64_t rank = int64_t(shape.size());
  auto clamp = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  int64_t start = clamp(op.intAttr("start", 0)), end = clamp(op.intAttr("end", rank));
  return op.result(Literal::vector(op.emit.context(), shape.slice(start, std::max<int64_t>(end - start, 0))));
}

LogicalResult importSize(OpContext &op) {
  return op.result(Literal::ofInts(op.emit.i64(), {}, {typeOf(op.value(0)).getNumElements()}));
}

constexpr int64_t kMostElements = int64_t(1) << 40; // of a range

// Returns the number of elements, ceil((limit - start) / delta), at least 0. Returns nullopt if this is not a number,
// or too large. Integers are counted exactly, because a double cannot represent all of them beyond 2^53.
std::optional<int64_t> rangeLength(const Literal &start, const Literal &limit, const Literal &delta) {
  if (delta.asReal(0) == 0)
    return std::nullopt;
  if (start.isFloat()) {
    double count = std::ceil((limit.asReal(0) - start.asReal(0)) / delta.asReal(0));
    if (!(count <= double(kMostElements)))
      return std::nullopt;
    return int64_t(std::max(count, 0.0)); // the count may be -infinity
  }
  using Wide = __int128;
  Wide span = Wide(limit.asInt(0)) - start.asInt(0), by = delta.asInt(0);
  if (span == 0 || (span < 0) != (by < 0))
    return 0;
  Wide count = (span + by - (by < 0 ? -1 : 1)) / by;
  return count <= kMostElements ? std::optional(int64_t(count)) : std::nullopt;
}

// Returns start + index * delta. Floating-point ranges are computed in f64, like known ranges, and rounded once. A
// narrow type cannot represent all indices (f16 ends at 65504, and has only even numbers from 2048 on).
Value computedRange(Emitter &emit, const Literal &start, const Literal &delta, int64_t count) {
  mlir::Type wide = start.isFloat() ? mlir::Type(emit.builder.getF64Type()) : start.element();
  auto number = [&](const Literal &given) { return emit.literal(given.withShape({}).withElement(wide)); };
  Value index = emit.cast(emit.iota(0, RankedTensorType::get({count}, emit.i64())), wide);
  return emit.cast(emit.add(emit.mul(index, number(delta)), number(start)), start.element());
}

LogicalResult importRange(OpContext &op) {
  StaticOperand start = staticOperand(op, 0), limit = staticOperand(op, 1), delta = staticOperand(op, 2);
  if (!start || !limit || !delta || start->numElements() != 1 || limit->numElements() != 1 || delta->numElements() != 1)
    return op.fail("start, limit and delta must be numbers known at compile time");
  std::optional<int64_t> count = rangeLength(*start.value, *limit.value, *delta.value);
  if (!count)
    return op.fail("the range has delta 0 or more than 2^40 elements");
  if (int64_t stash = op.intAttr("stash_type", 1); stash != 1 && stash != 11)
    return op.fail("`stash_type` " + llvm::Twine(stash) + " is not known; expected 1 (float) or 11 (double)");
  if (*count > Literal::kMaxElements) // the program computes it, because large constants are not stored
    return op.result(computedRange(op.emit, *start.value, *delta.value, *count));
  Literal result(start->element(), {*count});
  if (!mayEvaluate(op.emit.context(), result.shape()))
    return failure();
  for (int64_t i = 0; i < *count; ++i) {
    if (start->isFloat())
      result.push(start->asReal(0) + double(i) * delta->asReal(0));
    else
      result.push(int64_t(uint64_t(start->asInt(0)) + uint64_t(i) * uint64_t(delta->asInt(0))));
  }
  return op.result(std::move(result));
}

// The operand must be known, because the number of its nonzero elements decides the shape of the result.
LogicalResult importNonZero(OpContext &op) {
  StaticOperand x = staticOperand(op, 0);
  if (!x || !mayEvaluate(op.emit.context(), x->shape()))
    return op.fail("its result's shape depends on the model's inputs, and every shape must be known at compile time");
  std::vector<Shape> found;
  int64_t at = 0;
  forEachIndex(x->shape(), [&](llvm::ArrayRef<int64_t> index) {
    if (x->isFloat() ? x->asReal(at) != 0 : x->asInt(at) != 0)
      found.emplace_back(index);
    ++at;
  });
  Literal result(op.emit.i64(), {x->rank(), int64_t(found.size())});
  for (int64_t dim = 0; dim < x->rank(); ++dim)
    for (const Shape &index : found)
      result.push(index[size_t(dim)]);
  return op.result(std::move(result));
}

// Binds the output to the input's binding, so that a state stays a state, and a known value stays known.
LogicalResult importIdentity(OpContext &op) {
  Binding binding = op.environment().binding(op.inputName(0));
  op.define(0, std::move(binding));
  return success();
}

LogicalResult importEyeLike(OpContext &op) {
  Value like = op.value(0);
  if (failed(op.expectRank(like, 2, 2)))
    return failure();
  auto dtype = op.intAttr("dtype");
  mlir::Type element = dtype ? elementTypeOf(op.emit.context(), int(*dtype)) : elementOf(like);
  if (!element)
    return op.fail("dtype " + llvm::Twine(*dtype) + " is not supported");
  auto indices = typeOf(like).clone(op.emit.i64());
  Value row = op.emit.add(op.emit.iota(0, indices), double(op.intAttr("k", 0)));
  Value equal = op.emit.compare(Predicate::Eq, row, op.emit.iota(1, indices));
  return op.result(op.emit.cast(equal, element));
}

} // namespace

void cleave::onnx_import::addConstantOperators(OperatorTable &table) {
  table.add("Constant", 13, importConstant);
  table.add("ConstantOfShape", 13, importConstantOfShape);
  table.add("Shape", 13, importShape);
  table.add("Size", 13, importSize);
  table.add("Range", 13, importRange);
  table.add("Identity", 13, importIdentity);
  table.add("EyeLike", 13, importEyeLike);
  table.add("NonZero", 13, importNonZero);
}

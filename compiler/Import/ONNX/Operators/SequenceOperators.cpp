// Imports operators on sequences. Sequences exist only inside the importer. PyTorch's exporter splits a tensor into a
// sequence, and takes the parts out again.
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "compiler/Import/ONNX/Operators/Stacking.h"
#include "compiler/Import/ONNX/StaticOperands.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

constexpr int64_t kMostParts = 4096;

LogicalResult tooManyParts(OpContext &op, int64_t parts) {
  return op.fail("a sequence has at most " + llvm::Twine(kMostParts) + " parts; got: " + llvm::Twine(parts));
}

// Returns the sizes of the parts. A single number is the size of each part, a vector lists them.
FailureOr<Shape> partSizes(OpContext &op, int64_t size) {
  if (!op.has(1))
    return Shape(size, 1);
  StaticOperand split = staticOperand(op, 1);
  if (!split)
    return op.fail("`split` must be known at compile time");
  if (split->isFloat() || split->rank() > 1)
    return op.fail("`split` must be an integer, or a list of integers");
  Shape sizes;
  if (split->rank() == 0) {
    int64_t chunk = split->asInt(0);
    if (chunk < 1)
      return op.fail("parts must have at least 1 element; got: " + llvm::Twine(chunk));
    if (int64_t parts = size / chunk + (size % chunk != 0); parts > kMostParts)
      return tooManyParts(op, parts);
    for (int64_t at = 0; at < size; at += chunk)
      sizes.push_back(std::min(chunk, size - at));
    return sizes;
  }
  if (split->numElements() > kMostParts)
    return tooManyParts(op, split->numElements());
  int64_t total = 0;
  for (int64_t part : split->ints()) {
    if (part < 0 || part > size)
      return op.fail("part sizes must lie between 0 and " + llvm::Twine(size));
    sizes.push_back(part);
    total += part;
  }
  if (total != size)
    return op.fail("part sizes " + formatShape(sizes) + " must add up to " + llvm::Twine(size));
  return sizes;
}

LogicalResult importSplitToSequence(OpContext &op) {
  Value x = op.value(0);
  auto dim = op.axis(op.intAttr("axis", 0), rankOf(x));
  if (failed(dim))
    return failure();
  if (!op.has(1) && shapeOf(x)[*dim] > 4096)
    return op.fail("a dimension of " + llvm::Twine(shapeOf(x)[*dim]) + " gives too many parts");
  auto sizes = partSizes(op, shapeOf(x)[*dim]);
  if (failed(sizes))
    return failure();
  bool drop = !op.has(1) && op.intAttr("keepdims", 1) == 0;
  Binding::Sequence parts;
  int64_t start = 0;
  for (int64_t size : *sizes) {
    Value part = op.emit.sliceDim(x, *dim, start, size);
    if (drop)
      part = op.emit.reshape(part, reducedShape(shapeOf(x), {*dim}, false));
    parts.push_back(std::make_shared<const Binding>(Binding::computed(part)));
    start += size;
  }
  op.define(0, Binding::sequence(std::move(parts)));
  return success();
}

LogicalResult importSequenceConstruct(OpContext &op) {
  Binding::Sequence elements;
  for (size_t i = 0; i < op.numInputs(); ++i)
    elements.push_back(std::make_shared<const Binding>(op.environment().binding(op.inputName(i))));
  op.define(0, Binding::sequence(std::move(elements)));
  return success();
}

LogicalResult importSequenceEmpty(OpContext &op) {
  op.define(0, Binding::sequence({}));
  return success();
}

// Returns input `i` as a position in a sequence of `size` elements. -1 is the last position. If the input is omitted,
// the position is `otherwise`. If `inclusive`, the position after the last one is permitted, too.
FailureOr<size_t> position(OpContext &op, size_t i, int64_t size, int64_t otherwise, bool inclusive = false) {
  StaticOperand given = staticOperand(op, i);
  if (op.has(i) && (!given || given->numElements() != 1))
    return op.fail("expected a position known at compile time");
  int64_t at = given ? given->asInt(0) : otherwise;
  if (at < -size || at >= size + (inclusive ? 1 : 0))
    return op.fail("position " + llvm::Twine(at) + " is outside of a sequence of " + llvm::Twine(size));
  return size_t(at < 0 ? at + size : at);
}

// Returns a copy of the sequence, with room for one more element. Its elements are drawn from the budget.
FailureOr<Binding::Sequence> copied(OpContext &op) {
  const Binding::Sequence *elements = op.sequence(0);
  if (!elements)
    return op.fail("expected a sequence");
  if (!op.emit.budget.draw(Budget::Kind::Work, 1 + elements->size()))
    return failure();
  Binding::Sequence copy;
  copy.reserve(elements->size() + 1);
  llvm::append_range(copy, *elements);
  return copy;
}

LogicalResult importSequenceInsert(OpContext &op) {
  auto elements = copied(op);
  if (failed(elements))
    return failure();
  auto at = position(op, 2, int64_t(elements->size()), int64_t(elements->size()), /*inclusive=*/true);
  if (failed(at))
    return failure();
  elements->insert(elements->begin() + int64_t(*at),
                   std::make_shared<const Binding>(op.environment().binding(op.inputName(1))));
  op.define(0, Binding::sequence(std::move(*elements)));
  return success();
}

LogicalResult importSequenceErase(OpContext &op) {
  auto elements = copied(op);
  if (failed(elements))
    return failure();
  auto at = position(op, 1, int64_t(elements->size()), -1);
  if (failed(at))
    return failure();
  elements->erase(elements->begin() + int64_t(*at));
  op.define(0, Binding::sequence(std::move(*elements)));
  return success();
}

LogicalResult importSequenceAt(OpContext &op) {
  const Binding::Sequence *elements = op.sequence(0);
  if (!elements)
    return op.fail("expected a sequence");
  auto at = position(op, 1, int64_t(elements->size()), -1);
  if (failed(at))
    return failure();
  op.define(0, *(*elements)[*at]);
  return success();
}

LogicalResult importSequenceLength(OpContext &op) {
  const Binding::Sequence *elements = op.sequence(0);
  if (!elements)
    return op.fail("expected a sequence");
  return op.result(Literal::ofInts(op.emit.i64(), {}, {int64_t(elements->size())}));
}

LogicalResult importConcatFromSequence(OpContext &op) {
  const Binding::Sequence *elements = op.sequence(0);
  if (!elements || elements->empty())
    return op.fail("expected a sequence that is not empty");
  bool isNew = op.intAttr("new_axis", 0) != 0;
  llvm::SmallVector<Value> parts;
  for (const auto &element : *elements) {
    Binding copy = *element;
    parts.push_back(op.environment().materialize(copy));
  }
  auto dim = op.axis(op.intAttr("axis", 0), rankOf(parts[0]) + (isNew ? 1 : 0));
  if (failed(dim))
    return failure();
  for (Value &part : parts)
    if (isNew && rankOf(part) >= *dim)
      part = unsqueeze(op.emit, part, *dim);
  for (Value part : parts)
    if (elementOf(part) != elementOf(parts[0]) ||
        reducedShape(shapeOf(part), {*dim}, true) != reducedShape(shapeOf(parts[0]), {*dim}, true))
      return op.fail("the sequence's tensors must have one type, and equal sizes in all dimensions except " +
                     llvm::Twine(*dim) + "; got shapes " + formatShape(shapeOf(parts[0])) + " and " +
                     formatShape(shapeOf(part)));
  return op.result(op.emit.concat(parts, *dim));
}

} // namespace

void cleave::onnx_import::addSequenceOperators(OperatorTable &table) {
  table.add("SplitToSequence", 13, importSplitToSequence);
  table.add("SequenceEmpty", 13, importSequenceEmpty);
  table.add("SequenceInsert", 13, importSequenceInsert);
  table.add("SequenceErase", 13, importSequenceErase);
  table.add("SequenceConstruct", 13, importSequenceConstruct);
  table.add("SequenceAt", 13, importSequenceAt);
  table.add("SequenceLength", 13, importSequenceLength);
  table.add("ConcatFromSequence", 13, importConcatFromSequence);
}

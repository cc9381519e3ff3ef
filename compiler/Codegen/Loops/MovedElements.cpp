// ElementEmitter: ops that move elements. An element of the result is read directly from the operand, at the index from
// which it comes.
#include "compiler/Codegen/Loops/ElementEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cleave;

ElementEmitter::Indices ElementEmitter::fullIndices(Value tensor, ArrayRef<Element> indices) {
  Indices full(cast<RankedTensorType>(tensor.getType()).getRank(), constantIndex(0));
  for (auto [leader, index] : llvm::zip(graph.leadersOf(tensor), indices))
    full[leader] = index;
  return full;
}

Element ElementEmitter::pullFull(Value tensor, ArrayRef<Element> full) {
  Indices indices;
  for (unsigned leader : graph.leadersOf(tensor))
    indices.push_back(full[leader]);
  return pull(tensor, indices);
}

Element ElementEmitter::pullMoved(Operation *op, ArrayRef<Element> full) {
  return TypeSwitch<Operation *, Element>(op)
      .Case([&](tensor::EmptyOp empty) {
        return constant(scopes.at(0).getZeroAttr(computeType(empty.getType().getElementType())));
      })
      .Case([&](tensor::ExtractSliceOp slice) { return pullSlice(slice, full); })
      .Case([&](tensor::InsertSliceOp insert) { return pullInserted(insert, full); })
      .Case([&](tensor::PadOp pad) { return pullPadded(pad, full); })
      .Case([&](tensor::ConcatOp concat) { return pullConcat(concat, full); })
      .Case([&](tensor::ExpandShapeOp expand) {
        Indices source;
        for (const ReassociationIndices &group : expand.getReassociationIndices()) {
          Element index = constantIndex(0);
          for (int64_t dim : group) {
            int64_t size = expand.getResultType().getDimSize(dim);
            index = addIndices(multiplyIndices(index, constantIndex(size)), full[dim]);
          }
          source.push_back(index);
        }
        return pullFull(expand.getSrc(), source);
      })
      .Case([&](tensor::CollapseShapeOp collapse) {
        Indices source(collapse.getSrcType().getRank(), constantIndex(0));
        for (auto [index, group] : llvm::zip(full, collapse.getReassociationIndices())) {
          Element rest = index;
          for (int64_t dim : llvm::reverse(group)) {
            Element size = constantIndex(collapse.getSrcType().getDimSize(dim));
            bool outermost = dim == group.front();
            source[dim] = outermost ? rest : binary<arith::RemUIOp>(rest, size);
            rest = outermost ? rest : binary<arith::DivUIOp>(rest, size);
          }
        }
        return pullFull(collapse.getSrc(), source);
      })
      .Default([&](Operation *other) { return fail(other, "is not an op that kernels can be made of"); });
}

Element ElementEmitter::select(Element condition, Element a, Element b) {
  unsigned depth = std::max({condition.depth, a.depth, b.depth});
  return {arith::SelectOp::create(scopes.at(depth), location, condition.value, a.value, b.value), depth};
}

Element ElementEmitter::clamp(Element index, int64_t low, int64_t high) {
  return binary<arith::MinSIOp>(binary<arith::MaxSIOp>(index, constantIndex(low)), constantIndex(high));
}

// Returns condition and low <= index < high, with one comparison of unsigned numbers.
Element ElementEmitter::isBetween(Element index, int64_t low, int64_t high, Element condition) {
  Element shifted = binary<arith::SubIOp>(index, constantIndex(low));
  Element inside{arith::CmpIOp::create(scopes.at(shifted.depth), location, arith::CmpIPredicate::ult, shifted.value,
                                       constantIndex(high - low).value),
                 shifted.depth};
  return condition.value ? binary<arith::AndIOp>(condition, inside) : inside;
}

// A dimension that the slice drops (of size 1) is read at its offset.
Element ElementEmitter::pullSlice(tensor::ExtractSliceOp op, ArrayRef<Element> full) {
  if (!op.getOffsets().empty() || !op.getStrides().empty())
    return fail(op, "only slices with constant offsets can be compiled");
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Indices source;
  size_t next = 0;
  for (auto [dim, offset, stride] : llvm::enumerate(op.getStaticOffsets(), op.getStaticStrides())) {
    Element index = dropped.test(dim) ? constantIndex(0) : full[next++];
    source.push_back(addIndices(multiplyIndices(index, constantIndex(stride)), constantIndex(offset)));
  }
  return pullFull(op.getSource(), source);
}

// Reads both operands, the inserted one at a clamped index. This vectorizes, and a branch would not.
Element ElementEmitter::pullInserted(tensor::InsertSliceOp op, ArrayRef<Element> full) {
  if (op.getSourceType().getRank() != op.getType().getRank() || !op.getOffsets().empty() || !op.getStrides().empty())
    return fail(op, "only insertions of equal rank and constant offsets can be compiled");
  Element inside;
  Indices source;
  for (auto [index, offset, stride, size] :
       llvm::zip(full, op.getStaticOffsets(), op.getStaticStrides(), op.getSourceType().getShape())) {
    inside = isBetween(index, offset, offset + (size - 1) * stride + 1, inside);
    Element at = clamp(binary<arith::SubIOp>(index, constantIndex(offset)), 0, (size - 1) * stride);
    if (stride != 1) {
      Element rest = binary<arith::RemUIOp>(at, constantIndex(stride));
      inside = isBetween(rest, 0, 1, inside);
      at = binary<arith::DivUIOp>(at, constantIndex(stride));
    }
    source.push_back(at);
  }
  Element inserted = pullFull(op.getSource(), source), around = pullFull(op.getDest(), full);
  return inside.value ? select(inside, inserted, around) : inserted;
}

Element ElementEmitter::pullPadded(tensor::PadOp op, ArrayRef<Element> full) {
  Value padding = op.getConstantPaddingValue();
  if (!padding || !op.getLow().empty() || !op.getHigh().empty())
    return fail(op, "only constant padding can be compiled");
  Element inside;
  Indices source;
  for (auto [index, low, size] : llvm::zip(full, op.getStaticLow(), op.getSourceType().getShape())) {
    inside = isBetween(index, low, low + size, inside);
    source.push_back(clamp(binary<arith::SubIOp>(index, constantIndex(low)), 0, size - 1));
  }
  Attribute value;
  if (!matchPattern(padding, m_Constant(&value)))
    return fail(op, "the padding value must be a constant");
  Element element = pullFull(op.getSource(), source);
  return inside.value ? select(inside, element, constant(cast<TypedAttr>(value))) : element;
}

Element ElementEmitter::pullConcat(tensor::ConcatOp op, ArrayRef<Element> full) {
  int64_t dim = op.getDim(), begin = 0;
  Element result;
  for (Value input : op.getInputs()) {
    int64_t size = cast<RankedTensorType>(input.getType()).getDimSize(dim);
    Indices source(full);
    source[dim] = clamp(binary<arith::SubIOp>(full[dim], constantIndex(begin)), 0, size - 1);
    Element element = pullFull(input, source);
    result = result.value ? select(isBetween(full[dim], begin, begin + size, {}), element, result) : element;
    begin += size;
  }
  return result;
}

// How threads read rows that pads and concatenations make of parts: a vector within a part like memory.
#include "compiler/Codegen/CUDA/ThreadWriter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <utility>

using namespace mlir;
using namespace cleave;

// A part that `insert` makes of rows whose columns are the innermost loop; of no size where it does something else.
static std::pair<int64_t, int64_t> columnsOf(tensor::InsertSliceOp insert) {
  ArrayRef<int64_t> whole = insert.getType().getShape(), part = insert.getSourceType().getShape();
  if (whole.size() != part.size() || whole.empty() || whole.drop_back() != part.drop_back() ||
      llvm::any_of(insert.getStaticStrides(), [](int64_t stride) { return stride != 1; }))
    return {0, 0};
  return {insert.getStaticOffsets().back(), insert.getStaticOffsets().back() + part.back()};
}

// Looks for a value that a pad or a concatenation makes of rows: insertions into each other, and into what is around.
void ThreadEmitter::findParts() {
  constexpr size_t kMost = 8;
  if (form.width == 1 || form.kept > 0)
    return;
  for (const LoopNest &nest : graph.getNests()) {
    auto insert = dyn_cast<tensor::InsertSliceOp>(nest.op);
    if (!insert || !llvm::equal(graph.dimsOf(insert.getResult()), llvm::seq<int>(0, insert.getType().getRank())))
      continue;
    SmallVector<RowPart> found;
    for (; insert; insert = insert.getDest().getDefiningOp<tensor::InsertSliceOp>())
      if (auto [begin, end] = columnsOf(insert); end - begin >= form.width)
        found.push_back({insert.getSource(), begin, end});
      else
        break;
    if (!insert && !found.empty() && found.size() <= kMost) {
      parts = std::move(found);
      rowOfParts = nest.op->getResult(0);
    }
  }
  llvm::sort(parts, [](const RowPart &a, const RowPart &b) { return a.begin < b.begin; });
  int64_t end = 0;
  hasOnlyParts = llvm::all_of(parts, [&](const RowPart &part) {
    return part.begin == std::exchange(end, part.end) && part.begin % form.width == 0;
  });
  hasOnlyParts &= end == graph.getDims().back().size;
}

// Whether the thread's vector is in the part.
Element ThreadEmitter::isInPart(const RowPart &part) {
  Element first = vector.front(), isInside = less(first, number(part.end - form.width + 1));
  if (part.begin > 0)
    isInside = elements.binary<arith::AndIOp>(isInside, less(number(part.begin - 1), first));
  return isInside;
}

// Reads a vector of a row that has parts. Within a part it is read like memory; elsewhere each element selects between
// clamped reads. The elements are those that are found when the row is read at these places.
void ThreadEmitter::readParts() {
  if (vector.empty() || parts.empty())
    return;
  Elements found = readPart(0);
  forEachElement([&](unsigned position) {
    Scopes::Key key{rowOfParts.getAsOpaquePointer()};
    for (Element index : elements.currentIndices(rowOfParts))
      key.push_back(index.value.getAsOpaquePointer());
    scopes.remember(std::move(key), found[position]);
  });
}

// The elements of the vector if it is in part `number` or in a later one.
ThreadEmitter::Elements ThreadEmitter::readPart(size_t number) {
  // At places that are known in this branch only.
  auto read = [&](Value source, int64_t begin) {
    Elements found;
    forEachElement([&](unsigned) {
      ElementEmitter::Indices at = elements.currentIndices(rowOfParts);
      at.back().depth = scopes.getDepth();
      if (begin > 0)
        at.back() = elements.addIndices(at.back(), elements.constantIndex(-begin));
      found.push_back(elements.pull(source, at));
    });
    return found;
  };
  if (number == parts.size())
    return read(rowOfParts, 0);
  const RowPart &part = parts[number];
  if (hasOnlyParts && number + 1 == parts.size())
    return read(part.source, part.begin);
  SmallVector<Type> types(vector.size(), computeType(getElementTypeOrSelf(rowOfParts.getType())));
  return either(
      isInPart(part), types, [&] { return read(part.source, part.begin); }, [&] { return readPart(number + 1); });
}

// The results of a kernel without sums. Vectors that are in no part of a row are computed one element after the other: if
// both ways stored vectors, LLVM would merge their last stores, and leave single ones before.
void ThreadEmitter::storeElements(ArrayRef<unsigned> numbers) {
  if (vector.empty() || parts.empty() || hasOnlyParts)
    return storeVectors(numbers, valid);
  Element isInside = isInPart(parts.front());
  for (const RowPart &part : ArrayRef(parts).drop_front())
    isInside = elements.binary<arith::OrIOp>(isInside, isInPart(part));
  Elements whole = vector;
  auto inParts = [&] {
    hasOnlyParts = true;
    storeVectors(numbers, valid);
    hasOnlyParts = false;
    return Elements();
  };
  auto oneByOne = [&] {
    vector.clear();
    Element end = elements.binary<arith::MinUIOp>(plus(whole.front(), number(form.width)),
                                                  number(graph.getDims().back().size));
    forLoop(whole.front(), end, number(1), {}, [&](Element index, ArrayRef<Element>) {
      elements.setIndex(innermost, index);
      storeResults(numbers, valid);
      return Elements();
    }, /*copies=*/1);
    return Elements();
  };
  either(isInside, {}, inParts, oneByOne);
  vector = whole;
}

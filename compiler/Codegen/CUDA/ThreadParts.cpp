// How threads read rows that pads and concatenations make of parts. A vector within one part is read like memory.
#include "compiler/Codegen/CUDA/ThreadWriter.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <algorithm>
#include <utility>

using namespace mlir;
using namespace cleave;

// Returns the first dimension of which `insert` fills only a part; the last one if there is none.
static int dimOfPart(tensor::InsertSliceOp insert) {
  ArrayRef<int64_t> whole = insert.getType().getShape(), part = insert.getSourceType().getShape();
  size_t dim = 0;
  while (dim + 1 < whole.size() && dim < part.size() && whole[dim] == part[dim])
    ++dim;
  return static_cast<int>(dim);
}

// Returns the range of dimension `dim` that `insert` fills; an empty one if it does something else.
static std::pair<int64_t, int64_t> rangeOf(tensor::InsertSliceOp insert, size_t dim) {
  ArrayRef<int64_t> whole = insert.getType().getShape(), part = insert.getSourceType().getShape();
  if (whole.size() != part.size() || whole.empty() || whole.take_front(dim) != part.take_front(dim) ||
      whole.drop_front(dim + 1) != part.drop_front(dim + 1) ||
      llvm::any_of(insert.getStaticStrides(), [](int64_t stride) { return stride != 1; }))
    return {0, 0};
  return {insert.getStaticOffsets()[dim], insert.getStaticOffsets()[dim] + part[dim]};
}

// Returns how many indices of a dimension a vector has.
int64_t ThreadWriter::widthAlong(int dim) const { return form.isWide(dim) ? form.width : 1; }

// Looks for a value that a pad or a concatenation makes of parts: a chain of insertions. For another dimension than the
// innermost one, a vector is always in one part; there, parts must fill the whole dimension.
void ThreadWriter::findParts() {
  constexpr size_t kMost = 8;
  if (form.width == 1 || form.kept > 0)
    return;
  for (const LoopNest &nest : graph.getNests()) {
    auto insert = dyn_cast<tensor::InsertSliceOp>(nest.op);
    if (!insert || !llvm::equal(graph.dimsOf(insert.getResult()), llvm::seq<int>(0, insert.getType().getRank())))
      continue;
    SmallVector<RowPart> found;
    int dim = dimOfPart(insert);
    for (; insert; insert = insert.getDest().getDefiningOp<tensor::InsertSliceOp>())
      if (auto [begin, end] = rangeOf(insert, dim); end - begin >= std::max<int64_t>(2, widthAlong(dim)))
        found.push_back({insert.getSource(), begin, end});
      else
        break;
    if (!insert && !found.empty() && found.size() <= kMost) {
      parts = std::move(found);
      rowOfParts = nest.op->getResult(0);
      dimOfParts = dim;
    }
  }
  llvm::sort(parts, [](const RowPart &a, const RowPart &b) { return a.begin < b.begin; });
  int64_t end = 0;
  hasOnlyParts = llvm::all_of(parts, [&](const RowPart &part) {
    return part.begin == std::exchange(end, part.end) && part.begin % widthAlong(dimOfParts) == 0;
  });
  hasOnlyParts &= !parts.empty() && end == graph.getDims()[dimOfParts].size;
  if (!form.isWide(dimOfParts) && !hasOnlyParts)
    parts.clear();
}

// True if the thread's vector is in the part.
Element ThreadWriter::isInPart(const RowPart &part) {
  Element first = form.isWide(dimOfParts) ? vector.front() : elements.currentIndices(rowOfParts)[dimOfParts];
  Element isInside = less(first, number(part.end - widthAlong(dimOfParts) + 1));
  if (part.begin > 0)
    isInside = elements.binary<arith::AndIOp>(isInside, less(number(part.begin - 1), first));
  return isInside;
}

// Reads a vector of a row that has parts. Within a part it is read like memory. Elsewhere each element selects between
// clamped reads. The elements are remembered, so that a read of the row at these places finds them.
void ThreadWriter::readParts() {
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

// Returns the elements of the vector if it is in part `number` or in a later one.
ThreadWriter::Elements ThreadWriter::readPart(size_t number) {
  // The indices get the depth of this branch, because the elements are known only in it.
  auto read = [&](Value source, int64_t begin) {
    Elements found;
    forEachElement([&](unsigned) {
      ElementEmitter::Indices at = elements.currentIndices(rowOfParts);
      at.back().depth = scopes.getDepth();
      if (begin > 0)
        at[dimOfParts] = elements.addIndices(at[dimOfParts], elements.constantIndex(-begin));
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

// Stores the results of a kernel without sums. Vectors that are in no part of a row are computed one element after the
// other. If both branches stored vectors, LLVM would merge their last stores, and leave single ones before.
void ThreadWriter::storeElements(ArrayRef<unsigned> numbers) {
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
    Element end =
        elements.binary<arith::MinUIOp>(plus(whole.front(), number(form.width)), number(graph.getDims().back().size));
    forLoop(
        whole.front(), end, number(1), {},
        [&](Element index, ArrayRef<Element>) {
          elements.setIndex(innermost, index);
          storeResults(numbers, valid);
          return Elements();
        },
        /*copies=*/1);
    return Elements();
  };
  either(isInside, {}, inParts, oneByOne);
  vector = whole;
}

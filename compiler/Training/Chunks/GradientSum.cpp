#include "compiler/Training/Chunks/GradientSum.h"
#include "compiler/Training/Arithmetic.h"

using namespace mlir;

namespace cleave {
namespace {

// Returns the only dimension that the op pads with zeros at its ends. Returns nothing if there are several, or if it
// pads otherwise.
std::optional<int64_t> paddedDim(PadOp pad) {
  std::optional<int64_t> found;
  for (auto [dim, low, high, interior] : llvm::enumerate(pad.getLow(), pad.getHigh(), pad.getInterior())) {
    if (low == 0 && high == 0 && interior == 0)
      continue;
    if (found || low < 0 || high < 0 || interior != 0)
      return std::nullopt;
    found = static_cast<int64_t>(dim);
  }
  return pad.getValue().isPosZero() ? found : std::nullopt;
}

int64_t endOf(PadOp pad, int64_t dim) { return pad.getLow()[dim] + pad.getOperand().getType().getDimSize(dim); }

Value zeros(OpBuilder &builder, RankedTensorType type, int64_t dim, int64_t size, Location loc) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return Arithmetic(builder, loc).splat(type.clone(shape), 0);
}

} // namespace

void GradientSum::add(OpBuilder &builder, Value gradient) {
  auto pad = gradient.getDefiningOp<PadOp>();
  if (!pad || !pad->use_empty() || !addPiece(pad))
    addWhole(builder, gradient);
}

void GradientSum::addWhole(OpBuilder &builder, Value gradient) {
  whole = whole ? AddOp::create(builder, gradient.getLoc(), whole, gradient) : gradient;
}

bool GradientSum::addPiece(PadOp pad) {
  std::optional<int64_t> padded = paddedDim(pad);
  if (!padded || (!pieces.empty() && dim != *padded))
    return false;
  dim = *padded;
  int64_t start = pad.getLow()[dim];
  auto after = pieces.lower_bound(start);
  if (after != pieces.end() && after->first < endOf(pad, dim))
    return false;
  if (after != pieces.begin() && endOf(std::prev(after)->second, dim) > start)
    return false;
  pieces.emplace(start, pad);
  return true;
}

Value GradientSum::joinPieces(OpBuilder &builder) {
  PadOp first = pieces.begin()->second;
  if (pieces.size() == 1)
    return first;
  auto type = first.getResult().getType();
  Location loc = first.getLoc();
  SmallVector<Value> parts;
  int64_t at = 0;
  for (auto &[start, pad] : pieces) {
    if (start > at)
      parts.push_back(zeros(builder, type, dim, start - at, loc));
    parts.push_back(pad.getOperand());
    at = endOf(pad, dim);
  }
  if (int64_t size = type.getDimSize(dim); at < size)
    parts.push_back(zeros(builder, type, dim, size - at, loc));
  // The pads are not erased: one of them may also be the gradient of another value (of the other operand of a sum).
  // Unused ones are dead.
  return ConcatOp::create(builder, loc, type, parts, static_cast<uint64_t>(dim));
}

Value GradientSum::total(OpBuilder &builder) {
  if (!pieces.empty()) {
    Value joined = joinPieces(builder);
    pieces.clear();
    addWhole(builder, joined);
  }
  return whole;
}

} // namespace cleave

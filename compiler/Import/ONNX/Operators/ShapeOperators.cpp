// Imports operators that change the shape, or copy whole dimensions. Known operands are evaluated, others become views
// and copies.
#include "compiler/Import/ONNX/Evaluate.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

llvm::ArrayRef<int64_t> inputShape(OpContext &op) {
  return op.literal(0) ? op.literal(0)->shape() : shapeOf(op.value(0));
}

LogicalResult reshapeTo(OpContext &op, llvm::ArrayRef<int64_t> shape) {
  if (op.literal(0))
    return op.result(op.literal(0)->withShape(shape));
  return op.result(op.emit.reshape(op.value(0), shape));
}

// Resolves the sizes of a reshape: 0 copies the operand's size (unless allowzero), -1 gets the remaining elements.
FailureOr<Shape> reshapeTarget(OpContext &op, Shape target) {
  llvm::ArrayRef<int64_t> shape = inputShape(op);
  bool allowZero = op.intAttr("allowzero", 0) != 0;
  std::optional<size_t> open;
  for (auto [i, size] : llvm::enumerate(target)) {
    if (size == 0 && !allowZero) {
      if (i >= shape.size())
        return op.fail("target dimension " + llvm::Twine(i) + " is 0 (copy), but the input has rank " +
                       llvm::Twine(shape.size()));
      size = shape[i];
    } else if (size == -1) {
      if (open)
        return op.fail("the target shape has more than one -1");
      open = i;
    }
  }
  int64_t total = *countElements(shape);
  Shape known = target;
  if (open)
    known[*open] = 1;
  auto rest = countElements(known);
  bool fits = rest && (open ? *rest != 0 && total % *rest == 0 : *rest == total);
  if (!fits)
    return op.fail("cannot reshape " + formatShape(shape) + " to " + formatShape(target) +
                   "; if the target holds the batch size of the export, export with a dynamic batch dimension");
  if (open)
    target[*open] = total / *rest;
  return target;
}

LogicalResult importReshape(OpContext &op) {
  auto given = op.ints("shape", 1);
  if (failed(given))
    return failure();
  auto target = reshapeTarget(op, **given);
  return failed(target) ? failure() : reshapeTo(op, *target);
}

LogicalResult importFlatten(OpContext &op) {
  llvm::ArrayRef<int64_t> shape = inputShape(op);
  // The axis may equal the rank. All dimensions then become rows.
  int64_t rank = int64_t(shape.size()), given = op.intAttr("axis", 1);
  auto axis = given == rank ? FailureOr<int64_t>(rank) : op.axis(given, rank);
  if (failed(axis))
    return failure();
  return reshapeTo(op, {*countElements(shape.take_front(*axis)), *countElements(shape.drop_front(*axis))});
}

LogicalResult importSqueeze(OpContext &op) {
  llvm::ArrayRef<int64_t> shape = inputShape(op);
  auto given = op.ints("axes", 1);
  if (failed(given))
    return failure();
  Shape dims;
  if (*given) {
    auto axes = op.axes(**given, int64_t(shape.size()));
    if (failed(axes))
      return failure();
    dims = *axes;
  } else {
    for (auto [dim, size] : llvm::enumerate(shape))
      if (size == 1)
        dims.push_back(int64_t(dim));
  }
  for (int64_t dim : dims)
    if (shape[dim] != 1)
      return op.fail("cannot squeeze dimension " + llvm::Twine(dim) + " of " + formatShape(shape) +
                     "; its size must be 1");
  return reshapeTo(op, reducedShape(shape, dims, false));
}

LogicalResult importUnsqueeze(OpContext &op) {
  llvm::ArrayRef<int64_t> shape = inputShape(op);
  auto given = op.ints("axes", 1);
  if (failed(given))
    return failure();
  if (!*given)
    return op.fail("`axes` is missing; expected the dimensions to insert");
  int64_t rank = int64_t(shape.size() + (*given)->size());
  auto axes = op.axes(**given, rank);
  if (failed(axes))
    return failure();
  Shape result;
  size_t next = 0;
  for (int64_t dim = 0; dim < rank; ++dim)
    result.push_back(llvm::is_contained(*axes, dim) ? 1 : shape[next++]);
  return reshapeTo(op, result);
}

LogicalResult importTranspose(OpContext &op) {
  int64_t rank = int64_t(inputShape(op).size());
  Shape permutation = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
  if (auto given = op.intsAttr("perm"))
    permutation = *given;
  Shape sorted = permutation;
  llvm::sort(sorted);
  if (sorted != Shape(llvm::to_vector(llvm::seq<int64_t>(0, rank))))
    return op.fail("`perm` " + formatShape(permutation) + " is no permutation of the input's " + llvm::Twine(rank) +
                   " dimensions");
  if (op.literal(0))
    if (auto known = transposeLiteral(*op.literal(0), permutation))
      return op.result(std::move(*known));
  return op.result(op.emit.transpose(op.value(0), permutation));
}

LogicalResult importExpand(OpContext &op) {
  auto given = op.ints("shape", 1);
  if (failed(given))
    return failure();
  auto shape = broadcastShapes(inputShape(op), **given);
  if (!shape || !countElements(**given))
    return op.fail("cannot expand " + formatShape(inputShape(op)) + " to " + formatShape(**given) +
                   "; if one of them holds the batch size of the export, export with a dynamic batch dimension");
  if (op.literal(0))
    if (auto known = broadcastLiteral(*op.literal(0), *shape))
      return op.result(std::move(*known));
  return op.result(op.emit.broadcastTo(op.value(0), *shape));
}

LogicalResult importTile(OpContext &op) {
  Shape shape(inputShape(op));
  auto repeats = op.ints("repeats", 1);
  if (failed(repeats))
    return failure();
  if ((*repeats)->size() != shape.size())
    return op.fail("`repeats` must have one number for each of the input's " + llvm::Twine(shape.size()) +
                   " dimensions");
  // [a, b] tiled by [m, n] is viewed as [1, a, 1, b], broadcast to [m, a, n, b], and viewed as [m a, n b].
  Shape split, tiled, merged;
  for (auto [size, repeat] : llvm::zip(shape, **repeats)) {
    int64_t product;
    if (repeat < 0 || llvm::MulOverflow(size, repeat, product))
      return op.fail("`repeats` must not be negative or huge; got " + formatShape(**repeats));
    split.append({1, size});
    tiled.append({repeat, size});
    merged.push_back(product);
  }
  if (!countElements(merged))
    return op.fail("the tiled shape " + formatShape(merged) + " is too large");
  if (op.literal(0))
    if (auto known = broadcastLiteral(op.literal(0)->withShape(split), tiled))
      return op.result(known->withShape(merged));
  return op.result(op.emit.reshape(op.emit.broadcastTo(op.emit.reshape(op.value(0), split), tiled), merged));
}

LogicalResult importConcat(OpContext &op) {
  llvm::SmallVector<const Literal *> known;
  llvm::SmallVector<llvm::ArrayRef<int64_t>> shapes;
  for (size_t i = 0; i < op.numInputs(); ++i) {
    if (!op.has(i))
      return op.fail("input " + llvm::Twine(i) + " is missing");
    if (op.literal(i))
      known.push_back(op.literal(i));
    shapes.push_back(op.literal(i) ? op.literal(i)->shape() : shapeOf(op.value(i)));
  }
  auto dim = op.axis(op.intAttr("axis", 0), int64_t(shapes[0].size()));
  if (failed(dim))
    return failure();
  for (llvm::ArrayRef<int64_t> shape : shapes)
    if (reducedShape(shape, {*dim}, true) != reducedShape(shapes[0], {*dim}, true))
      return op.fail("shapes " + formatShape(shapes[0]) + " and " + formatShape(shape) +
                     " differ in more than dimension " + llvm::Twine(*dim));
  bool sameElement = llvm::all_of(known, [&](const Literal *a) { return a->element() == known[0]->element(); });
  if (known.size() == op.numInputs() && sameElement)
    if (auto result = concatLiterals(known, *dim))
      return op.result(std::move(*result));
  llvm::SmallVector<Value> values = op.values();
  if (!llvm::all_of(values, [&](Value value) { return elementOf(value) == elementOf(values[0]); }))
    return op.fail("inputs have different element types");
  return op.result(op.emit.concat(values, *dim));
}

// [n, c, h, w] is viewed with blocks, permuted, and merged. The two directions are separate functions, so that each
// shows its formula.
LogicalResult importDepthToSpace(OpContext &op) {
  Value x = op.value(0);
  int64_t b = op.intAttr("blocksize", 0);
  if (failed(op.expectRank(x, 4, 4)))
    return failure();
  llvm::ArrayRef<int64_t> s = shapeOf(x);
  if (b < 1 || b > 4096 || s[1] % (b * b) != 0)
    return op.fail("`blocksize` " + llvm::Twine(b) + " squared must divide the " + llvm::Twine(s[1]) + " channels");
  int64_t c = s[1] / (b * b);
  if (op.stringAttr("mode", "DCR") == "CRD")
    x = op.emit.transpose(op.emit.reshape(x, {s[0], c, b, b, s[2], s[3]}), {0, 1, 4, 2, 5, 3});
  else
    x = op.emit.transpose(op.emit.reshape(x, {s[0], b, b, c, s[2], s[3]}), {0, 3, 4, 1, 5, 2});
  Shape y(shapeOf(op.value(0)));
  return op.result(op.emit.reshape(x, {y[0], c, y[2] * b, y[3] * b}));
}

LogicalResult importSpaceToDepth(OpContext &op) {
  Value x = op.value(0);
  int64_t b = op.intAttr("blocksize", 0);
  if (failed(op.expectRank(x, 4, 4)))
    return failure();
  Shape s(shapeOf(x));
  if (b < 1 || b > 4096 || s[2] % b != 0 || s[3] % b != 0)
    return op.fail("`blocksize` " + llvm::Twine(b) + " must divide height and width of " + formatShape(s));
  x = op.emit.transpose(op.emit.reshape(x, {s[0], s[1], s[2] / b, b, s[3] / b, b}), {0, 3, 5, 1, 2, 4});
  return op.result(op.emit.reshape(x, {s[0], s[1] * b * b, s[2] / b, s[3] / b}));
}

} // namespace

void cleave::onnx_import::addShapeOperators(OperatorTable &table) {
  table.add("Reshape", 13, importReshape);
  table.add("Flatten", 13, importFlatten);
  table.add("Squeeze", 13, importSqueeze);
  table.add("Unsqueeze", 13, importUnsqueeze);
  table.add("Transpose", 13, importTranspose);
  table.add("Expand", 13, importExpand);
  table.add("Tile", 13, importTile);
  table.add("Concat", 13, importConcat);
  table.add("DepthToSpace", 13, importDepthToSpace);
  table.add("SpaceToDepth", 13, importSpaceToDepth);
}

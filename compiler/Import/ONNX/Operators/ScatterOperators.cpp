// Imports operators whose indices name single positions: GatherND, GatherElements, ScatterND, ScatterElements.
#include "compiler/Import/ONNX/Operators/ScatterOperators.h"
#include "compiler/Import/ONNX/Evaluate.h"
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/Operators/OperatorTable.h"

using namespace cleave;
using namespace cleave::onnx_import;
using llvm::failed;
using llvm::failure;
using llvm::FailureOr;

namespace {

LogicalResult expectIntegers(OpContext &op, Value indices) {
  return isFloat(indices) || elementOf(indices).isInteger(1) ? op.fail("indices must be integers") : success();
}

// Checks tuples of indices against the data. The first `batch` dimensions are shared; each tuple names a position in
// the dimensions after them.
LogicalResult checkTuples(OpContext &op, llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> indices, int64_t batch) {
  int64_t rank = int64_t(data.size());
  if (data.empty() || indices.empty())
    return op.fail("data and indices must have a rank of 1 or more; got shapes " + formatShape(data) + " and " +
                   formatShape(indices));
  if (batch < 0 || batch >= std::min<int64_t>(rank, int64_t(indices.size())))
    return op.fail("batch_dims must lie between 0 and the ranks of data " + formatShape(data) + " and indices " +
                   formatShape(indices) + "; got " + llvm::Twine(batch));
  if (data.take_front(batch) != indices.take_front(batch))
    return op.fail("the first " + llvm::Twine(batch) + " sizes of data " + formatShape(data) + " and indices " +
                   formatShape(indices) + " must be equal");
  if (indices.back() < 1 || indices.back() > rank - batch)
    return op.fail("the last size of the indices " + formatShape(indices) + " must be between 1 and " +
                   llvm::Twine(rank - batch) + ", the dimensions of the data " + formatShape(data) +
                   (batch ? " after its batch" : ""));
  return success();
}

Shape inputShape(OpContext &op, size_t i) {
  return Shape(op.literal(i) ? op.literal(i)->shape() : shapeOf(op.value(i)));
}

// Returns one component for each batch dimension, then those of the tuples.
llvm::SmallVector<IndexComponent> tupleComponents(OpContext &op, int64_t batch) {
  llvm::SmallVector<IndexComponent> components;
  for (int64_t dim = 0; dim < batch; ++dim)
    components.push_back(IndexComponent::coordinate(dim));
  components.append(splitIndexInput(op, 1));
  return components;
}

// True if there are no indices. Fails if there are indices, but the data has no elements.
FailureOr<bool> isTrivial(OpContext &op, llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> space) {
  if (llvm::is_contained(space, 0))
    return true;
  if (llvm::is_contained(data, 0))
    return op.fail("indices " + formatShape(space) + " have nothing to name in data of shape " + formatShape(data));
  return false;
}

LogicalResult importGatherND(OpContext &op) {
  Shape data = inputShape(op, 0), space = inputShape(op, 1);
  int64_t batch = op.intAttr("batch_dims", 0);
  if (failed(expectIntegers(op, op.value(1))) || failed(checkTuples(op, data, space, batch)))
    return failure();
  int64_t count = space.pop_back_val();
  Shape result = space;
  result.append(data.begin() + batch + count, data.end());
  if (!countElements(result))
    return op.fail("the result " + formatShape(result) + " is too large");
  auto trivial = isTrivial(op, data, result);
  if (failed(trivial))
    return failure();
  if (*trivial)
    return op.result(op.emit.splat(0, typeOf(op.value(0)).clone(result)));
  IndexedAccess access(op, data, space, tupleComponents(op, batch));
  return failed(access.check()) ? failure() : op.result(access.gather(op.value(0)));
}

// Returns the components: each dimension except `axis` is its own index.
llvm::SmallVector<IndexComponent> elementComponents(OpContext &op, int64_t rank, int64_t axis) {
  llvm::SmallVector<IndexComponent> components;
  for (int64_t dim = 0; dim < rank; ++dim)
    components.push_back(dim == axis ? analyzeIndexInput(op, 1) : IndexComponent::coordinate(dim));
  return components;
}

// Returns the axis. Checks that the indices are not larger than the data in the other dimensions.
FailureOr<int64_t> elementAxis(OpContext &op, llvm::ArrayRef<int64_t> data, llvm::ArrayRef<int64_t> indices) {
  if (failed(expectIntegers(op, op.value(1))))
    return failure();
  if (indices.size() != data.size() || data.empty())
    return op.fail("indices must have the data's rank, 1 or more; got data of shape " + formatShape(data) +
                   " and indices of shape " + formatShape(indices));
  auto axis = op.axis(op.intAttr("axis", 0), int64_t(data.size()));
  if (failed(axis))
    return failure();
  for (size_t dim = 0; dim < data.size(); ++dim)
    if (int64_t(dim) != *axis && indices[dim] > data[dim])
      return op.fail("indices " + formatShape(indices) + " must not be larger than the data " + formatShape(data) +
                     " in any dimension except " + llvm::Twine(*axis));
  return axis;
}

// Picks one element of each row, as losses pick the score of a class. Every position is compared with the index. This
// fuses with the computation of the row, and in the backward pass with the use of its gradient.
Value pickOne(OpContext &op, Value data, Value indices, int64_t dim) {
  Emitter &emit = op.emit;
  int64_t size = shapeOf(data)[dim];
  Shape all(shapeOf(data)), rows;
  for (int64_t i = 0; i < rankOf(data); ++i)
    if (i != dim)
      rows.push_back(i);
  noteIndices(indices, size, /*refusesNegative=*/false);
  // The indices are gathered from 0, 1, ..., size-1. So they count from the beginning, and the gather reports indices
  // out of range.
  Value wanted = take(emit, emit.iota(0, RankedTensorType::get({size}, emit.i64())), indices, 0);
  Shape kept = reducedShape(all, {dim}, /*keepDims=*/false);
  wanted = emit.broadcastDims(emit.reshape(wanted, kept), all, rows);
  Value position = emit.iota(dim, RankedTensorType::get(all, emit.i64()));
  Value spread = emit.asSigned(data);
  Value picked = emit.select(emit.compare(Predicate::Eq, position, wanted), spread, emit.splat(0, typeOf(spread)));
  return emit.cast(emit.reduce(ReduceKind::Sum, picked, {dim}, /*keepDims=*/true), elementOf(data));
}

LogicalResult importGatherElements(OpContext &op) {
  Shape data = inputShape(op, 0), space = inputShape(op, 1);
  auto axis = elementAxis(op, data, space);
  if (failed(axis))
    return failure();
  auto trivial = isTrivial(op, data, space);
  if (failed(trivial))
    return failure();
  if (*trivial)
    return op.result(op.emit.splat(0, typeOf(op.value(0)).clone(space)));
  llvm::SmallVector<IndexComponent> components = elementComponents(op, int64_t(data.size()), *axis);
  Shape rows = data;
  rows[*axis] = 1;
  if (space == rows && !components[*axis].known)
    return op.result(pickOne(op, op.value(0), op.value(1), *axis));
  IndexedAccess access(op, data, space, std::move(components));
  return failed(access.check()) ? failure() : op.result(access.gather(op.value(0)));
}

FailureOr<Combine> readReduction(OpContext &op) {
  std::string name = op.stringAttr("reduction", "none");
  int64_t since = name == "max" || name == "min" ? 18 : name == "none" ? 13 : 16;
  if (op.opset() < since)
    return op.fail("reduction " + quote(name) + " needs opset " + llvm::Twine(since) + " or newer; the file says " +
                   llvm::Twine(op.opset()));
  if (name == "none")
    return Combine::Set;
  if (name == "add")
    return Combine::Add;
  if (name == "mul")
    return Combine::Multiply;
  if (name == "max")
    return Combine::Max;
  if (name == "min")
    return Combine::Min;
  return op.fail("reduction " + quote(name) + " is not known; expected none, add, mul, max or min");
}

// Truth values and unsigned bytes are combined as i32, and converted back to their type.
Value scatter(OpContext &op, IndexedAccess &access, Value into, Value updates, Combine combine) {
  if (combine == Combine::Set)
    return access.scatter(into, updates, combine);
  Value result = access.scatter(op.emit.asSigned(into), op.emit.asSigned(updates), combine);
  return op.emit.cast(result, elementOf(into));
}

LogicalResult importScatterND(OpContext &op) {
  Value data = op.value(0), updates = op.value(2);
  Shape shape(shapeOf(data)), space = inputShape(op, 1);
  auto combine = readReduction(op);
  if (failed(combine) || failed(expectIntegers(op, op.value(1))) || failed(checkTuples(op, shape, space, 0)))
    return failure();
  int64_t count = space.pop_back_val();
  Shape expected = space;
  expected.append(shape.begin() + count, shape.end());
  if (shapeOf(updates) != llvm::ArrayRef<int64_t>(expected) || elementOf(updates) != elementOf(data))
    return op.fail("updates must have the data's element type and shape " + formatShape(expected) +
                   ", the space of the indices and what they leave of the data; got shape " +
                   formatShape(shapeOf(updates)));
  auto trivial = isTrivial(op, shape, expected);
  if (failed(trivial))
    return failure();
  if (*trivial)
    return op.result(data);
  IndexedAccess access(op, shape, space, tupleComponents(op, 0));
  return failed(access.check()) ? failure() : op.result(scatter(op, access, data, updates, *combine));
}

// Overwrites the beginning of `whole` with `part`. Elements after it stay along each dimension.
Value overwriteBegin(Emitter &emit, Value whole, Value part, int64_t dim = 0) {
  if (dim == rankOf(whole))
    return part;
  int64_t size = shapeOf(whole)[dim], covered = shapeOf(part)[dim];
  Value begin = overwriteBegin(emit, emit.sliceDim(whole, dim, 0, covered), part, dim + 1);
  return covered == size ? begin : emit.concat({begin, emit.sliceDim(whole, dim, covered, size - covered)}, dim);
}

LogicalResult importScatterElements(OpContext &op) {
  Value data = op.value(0), updates = op.value(2);
  Shape shape(shapeOf(data)), space = inputShape(op, 1);
  auto combine = readReduction(op);
  if (failed(combine))
    return failure();
  auto axis = elementAxis(op, shape, space);
  if (failed(axis))
    return failure();
  if (shapeOf(updates) != llvm::ArrayRef<int64_t>(space) || elementOf(updates) != elementOf(data))
    return op.fail("updates must have the data's element type and the indices' shape " + formatShape(space) +
                   "; got shape " + formatShape(shapeOf(updates)));
  auto trivial = isTrivial(op, shape, space);
  if (failed(trivial))
    return failure();
  if (*trivial)
    return op.result(data);
  // The other dimensions are cut to the size of the indices, because elements beyond it are not changed.
  Shape part = space;
  part[*axis] = shape[*axis];
  Value target = op.emit.slice(data, Shape(part.size(), 0), part, Shape(part.size(), 1));
  IndexedAccess access(op, part, space, elementComponents(op, int64_t(shape.size()), *axis));
  if (failed(access.check()))
    return failure();
  return op.result(overwriteBegin(op.emit, data, scatter(op, access, target, updates, *combine)));
}

} // namespace

void cleave::onnx_import::addScatterOperators(OperatorTable &table) {
  table.add("GatherND", 13, importGatherND);
  table.add("GatherElements", 13, importGatherElements);
  table.add("ScatterND", 13, importScatterND);
  table.add("ScatterElements", 13, importScatterElements);
}

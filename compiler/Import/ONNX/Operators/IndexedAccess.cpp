#include "compiler/Import/ONNX/Operators/IndexedAccess.h"
#include "compiler/Import/ONNX/Operators/IndexRange.h"
#include "dialects/Cleave/IR/Scatter.h"

#include <numeric>

using namespace cleave;
using namespace cleave::onnx_import;

static Shape inverse(llvm::ArrayRef<int64_t> permutation) {
  Shape result(permutation.size());
  for (auto [i, dim] : llvm::enumerate(permutation))
    result[dim] = int64_t(i);
  return result;
}

// Returns the permutation that sorts the labels.
static Shape sortingOrder(llvm::ArrayRef<int64_t> labels) {
  Shape order(labels.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) { return labels[a] < labels[b]; });
  return order;
}

static int64_t productOf(llvm::ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<int64_t>());
}

Value cleave::onnx_import::take(Emitter &emit, Value table, Value indices, int64_t dim) {
  Shape shape(shapeOf(table).take_front(dim));
  llvm::append_range(shape, shapeOf(indices));
  llvm::append_range(shape, shapeOf(table).drop_front(dim + 1));
  return emit.make<TakeOp>(typeOf(table).clone(shape), table, indices, emit.builder.getI64IntegerAttr(dim));
}

Value cleave::onnx_import::pick(Emitter &emit, Value table, Value indices, int64_t dim, int64_t batch) {
  Shape shape(shapeOf(table).take_front(dim));
  llvm::append_range(shape, shapeOf(indices).drop_front(batch));
  llvm::append_range(shape, shapeOf(table).drop_front(dim + 1));
  mlir::OpBuilder &b = emit.builder;
  return emit.make<PickOp>(typeOf(table).clone(shape), table, indices, b.getI64IntegerAttr(dim),
                           b.getI64IntegerAttr(batch));
}

LogicalResult IndexedAccess::check() {
  if (op.emit.budget.isExhausted()) // the components are not complete
    return llvm::failure();
  for (auto [dim, component] : llvm::enumerate(components)) {
    int64_t size = data[dim];
    if (component.position && space[*component.position] > size)
      return op.fail("index " + llvm::Twine(size) + " is outside of dimension " + llvm::Twine(dim) + " of size " +
                     llvm::Twine(size));
    if (!component.known)
      continue;
    Literal counted(op.emit.i64(), component.known->shape());
    for (int64_t index : component.known->ints()) {
      if (index < -size || index >= size)
        return op.fail("index " + llvm::Twine(index) + " is outside of dimension " + llvm::Twine(dim) + " of size " +
                       llvm::Twine(size));
      counted.push(index < 0 ? index + size : index);
    }
    component.known = counted;
  }
  return success();
}

// Decides the treatment of each dimension. A scatter must visit every point of the space, even if no index depends on
// it, and its batches must be whole.
void IndexedAccess::arrange(bool forScatter) {
  llvm::SmallVector<bool> isVaried(space.size(), false), isTaken(space.size(), false);
  llvm::SmallVector<bool> isCoordinate(components.size(), false);
  indexed.clear(), batch.clear(), outer.clear(), inner.clear(), indexDims.clear();
  for (auto [dim, component] : llvm::enumerate(components)) {
    auto position = component.position;
    if (position && !isTaken[*position] && (!forScatter || space[*position] == data[dim])) {
      isTaken[*position] = isCoordinate[dim] = true;
      continue;
    }
    indexed.push_back(int64_t(dim));
    for (int64_t varied : component.dims)
      isVaried[varied] = true;
  }
  if (forScatter)
    for (size_t dim = 0; dim < space.size(); ++dim)
      isVaried[dim] = isVaried[dim] || !isTaken[dim];
  // If updates repeat along the space, an index is needed even if all components are coordinates.
  auto repeats = [&](size_t dim) { return isVaried[dim] && space[dim] > 1; };
  if (indexed.empty() && llvm::any_of(llvm::seq<size_t>(0, space.size()), repeats)) {
    indexed.push_back(int64_t(components.size()) - 1);
    isCoordinate.back() = false;
    isVaried[*components.back().position] = true;
  }
  for (int64_t dim = 0; dim < int64_t(data.size()); ++dim) {
    bool walked = dim >= int64_t(components.size());
    if (!walked && !isCoordinate[dim])
      continue;
    if (!walked && isVaried[*components[dim].position])
      batch.push_back(dim), isVaried[*components[dim].position] = false;
    else
      (!indexed.empty() && dim < indexed[0] ? outer : inner).push_back(dim);
  }
  for (size_t dim = 0; dim < space.size(); ++dim)
    if (isVaried[dim])
      indexDims.push_back(int64_t(dim));
}

int64_t IndexedAccess::labelOf(int64_t dataDim) const {
  int64_t count = int64_t(components.size());
  return dataDim < count ? *components[dataDim].position : int64_t(space.size()) + dataDim - count;
}

Shape IndexedAccess::dataOrder() const {
  Shape order = batch;
  order.append(outer);
  order.append(indexed);
  order.append(inner);
  return order;
}

Shape IndexedAccess::sliceLabels() const {
  Shape labels;
  for (int64_t dim : batch)
    labels.push_back(labelOf(dim));
  for (int64_t dim : outer)
    labels.push_back(labelOf(dim));
  labels.append(indexDims);
  for (int64_t dim : inner)
    labels.push_back(labelOf(dim));
  return labels;
}

// Returns the shape of a tensor in the data's order, with the indexed dimensions merged into one.
Shape IndexedAccess::rowShape(llvm::ArrayRef<int64_t> shape) const {
  size_t first = batch.size() + outer.size();
  Shape rows(shape.take_front(first));
  rows.push_back(productOf(shape.slice(first, indexed.size())));
  rows.append(shape.begin() + first + indexed.size(), shape.end());
  return rows;
}

// Returns the positions in dimension `dim`, counted from its beginning.
Value IndexedAccess::component(size_t dim) {
  IndexComponent &component = components[dim];
  if (component.known)
    return op.emit.literal(*component.known);
  if (component.position)
    return op.emit.iota(0, RankedTensorType::get({space[*component.position]}, op.emit.i64()));
  noteIndices(component.value, data[dim], refusesNegativeIndices(op.node()));
  if (indexed.size() == 1)
    return component.value;
  // The positions are gathered from 0, 1, ..., size-1. So indices that count from the end become indices from the
  // beginning, and the gather reports indices out of range.
  Value positions = op.emit.iota(0, RankedTensorType::get({data[dim]}, op.emit.i64()));
  return take(op.emit, positions, component.value, 0);
}

// Returns the linear index, [batch..., index...].
Value IndexedAccess::linearIndex() {
  Shape labels, shape;
  for (int64_t dim : batch)
    labels.push_back(labelOf(dim));
  labels.append(indexDims);
  for (int64_t label : labels)
    shape.push_back(space[label]);
  Value linear;
  for (int64_t dim : indexed) {
    Value index = component(size_t(dim));
    Shape places;
    for (int64_t varied : components[dim].dims)
      places.push_back(llvm::find(labels, varied) - labels.begin());
    index = op.emit.transpose(index, sortingOrder(places));
    llvm::sort(places);
    if (indexed.size() > 1)
      index = op.emit.cast(index, op.emit.i64());
    index = op.emit.broadcastDims(index, shape, places);
    linear = linear ? op.emit.add(op.emit.mul(linear, double(data[dim])), index) : index;
  }
  return linear;
}

// If the only indices are known and count up by one, returns the first one. The access is then a slice, whose gradient
// needs no scatter.
std::optional<int64_t> IndexedAccess::firstOfRun() const {
  if (indexed.size() != 1 || !batch.empty() || !components[indexed[0]].known)
    return std::nullopt;
  const Literal &known = *components[indexed[0]].known;
  return known.numElements() == indexCount() ? onnx_import::firstOfRun(op.emit, known, data[indexed[0]]) : std::nullopt;
}

int64_t IndexedAccess::indexCount() const {
  int64_t count = 1;
  for (int64_t dim : indexDims)
    count *= space[dim];
  return count;
}

Value IndexedAccess::takeSlices(Value x) {
  int64_t dim = int64_t(batch.size() + outer.size());
  if (auto first = firstOfRun()) {
    Shape shape(shapeOf(x).take_front(dim));
    for (int64_t varied : indexDims)
      shape.push_back(space[varied]);
    shape.append(shapeOf(x).begin() + dim + 1, shapeOf(x).end());
    return op.emit.reshape(op.emit.sliceDim(x, dim, *first, indexCount()), shape);
  }
  x = op.emit.reshape(x, rowShape(shapeOf(x)));
  Value index = linearIndex();
  if (batch.empty())
    return take(op.emit, x, index, dim);
  return pick(op.emit, x, index, dim, int64_t(batch.size()));
}

Value IndexedAccess::gather(Value from) {
  arrange(/*forScatter=*/false);
  for (auto [dim, component] : llvm::enumerate(components))
    if (component.position && !llvm::is_contained(indexed, int64_t(dim)))
      from = op.emit.sliceDim(from, int64_t(dim), 0, space[*component.position]);
  Shape all(space);
  all.append(data.begin() + components.size(), data.end());
  Value x = op.emit.transpose(from, dataOrder());
  if (!indexed.empty())
    x = takeSlices(x);
  Shape labels = sliceLabels();
  x = op.emit.transpose(x, sortingOrder(labels));
  llvm::sort(labels);
  return op.emit.broadcastDims(x, all, labels);
}

static ReduceKindAttr combineAttr(mlir::OpBuilder &builder, Combine combine) {
  if (combine == Combine::Set)
    return {};
  ReduceKind kind = combine == Combine::Add        ? ReduceKind::Sum
                    : combine == Combine::Multiply ? ReduceKind::Product
                    : combine == Combine::Max      ? ReduceKind::Max
                                                   : ReduceKind::Min;
  return ReduceKindAttr::get(builder.getContext(), kind);
}

Value IndexedAccess::combined(Value into, Value updates, Combine combine) {
  Emitter &emit = op.emit;
  if (indexed.empty()) {
    updates = emit.reshape(updates, shapeOf(into));
    switch (combine) {
    case Combine::Set:
      return updates;
    case Combine::Add:
      return emit.add(into, updates);
    case Combine::Multiply:
      return emit.mul(into, updates);
    case Combine::Max:
      return emit.binary<MaxOp>(into, updates);
    case Combine::Min:
      return emit.binary<MinOp>(into, updates);
    }
  }
  uint64_t dim = batch.size() + outer.size();
  if (auto first = firstOfRun(); first && combine == Combine::Set) {
    Shape shape(shapeOf(into));
    int64_t count = shape[dim] = indexCount(), after = *first + count, size = shapeOf(into)[dim];
    return emit.concat({emit.sliceDim(into, int64_t(dim), 0, *first), emit.reshape(updates, shape),
                        emit.sliceDim(into, int64_t(dim), after, size - after)},
                       int64_t(dim));
  }
  Value index = linearIndex();
  mlir::OpBuilder &b = emit.builder;
  auto dimAttr = b.getI64IntegerAttr(int64_t(dim));
  // With PutAddOp, ranks may also share sums along the indices.
  if (combine == Combine::Add && batch.empty())
    return emit.make<PutAddOp>(into.getType(), into, index, updates, dimAttr);
  return emit.make<PutOp>(into.getType(), into, index, updates, dimAttr, b.getI64IntegerAttr(int64_t(batch.size())),
                          combineAttr(b, combine));
}

Value IndexedAccess::scatter(Value into, Value updates, Combine combine) {
  arrange(/*forScatter=*/true);
  Value x = op.emit.transpose(into, dataOrder());
  Shape shape(shapeOf(x));
  if (!indexed.empty())
    x = op.emit.reshape(x, rowShape(shape));
  // The dimensions of the updates have the labels 0, 1, ....
  x = combined(x, op.emit.transpose(updates, sliceLabels()), combine);
  return op.emit.transpose(op.emit.reshape(x, shape), inverse(dataOrder()));
}

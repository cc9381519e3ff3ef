#include "compiler/Import/ONNX/Operators/IndexComponents.h"
#include "compiler/Import/ONNX/Evaluate.h"

#include "mlir/IR/Matchers.h"

using namespace cleave;
using namespace cleave::onnx_import;

namespace {

// The source of an index tensor, before broadcasts and reshapes. `labels` gives, for each dimension of `value`, its
// dimension of the space, or -1 (kUnit) if its size is 1.
struct Peeled {
  Value value;
  Shape labels;
};

constexpr int64_t kUnit = -1;

// Returns the labels of the operand of a reshape, or nullopt if the reshape changes more than dimensions of size 1.
std::optional<Shape> labelsBefore(llvm::ArrayRef<int64_t> operand, llvm::ArrayRef<int64_t> result,
                                  llvm::ArrayRef<int64_t> labels) {
  Shape wide, before;
  for (auto [size, label] : llvm::zip_equal(result, labels))
    if (size != 1)
      wide.push_back(label);
  size_t next = 0;
  for (int64_t size : operand)
    before.push_back(size == 1 || next == wide.size() ? kUnit : wide[next++]);
  auto isWide = [](int64_t size) { return size != 1; };
  Shape a, b;
  llvm::copy_if(operand, std::back_inserter(a), isWide);
  llvm::copy_if(result, std::back_inserter(b), isWide);
  return a == b ? std::optional<Shape>(before) : std::nullopt;
}

// True if the cast is between integers and keeps every value.
bool isWidening(CastOp cast) {
  mlir::Type from = elementOf(cast->getOperand(0)), to = elementOf(cast->getResult(0));
  return from.isSignlessInteger() && to.isSignlessInteger() && from.getIntOrFloatBitWidth() > 1 &&
         from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
}

Peeled peel(Value value, Budget &budget) {
  Shape labels;
  for (auto [dim, size] : llvm::enumerate(shapeOf(value)))
    labels.push_back(size == 1 ? kUnit : int64_t(dim));
  while (mlir::Operation *op = value.getDefiningOp()) {
    Shape before;
    if (!budget.draw(Budget::Kind::Work, 1))
      break;
    if (auto broadcast = llvm::dyn_cast<BroadcastOp>(op)) {
      for (int64_t dim : broadcast.getDims())
        before.push_back(labels[dim]);
    } else if (auto transpose = llvm::dyn_cast<TransposeOp>(op)) {
      before.assign(labels.size(), kUnit);
      for (auto [dim, from] : llvm::enumerate(transpose.getPermutation()))
        before[from] = labels[dim];
    } else if (llvm::isa<ReshapeOp>(op)) {
      auto found = labelsBefore(shapeOf(op->getOperand(0)), shapeOf(value), labels);
      if (!found)
        break;
      before = *found;
    } else if (auto cast = llvm::dyn_cast<CastOp>(op); cast && isWidening(cast)) {
      before = labels;
    } else {
      break;
    }
    labels = before;
    value = op->getOperand(0);
  }
  return {value, labels};
}

std::optional<Literal> constantOf(Value value) {
  mlir::DenseElementsAttr dense;
  if (!mlir::matchPattern(value, mlir::m_Constant(&dense)) || dense.getNumElements() > Literal::kMaxElements)
    return std::nullopt;
  Literal literal(elementOf(value), shapeOf(value));
  for (const llvm::APInt &element : dense.getValues<llvm::APInt>())
    literal.push(element.getSExtValue());
  return literal;
}

// Removes the dimensions along which the indices do not vary.
IndexComponent analyzeKnown(const Literal &known, llvm::ArrayRef<int64_t> labels) {
  Shape strides = stridesOf(known.shape()), kept, steps;
  IndexComponent component;
  for (int64_t dim = 0; dim < known.rank(); ++dim) {
    auto back = [&](llvm::ArrayRef<int64_t> index) {
      int64_t at = 0;
      for (int64_t d = 0; d < known.rank(); ++d)
        at += d == dim ? 0 : index[d] * strides[d];
      return at;
    };
    auto first = gatherElements(known, known.shape(), back);
    if (known.shape()[dim] == 1 || (first && first->ints() == known.ints()))
      continue;
    component.dims.push_back(labels[dim]);
    kept.push_back(known.shape()[dim]), steps.push_back(strides[dim]);
  }
  component.known = gatherElements(known, kept, [&](llvm::ArrayRef<int64_t> index) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d)
      at += index[d] * steps[d];
    return at;
  });
  if (component.known && component.dims.size() == 1) {
    std::vector<int64_t> values = component.known->ints();
    if (llvm::equal(values, llvm::seq<int64_t>(0, int64_t(values.size()))))
      component.position = component.dims[0];
  }
  return component;
}

// Sorts the dimensions into the order of the space.
void sortDims(Emitter &emit, IndexComponent &component) {
  Shape order(llvm::to_vector(llvm::seq<int64_t>(0, int64_t(component.dims.size()))));
  llvm::sort(order, [&](int64_t a, int64_t b) { return component.dims[a] < component.dims[b]; });
  if (component.known)
    component.known = transposeLiteral(*component.known, order);
  if (component.value)
    component.value = emit.transpose(component.value, order);
  llvm::sort(component.dims);
}

} // namespace

IndexComponent cleave::onnx_import::analyzeIndices(OpContext &op, Value indices) {
  Peeled peeled = peel(indices, op.emit.budget);
  IndexComponent component;
  if (auto iota = peeled.value.getDefiningOp<IotaOp>(); iota && !iota.getOrigin()) {
    int64_t dim = peeled.labels[iota.getDim()];
    if (dim != kUnit)
      return IndexComponent::coordinate(dim);
  }
  if (auto known = constantOf(peeled.value)) {
    component = analyzeKnown(*known, peeled.labels);
  } else {
    Shape kept;
    for (auto [size, label] : llvm::zip_equal(shapeOf(peeled.value), peeled.labels))
      if (label != kUnit)
        component.dims.push_back(label), kept.push_back(size);
    component.value = op.emit.reshape(peeled.value, kept);
    if (elementOf(component.value).getIntOrFloatBitWidth() < 32) // kernels do not take these types
      component.value = op.emit.cast(component.value, op.emit.i64());
  }
  sortDims(op.emit, component);
  return component;
}

IndexComponent cleave::onnx_import::analyzeIndexInput(OpContext &op, size_t i) {
  const Literal *known = op.literal(i);
  if (!known || known->isFloat() || known->numElements() > Literal::kMaxElements)
    return analyzeIndices(op, op.value(i));
  return analyzeKnown(*known, llvm::to_vector(llvm::seq<int64_t>(0, known->rank())));
}

llvm::SmallVector<IndexComponent> cleave::onnx_import::splitIndexInput(OpContext &op, size_t i) {
  const Literal *known = op.literal(i);
  bool isKnown = known && !known->isFloat() && known->numElements() <= Literal::kMaxElements;
  Value tuples = isKnown ? Value() : op.value(i);
  Shape shape(isKnown ? known->shape() : shapeOf(tuples)), space = shape;
  space.pop_back();
  int64_t last = int64_t(space.size());
  auto concat = tuples ? tuples.getDefiningOp<ConcatOp>() : ConcatOp();
  bool isJoined = concat && int64_t(concat.getDim()) == last && int64_t(concat->getNumOperands()) == shape[last];
  llvm::SmallVector<IndexComponent> components;
  for (int64_t k = 0; k < shape[last]; ++k) {
    if (isKnown) {
      auto part = gatherElements(*known, space, [&](llvm::ArrayRef<int64_t> index) {
        int64_t at = 0;
        for (size_t d = 0; d < index.size(); ++d)
          at = at * space[d] + index[d];
        return at * shape[last] + k;
      });
      if (!part) // the budget is exhausted, which IndexedAccess::check() sees
        break;
      components.push_back(analyzeKnown(*part, llvm::to_vector(llvm::seq<int64_t>(0, last))));
    } else {
      Value part = isJoined ? concat->getOperand(unsigned(k)) : op.emit.sliceDim(tuples, last, k, 1);
      components.push_back(analyzeIndices(op, op.emit.reshape(part, space)));
    }
  }
  return components;
}

std::optional<int64_t> cleave::onnx_import::firstOfRun(Emitter &emit, const Literal &indices, int64_t size) {
  int64_t count = indices.numElements();
  bool isRun = !indices.isFloat() && (count == 1 || !indices.isSplat()) && count > 0 && count <= size;
  if (!isRun || !emit.budget.draw(Budget::Kind::Work, uint64_t(count)))
    return std::nullopt;
  int64_t first = indices.asInt(0);
  for (int64_t i = 0; i < count; ++i)
    if (indices.asInt(i) != first + i)
      return std::nullopt;
  return first >= 0 && first <= size - count ? std::optional<int64_t>(first) : std::nullopt;
}

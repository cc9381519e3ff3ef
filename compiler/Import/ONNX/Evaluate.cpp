#include "compiler/Import/ONNX/Evaluate.h"
#include "compiler/Import/ONNX/Emitter.h"
#include "dialects/Cleave/IR/Budget.h"

using namespace cleave::onnx_import;

Shape cleave::onnx_import::stridesOf(llvm::ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 0);
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = shape[dim] == 1 ? 0 : stride;
    stride *= shape[dim];
  }
  return strides;
}

bool cleave::onnx_import::mayEvaluate(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape) {
  auto count = countElements(shape);
  return count && *count <= Literal::kMaxElements &&
         Budget::of(context).draw(Budget::Kind::Elements, uint64_t(*count) + shape.size());
}

bool cleave::onnx_import::forEachIndex(llvm::ArrayRef<int64_t> shape,
                                       llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  auto count = countElements(shape);
  if (!count || *count > Literal::kMaxElements)
    return false;
  Shape index(shape.size(), 0);
  for (int64_t i = 0; i < *count; ++i) {
    visit(index);
    for (size_t dim = shape.size(); dim-- > 0 && ++index[dim] == shape[dim];)
      index[dim] = 0;
  }
  return true;
}

// As forEachIndex(), for results that are evaluated: it draws from the budget first.
static bool evaluateEachIndex(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                              llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit) {
  return mayEvaluate(element.getContext(), shape) && cleave::onnx_import::forEachIndex(shape, visit);
}

static int64_t dot(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

static bool holdsOne(const Literal &a) { return a.isSplat() || a.numElements() == 1; }

// Returns the position of the element that a broadcast operand has at `index` of the result. The operand's dimensions
// are the last ones of the result.
static int64_t broadcastIndex(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides) {
  return dot(index.take_back(strides.size()), strides);
}

std::optional<Literal> cleave::onnx_import::gatherElements(const Literal &operand, llvm::ArrayRef<int64_t> shape,
                                                           llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> map) {
  Literal result(operand.element(), shape);
  if (!evaluateEachIndex(operand.element(), shape,
                         [&](llvm::ArrayRef<int64_t> index) { result.pushFrom(operand, map(index)); }))
    return std::nullopt;
  return result;
}

std::optional<Literal> cleave::onnx_import::transposeLiteral(const Literal &operand,
                                                             llvm::ArrayRef<int64_t> permutation) {
  Shape shape, strides, all = stridesOf(operand.shape());
  for (int64_t dim : permutation) {
    shape.push_back(operand.shape()[dim]);
    strides.push_back(all[dim]);
  }
  return gatherElements(operand, shape, [&](llvm::ArrayRef<int64_t> index) { return dot(index, strides); });
}

std::optional<Literal> cleave::onnx_import::broadcastLiteral(const Literal &operand, llvm::ArrayRef<int64_t> shape) {
  if (holdsOne(operand) && countElements(shape))
    return operand.withShape(shape);
  Shape strides = stridesOf(operand.shape());
  return gatherElements(operand, shape, [&](llvm::ArrayRef<int64_t> index) { return broadcastIndex(index, strides); });
}

std::optional<Literal> cleave::onnx_import::sliceLiteral(const Literal &operand, llvm::ArrayRef<int64_t> starts,
                                                         llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> steps) {
  Shape strides = stridesOf(operand.shape());
  return gatherElements(operand, sizes, [&](llvm::ArrayRef<int64_t> index) {
    int64_t at = 0;
    for (size_t dim = 0; dim < index.size(); ++dim)
      at += (starts[dim] + index[dim] * steps[dim]) * strides[dim];
    return at;
  });
}

std::optional<Literal> cleave::onnx_import::concatLiterals(llvm::ArrayRef<const Literal *> parts, int64_t dim) {
  Shape shape(parts[0]->shape());
  shape[dim] = 0;
  for (const Literal *part : parts)
    shape[dim] += part->shape()[dim];
  if (!mayEvaluate(parts[0]->element().getContext(), shape))
    return std::nullopt;
  // A block is the elements with one index in the dimensions before `dim`. The result has the first block of each part,
  // then the second block of each part, and so on.
  int64_t blocks = *countElements(shape) == 0 ? 0 : *countElements(llvm::ArrayRef<int64_t>(shape).take_front(dim));
  Literal result(parts[0]->element(), shape);
  for (int64_t block = 0; block < blocks; ++block)
    for (const Literal *part : parts) {
      int64_t count = part->numElements() / blocks;
      result.pushFrom(*part, block * count, count);
    }
  return result;
}

std::optional<Literal> cleave::onnx_import::takeLiteral(const Literal &operand, const Literal &indices, int64_t dim) {
  int64_t size = operand.shape()[dim];
  if (indices.numElements() > Literal::kMaxElements)
    return std::nullopt;
  for (int64_t i = 0, n = indices.numElements(); i < n; ++i)
    if (indices.asInt(i) < -size || indices.asInt(i) >= size)
      return std::nullopt;
  Shape shape(operand.shape().take_front(dim));
  shape.append(indices.shape().begin(), indices.shape().end());
  shape.append(operand.shape().begin() + dim + 1, operand.shape().end());
  Shape strides = stridesOf(operand.shape()), indexStrides = stridesOf(indices.shape());
  return gatherElements(operand, shape, [&](llvm::ArrayRef<int64_t> index) {
    int64_t row = indices.asInt(dot(index.slice(dim, indices.rank()), indexStrides));
    return dot(index.take_front(dim), llvm::ArrayRef<int64_t>(strides).take_front(dim)) +
           (row < 0 ? row + size : row) * strides[dim] +
           dot(index.drop_front(dim + indices.rank()), llvm::ArrayRef<int64_t>(strides).drop_front(dim + 1));
  });
}

std::optional<Literal> cleave::onnx_import::reduceLiteral(const Literal &operand, llvm::ArrayRef<int64_t> dims,
                                                          bool keepDims,
                                                          llvm::function_ref<double(double, double)> real,
                                                          llvm::function_ref<int64_t(int64_t, int64_t)> integer) {
  Shape kept = reducedShape(operand.shape(), dims, true), strides = stridesOf(kept);
  auto count = countElements(operand.shape());
  // `kept` has no more elements than the operand.
  if (*count == 0 || *count > Literal::kMaxElements)
    return std::nullopt;
  std::vector<double> reals(*countElements(kept));
  std::vector<int64_t> ints(reals.size());
  std::vector<bool> seen(reals.size(), false);
  int64_t at = 0;
  bool done = evaluateEachIndex(operand.element(), operand.shape(), [&](llvm::ArrayRef<int64_t> index) {
    size_t to = size_t(dot(index, strides));
    reals[to] = seen[to] ? real(reals[to], operand.asReal(at)) : operand.asReal(at);
    ints[to] = seen[to] ? integer(ints[to], operand.asInt(at)) : operand.asInt(at);
    seen[to] = true;
    ++at;
  });
  if (!done)
    return std::nullopt;
  Shape shape = reducedShape(operand.shape(), dims, keepDims);
  return operand.isFloat() ? Literal::ofReals(operand.element(), shape, reals)
                           : Literal::ofInts(operand.element(), shape, ints);
}

std::optional<Literal> cleave::onnx_import::mapLiterals(const Literal &a, const Literal &b, mlir::Type element,
                                                        llvm::function_ref<double(double, double)> real,
                                                        llvm::function_ref<int64_t(int64_t, int64_t)> integer) {
  auto shape = broadcastShapes(a.shape(), b.shape());
  if (!shape)
    return std::nullopt;
  Literal result(element, *shape);
  Shape aStrides = stridesOf(a.shape()), bStrides = stridesOf(b.shape());
  // If both operands have one element, the result is a splat, and one element is computed.
  bool splat = holdsOne(a) && holdsOne(b) && countElements(*shape) != 0;
  bool done = evaluateEachIndex(element, splat ? Shape() : *shape, [&](llvm::ArrayRef<int64_t> index) {
    int64_t i = splat ? 0 : broadcastIndex(index, aStrides), j = splat ? 0 : broadcastIndex(index, bStrides);
    if (a.isFloat())
      result.push(real(a.asReal(i), b.asReal(j)));
    else
      result.push(integer(a.asInt(i), b.asInt(j)));
  });
  return done ? std::optional<Literal>(result) : std::nullopt;
}

std::optional<Literal> cleave::onnx_import::selectLiteral(const Literal &condition, const Literal &onTrue,
                                                          const Literal &onFalse) {
  auto shape = broadcastShapes(onTrue.shape(), onFalse.shape());
  shape = shape ? broadcastShapes(*shape, condition.shape()) : shape;
  if (!shape)
    return std::nullopt;
  Shape c = stridesOf(condition.shape()), t = stridesOf(onTrue.shape()), f = stridesOf(onFalse.shape());
  Literal result(onTrue.element(), *shape);
  bool done = evaluateEachIndex(result.element(), *shape, [&](llvm::ArrayRef<int64_t> index) {
    if (condition.asInt(broadcastIndex(index, c)))
      result.pushFrom(onTrue, broadcastIndex(index, t));
    else
      result.pushFrom(onFalse, broadcastIndex(index, f));
  });
  return done ? std::optional<Literal>(result) : std::nullopt;
}

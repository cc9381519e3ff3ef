#include "compiler/Import/ONNX/Interpreter.h"
#include "compiler/Import/ONNX/Evaluate.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/Folding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace cleave;
using namespace cleave::onnx_import;
using mlir::Attribute;
using mlir::Operation;
using mlir::Value;
namespace linalg = mlir::linalg;
namespace tensor = mlir::tensor;

static mlir::RankedTensorType tensorTypeOf(Value value) {
  return llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
}

static Attribute makeElement(mlir::Type type, const Literal &literal, int64_t i) {
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type))
    return mlir::FloatAttr::get(real, literal.asReal(i));
  auto bits = llvm::APInt(type.getIntOrFloatBitWidth(), uint64_t(literal.asInt(i)), false, /*implicitTrunc=*/true);
  return mlir::IntegerAttr::get(type, bits);
}

// Changes the type of an integer to one of the same width, with or without sign.
static Attribute retype(Attribute element, mlir::Type type) {
  auto integer = llvm::dyn_cast<mlir::IntegerAttr>(element);
  return integer && llvm::isa<mlir::IntegerType>(type) ? mlir::IntegerAttr::get(type, integer.getValue()) : element;
}

void Interpreter::loadDialects(mlir::MLIRContext &context) {
  context.loadDialect<mlir::arith::ArithDialect, linalg::LinalgDialect, mlir::math::MathDialect,
                      tensor::TensorDialect>();
}

void Interpreter::define(Value value, const Literal &literal) {
  if (known_.count(value) || literal.numElements() > kMaxFoldedElements || !take(literal.numElements()))
    return;
  Tensor result{literal.element(), Shape(literal.shape()), {}};
  for (int64_t i = 0, n = literal.numElements(); i < n; ++i)
    result.elements.push_back(makeElement(literal.element(), literal, i));
  known_[value] = std::move(result);
}

std::optional<Literal> Interpreter::find(Value value) const {
  auto it = known_.find(value);
  if (it == known_.end())
    return std::nullopt;
  const Tensor &from = it->second;
  Literal literal(from.element, from.shape);
  for (Attribute element : from.elements) {
    if (auto real = llvm::dyn_cast<mlir::FloatAttr>(element)) {
      llvm::APFloat number = real.getValue();
      bool losesInfo;
      number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      literal.push(number.convertToDouble());
    } else {
      literal.push(llvm::cast<mlir::IntegerAttr>(element).getValue().getSExtValue());
    }
  }
  return literal;
}

// True if all operands are known. Operands that are constants become known here.
bool Interpreter::hasOperands(Operation *op) {
  for (Value operand : op->getOperands()) {
    if (known_.count(operand))
      continue;
    mlir::DenseElementsAttr constant;
    if (!mlir::matchPattern(operand, mlir::m_Constant(&constant)) || constant.getNumElements() > kMaxFoldedElements ||
        !take(constant.getNumElements()))
      return false;
    auto values = constant.getValues<Attribute>();
    known_[operand] = {constant.getElementType(), Shape(constant.getType().getShape()), {values.begin(), values.end()}};
  }
  return true;
}

void Interpreter::visit(Operation *op) {
  if (op->getNumResults() == 0 || known_.count(op->getResult(0)))
    return;
  for (mlir::Type type : op->getResultTypes())
    if (auto shaped = llvm::dyn_cast<mlir::RankedTensorType>(type);
        shaped && shaped.getNumElements() > kMaxFoldedElements)
      return;
  if (!hasOperands(op) || !take(1))
    return;
  if (llvm::isa<ComputeOpInterface>(op))
    visitComputed(op);
  else
    visitLowered(op);
}

// Builds the definition of the op in a scratch block, and runs it.
void Interpreter::visitComputed(Operation *op) {
  auto compute = llvm::cast<ComputeOpInterface>(op);
  ComputeKind kind = compute.getComputeKind();
  if (kind == ComputeKind::Kernel)
    return;
  mlir::Block scratch;
  mlir::OpBuilder builder(op->getContext()); // not of the block, which belongs to no region
  builder.setInsertionPointToEnd(&scratch);
  llvm::SmallVector<Value> results = kind == ComputeKind::Composite ? compute.decompose(builder, op->getOperands())
                                                                    : compute.buildLinalg(builder, op->getOperands());
  for (Operation &lowered : scratch)
    visit(&lowered);
  for (auto [result, value] : llvm::zip(op->getResults(), results))
    if (auto it = known_.find(value); it != known_.end()) {
      Tensor copy = it->second;
      known_[result] = std::move(copy);
    }
  for (Operation &lowered : scratch)
    for (Value value : lowered.getResults())
      known_.erase(value);
}

void Interpreter::visitLowered(Operation *op) {
  if (llvm::isa<linalg::LinalgOp>(op)) {
    runLoops(op);
    return;
  }
  if (op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  if (auto type = tensorTypeOf(result)) {
    if (auto made = moved(op))
      known_[result] = std::move(*made);
  } else if (Attribute scalar = scalarOf(result, Scalars())) {
    known_[result] = {result.getType(), {}, {scalar}};
  }
}

// Computes tensor ops that only move or keep elements. An empty tensor becomes zeros, which are all overwritten later.
std::optional<Interpreter::Tensor> Interpreter::moved(Operation *op) {
  auto type = tensorTypeOf(op->getResult(0));
  if (!take(type.getNumElements()))
    return std::nullopt;
  Tensor result{type.getElementType(), Shape(type.getShape()), {}};
  if (mlir::DenseElementsAttr constant; mlir::matchPattern(op, mlir::m_Constant(&constant))) {
    auto values = constant.getValues<Attribute>();
    result.elements.assign(values.begin(), values.end());
  } else if (llvm::isa<tensor::EmptyOp>(op)) {
    mlir::OpBuilder builder(op->getContext());
    result.elements.assign(size_t(type.getNumElements()), builder.getZeroAttr(type.getElementType()));
  } else if (llvm::isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::BitcastOp>(op)) {
    for (Attribute element : known_[op->getOperand(0)].elements)
      result.elements.push_back(retype(element, type.getElementType()));
  } else if (llvm::isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(op)) {
    // Element `index` of the part is the element at offset + index * stride of the whole.
    auto slice = llvm::cast<mlir::OffsetSizeAndStrideOpInterface>(op);
    bool isExtract = llvm::isa<tensor::ExtractSliceOp>(op);
    const Tensor &first = known_[op->getOperand(0)], &whole = isExtract ? first : known_[op->getOperand(1)];
    if (op->getNumOperands() != (isExtract ? 1u : 2u) || slice.getStaticSizes().size() != whole.shape.size())
      return std::nullopt;
    auto offsets = slice.getStaticOffsets(), sizes = slice.getStaticSizes(), strides = slice.getStaticStrides();
    if (llvm::any_of(offsets, mlir::ShapedType::isDynamic) || llvm::any_of(sizes, mlir::ShapedType::isDynamic))
      return std::nullopt;
    Shape rows = stridesOf(whole.shape);
    if (!isExtract)
      result.elements = whole.elements;
    int64_t next = 0;
    forEachIndex(sizes, [&](llvm::ArrayRef<int64_t> index) {
      int64_t at = 0;
      for (size_t dim = 0; dim < index.size(); ++dim)
        at += (offsets[dim] + index[dim] * strides[dim]) * rows[dim];
      if (isExtract)
        result.elements.push_back(whole.elements[size_t(at)]);
      else
        result.elements[size_t(at)] = first.elements[size_t(next++)];
    });
  } else {
    return std::nullopt;
  }
  return result;
}

// Runs the loops of a linalg op. The indexing maps give the elements that are read and written. A turn costs its scalar
// operations, and one access for each operand.
bool Interpreter::runLoops(Operation *op) {
  auto loops = llvm::cast<linalg::LinalgOp>(op);
  llvm::SmallVector<int64_t> ranges = loops.getStaticLoopRanges();
  auto count = countElements(ranges);
  mlir::Block &body = op->getRegion(0).front();
  if (!loops.hasPureTensorSemantics() || !count || *count > Literal::kMaxElements ||
      !take(std::max<int64_t>(*count, 1) * int64_t(body.getOperations().size() + op->getNumOperands())))
    return false;
  auto maps = loops.getIndexingMapsArray();
  size_t numInputs = size_t(loops.getNumDpsInputs());
  std::vector<Tensor> results;
  for (Value init : loops.getDpsInits()) {
    const Tensor &begin = known_[init];
    if (!take(int64_t(begin.elements.size())))
      return false;
    results.push_back(begin);
  }
  std::vector<const Tensor *> operands; // `known_` does not change while the loops run
  for (Value input : loops.getDpsInputs())
    operands.push_back(&known_[input]);
  for (const Tensor &result : results)
    operands.push_back(&result);
  bool done = true;
  forEachIndex(ranges, [&](llvm::ArrayRef<int64_t> index) {
    Scalars scalars;
    llvm::SmallVector<Attribute> yielded;
    std::vector<size_t> places;
    for (auto [i, map] : llvm::enumerate(maps)) {
      const Tensor &from = *operands[i];
      Shape strides = stridesOf(from.shape), at = Shape(map.compose(index));
      int64_t place = 0;
      for (size_t dim = 0; dim < at.size(); ++dim)
        place += at[dim] * strides[dim];
      places.push_back(size_t(place));
      scalars[body.getArgument(unsigned(i))] = from.elements[places.back()];
    }
    done = done && runBody(body, index, scalars, yielded);
    for (size_t i = 0; done && i < yielded.size(); ++i)
      results[i].elements[places[numInputs + i]] = yielded[i];
  });
  for (unsigned i = 0; done && i < op->getNumResults(); ++i)
    known_[op->getResult(i)] = std::move(results[i]);
  return done;
}

Attribute Interpreter::scalarOf(Value value, const Scalars &scalars) const {
  if (auto it = scalars.find(value); it != scalars.end())
    return it->second;
  if (auto it = known_.find(value); it != known_.end() && it->second.shape.empty())
    return it->second.elements[0];
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || op->getNumRegions() != 0)
    return nullptr;
  llvm::SmallVector<Attribute> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scalarOf(operand, scalars));
  if (llvm::is_contained(operands, Attribute()))
    return nullptr;
  // MLIR's folder folds only exact truncations, but compiled code rounds to nearest.
  if (auto narrow = llvm::dyn_cast<mlir::arith::TruncFOp>(op)) {
    auto wide = llvm::dyn_cast<mlir::FloatAttr>(operands[0]);
    if (!wide)
      return nullptr;
    llvm::APFloat number = wide.getValue();
    bool losesInfo;
    auto type = llvm::cast<mlir::FloatType>(narrow.getType());
    number.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return mlir::FloatAttr::get(type, number);
  }
  llvm::SmallVector<mlir::OpFoldResult> folded;
  if (mlir::failed(op->fold(operands, folded)) || folded.size() != 1)
    return nullptr;
  if (auto constant = llvm::dyn_cast<Attribute>(folded[0]))
    return constant;
  return scalarOf(llvm::cast<Value>(folded[0]), scalars);
}

// Runs one iteration of the loops: the body's ops in order.
bool Interpreter::runBody(mlir::Block &body, llvm::ArrayRef<int64_t> index, Scalars &scalars,
                          llvm::SmallVectorImpl<Attribute> &yielded) {
  for (Operation &op : body.without_terminator()) {
    if (op.getNumResults() != 1)
      return false;
    Attribute result;
    if (auto position = llvm::dyn_cast<linalg::IndexOp>(op))
      result = mlir::IntegerAttr::get(position.getType(), index[position.getDim()]);
    else
      result = scalarOf(op.getResult(0), scalars);
    if (!result)
      return false;
    scalars[op.getResult(0)] = result;
  }
  for (Value value : body.getTerminator()->getOperands()) {
    yielded.push_back(scalarOf(value, scalars));
    if (!yielded.back())
      return false;
  }
  return true;
}

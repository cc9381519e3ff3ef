#include "compiler/Driver/BatchSizeUse.h"

#include "compiler/Import/ONNX/SizeDecisions.h"
#include "compiler/Training/Loss/SampleDependence.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/StringMap.h"

using namespace cleave;

namespace {

using Shape = llvm::ArrayRef<int64_t>;
using Twins = std::pair<mlir::Value, mlir::Value>; // of one module, and of the other

Shape shapeOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape(); }

mlir::func::FuncOp modelOf(const ImportedModel &model) {
  mlir::ModuleOp module = *model.module;
  auto function = module.lookupSymbol<mlir::func::FuncOp>("model");
  return function && function.getBody().hasOneBlock() ? function : mlir::func::FuncOp();
}

// One of the two imports, with its states by name.
struct Import {
  explicit Import(const ImportedModel &model) : model(model) {
    for (auto state : mlir::ModuleOp(*model.module).getOps<StateOp>())
      states[state.getSymName()] = state;
  }
  // The bytes of a large constant; nothing for other states.
  llvm::ArrayRef<char> bytesOf(StateOp state) const {
    if (!state || state.getRole() != Role::Constant)
      return {};
    const WeightTensor *tensor = model.weights.find(mlir::cast<SegmentAttr>(state.getSegments()[0]).getName().strref());
    return tensor ? tensor->bytes : llvm::ArrayRef<char>();
  }

  const ImportedModel &model;
  llvm::StringMap<StateOp> states;
};

// The elements of a constant. Two of them are equal, or not.
class Elements {
public:
  Elements(mlir::Value value, const Import &import) {
    mlir::matchPattern(value, mlir::m_Constant(&dense));
    if (auto read = value.getDefiningOp<ReadOp>()) {
      state = read.getState();
      bytes = import.bytesOf(import.states.lookup(state));
    }
  }

  bool isKnown() const { return dense || !bytes.empty(); }
  // Of what is not known: parameters, which are one in both imports.
  bool isSameState(const Elements &other) const { return state == other.state; }
  bool isSame(const Elements &other) const {
    return dense ? dense == other.dense : bytes.data() == other.bytes.data() && bytes.size() == other.bytes.size();
  }
  bool isComparable(const Elements &other) const { return !dense == !other.dense; }
  bool isSplat() const { return dense && dense.isSplat(); }
  // What `get` needs.
  void unpack(int64_t count) {
    elementBytes = bytes.size() / static_cast<size_t>(std::max<int64_t>(1, count));
    if (dense && !dense.isSplat())
      attributes = llvm::to_vector(dense.getValues<mlir::Attribute>());
    else if (dense)
      attributes = {dense.getSplatValue<mlir::Attribute>()};
  }
  bool equals(int64_t i, const Elements &other, int64_t j) const {
    return dense ? attribute(i) == other.attribute(j) : slice(i) == other.slice(j);
  }

private:
  mlir::Attribute attribute(int64_t i) const { return attributes.size() == 1 ? attributes[0] : attributes[i]; }
  llvm::ArrayRef<char> slice(int64_t i) const { return bytes.slice(i * elementBytes, elementBytes); }

  mlir::DenseElementsAttr dense;
  llvm::StringRef state;
  llvm::ArrayRef<char> bytes;
  llvm::SmallVector<mlir::Attribute> attributes;
  size_t elementBytes = 0;
};

// The place in the other shape of an element of the one, where dimensions that differ count (outer, samples): `outer`
// is the same in both. Nothing where that is not whole.
std::optional<int64_t> placeIn(Shape other, Shape one, int64_t outer, int64_t index) {
  int64_t place = 0, stride = 1;
  for (size_t dim = one.size(); dim-- > 0;) {
    int64_t at = index % one[dim];
    index /= one[dim];
    if (one[dim] != other[dim]) {
      if (one[dim] % outer != 0 || other[dim] % outer != 0 || other[dim] < one[dim])
        return std::nullopt;
      int64_t inner = one[dim] / outer;
      at = at / inner * (other[dim] / outer) + at % inner;
    }
    place += at * stride;
    stride *= other[dim];
  }
  return place;
}

// Of two splats, which may be large, one element tells about all.
bool agree(const Elements &one, Shape shape, const Elements &other, Shape otherShape, int64_t outer) {
  int64_t count = mlir::ShapedType::getNumElements(shape);
  if (one.isSplat() && other.isSplat())
    count = std::min<int64_t>(count, 1);
  for (int64_t i = 0; i < count; ++i) {
    std::optional<int64_t> place = placeIn(otherShape, shape, outer, i);
    if (!place || !one.equals(i, other, *place))
      return false;
  }
  return true;
}

// Whether a constant differs by more than its size.
bool differs(Twins twins, const Import &oneImport, const Import &otherImport) {
  Elements one(twins.first, oneImport), other(twins.second, otherImport);
  Shape shape = shapeOf(twins.first), otherShape = shapeOf(twins.second);
  if (!one.isKnown() && !other.isKnown())
    return !one.isSameState(other) || shape != otherShape;
  if (!one.isKnown() || !other.isKnown() || !one.isComparable(other) || shape.size() != otherShape.size())
    return true;
  if (shape == otherShape && one.isSame(other))
    return false;
  one.unpack(mlir::ShapedType::getNumElements(shape));
  other.unpack(mlir::ShapedType::getNumElements(otherShape));
  int64_t largest = 1;
  for (auto [size, otherSize] : llvm::zip(shape, otherShape))
    largest = std::max(largest, size != otherSize ? size : 1);
  constexpr int64_t kMostOuter = 1 << 12;
  for (int64_t outer = 1; outer <= std::min(largest, kMostOuter); ++outer)
    if (largest % outer == 0 && agree(one, shape, other, otherShape, outer))
      return false;
  return true;
}

class Comparison {
public:
  Comparison(const ImportedModel &one, const ImportedModel &other, mlir::func::FuncOp function)
      : one(one), other(other), samples(function), dims(function) {}

  // Whether the value is made of the batch's size. Depth first, without recursion: graphs are deep.
  SizeUse usesSize(Twins twins) {
    llvm::SmallVector<Twins> open = {twins};
    while (!open.empty()) {
      Twins next = open.back();
      size_t before = open.size();
      if (!known.contains(next))
        for (Twins operand : operandsOf(next))
          if (!known.contains(operand))
            open.push_back(operand);
      if (open.size() > before)
        continue;
      if (!known.contains(next))
        known[next] = decide(next);
      open.pop_back();
    }
    return known.lookup(twins);
  }

private:
  static bool isLeaf(mlir::Value value) {
    mlir::Operation *op = value.getDefiningOp();
    return !op || mlir::isa<ReadOp>(op) || op->hasTrait<mlir::OpTrait::ConstantLike>();
  }
  static bool areAlike(Twins twins) {
    mlir::Operation *op = twins.first.getDefiningOp(), *twin = twins.second.getDefiningOp();
    if (!op || !twin)
      return !op && !twin &&
             mlir::cast<mlir::BlockArgument>(twins.first).getArgNumber() ==
                 mlir::cast<mlir::BlockArgument>(twins.second).getArgNumber();
    return (isLeaf(twins.first) && isLeaf(twins.second)) ||
           (op->getName() == twin->getName() &&
            (op->getNumOperands() == twin->getNumOperands() || arePieces(op, twin)) &&
            mlir::cast<mlir::OpResult>(twins.first).getResultNumber() ==
                mlir::cast<mlir::OpResult>(twins.second).getResultNumber());
  }
  // Concatenations along a dimension that grows with the batch: of a piece for each sample, there are more.
  static bool arePieces(mlir::Operation *op, mlir::Operation *twin) {
    std::optional<int64_t> joined = joinedDim(op);
    return joined && op->getNumOperands() <= twin->getNumOperands() &&
           shapeOf(op->getResult(0)).size() == shapeOf(twin->getResult(0)).size() &&
           shapeOf(op->getResult(0))[*joined] != shapeOf(twin->getResult(0))[*joined];
  }
  // Those that both have.
  static llvm::SmallVector<Twins> operandsOf(Twins twins) {
    llvm::SmallVector<Twins> operands;
    if (areAlike(twins) && !isLeaf(twins.first))
      for (auto [operand, twin] :
           llvm::zip(twins.first.getDefiningOp()->getOperands(), twins.second.getDefiningOp()->getOperands()))
        operands.emplace_back(operand, twin);
    return operands;
  }

  SizeUse decide(Twins twins) {
    if (!areAlike(twins))
      return SizeUse::Unknown;
    if (isLeaf(twins.first))
      return twins.first.getDefiningOp() && differs(twins, one, other) ? SizeUse::Yes : SizeUse::No;
    mlir::Operation *op = twins.first.getDefiningOp(), *twin = twins.second.getDefiningOp();
    SizeUse use = attributesDiffer(op, twin) || losesGrowth(op, twin) ? SizeUse::Yes : SizeUse::No;
    for (Twins operand : operandsOf(twins))
      use = std::max(use, known.lookup(operand));
    return use;
  }

  // Whether the ops say different things, besides the sizes of dimensions that grow with the batch.
  static bool attributesDiffer(mlir::Operation *op, mlir::Operation *twin) {
    for (auto [starts, twins] : llvm::zip(startsOf(op), startsOf(twin)))
      if (differsWhereAlike(starts, twins, op->getOperandTypes(), twin->getOperandTypes()))
        return true;
    for (mlir::StringAttr name : op->getName().getAttributeNames()) {
      mlir::Attribute one = op->getAttr(name), other = twin->getAttr(name);
      auto array = mlir::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(one),
           others = mlir::dyn_cast_or_null<mlir::DenseI64ArrayAttr>(other);
      if (one != other &&
          (!array || !others || differsWhereAlike(array, others, op->getResultTypes(), twin->getResultTypes())))
        return true;
    }
    return false;
  }
  // Numbers of dimensions, in one that has the same size in both. The types are those that the numbers are of.
  static bool differsWhereAlike(Shape one, Shape other, mlir::TypeRange types, mlir::TypeRange twins) {
    if (one.size() != other.size() || types.empty() || twins.empty())
      return true;
    Shape shape = mlir::cast<mlir::RankedTensorType>(types[0]).getShape(),
          twin = mlir::cast<mlir::RankedTensorType>(twins[0]).getShape();
    for (size_t dim = 0; dim < one.size(); ++dim)
      if (one[dim] != other[dim] &&
          (shape.size() != one.size() || twin.size() != one.size() || shape[dim] == twin[dim]))
        return true;
    return false;
  }

  // Whether a dimension of an operand grows with the batch, holds no samples, and does not go on as one of the result
  // that grows: how many there are then makes the result. Whether samples are mixed is SampleDependence's question.
  //
  //   w[0:batch] -> tanh -> the last row of it       the row is another one in another batch
  bool losesGrowth(mlir::Operation *op, mlir::Operation *twin) const {
    if (reshapedOperand(op))
      return false; // all elements are there
    for (auto [index, operands] : llvm::enumerate(llvm::zip(op->getOperands(), twin->getOperands()))) {
      auto [operand, other] = operands;
      Shape shape = shapeOf(operand), otherShape = shapeOf(other);
      if (shape.size() != otherShape.size())
        return true;
      for (size_t dim = 0; dim < shape.size(); ++dim)
        if (shape[dim] != otherShape[dim] && !mayHoldSamples(operand, dim) && !growsOn(op, twin, index, dim))
          return true;
    }
    return false;
  }
  // As the loop along which the result grows, or, where it is no loop (cut, joined, padded), in its place.
  static bool growsOn(mlir::Operation *op, mlir::Operation *twin, size_t index, size_t dim) {
    auto loops = mlir::dyn_cast<mlir::shard::ShardingInterface>(op);
    llvm::SmallVector<mlir::AffineMap> maps = loops ? loops.getIndexingMaps() : llvm::SmallVector<mlir::AffineMap>();
    if (maps.size() != op->getNumOperands() + op->getNumResults())
      return false;
    mlir::AffineExpr place = maps[index].getResult(dim);
    for (auto [number, result] : llvm::enumerate(op->getResults())) {
      Shape shape = shapeOf(result), twinShape = shapeOf(twin->getResult(number));
      mlir::AffineMap map = maps[op->getNumOperands() + number];
      bool goesOn = false;
      for (size_t to = 0; to < shape.size() && twinShape.size() == shape.size(); ++to)
        goesOn |= shape[to] != twinShape[to] &&
                  (mlir::isa<mlir::AffineDimExpr>(place) ? map.getResult(to) == place
                                                         : to == dim && shape.size() == maps[index].getNumResults());
      if (!goesOn)
        return false;
    }
    return true;
  }
  bool mayHoldSamples(mlir::Value value, size_t dim) const {
    auto at = dims.get(value);
    return samples.get(value) != Dependence::None && (!at || at->dim == static_cast<int64_t>(dim));
  }

  Import one, other;
  SampleDependence samples;
  SampleDims dims;
  llvm::DenseMap<Twins, SizeUse> known;
};

// The batch of the first input that has one.
int64_t batchOf(mlir::func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto dim = function.getArgAttrOfType<mlir::IntegerAttr>(i, kBatchDimAttr))
      return shapeOf(function.getArgument(i))[dim.getInt()];
  return 0;
}

// The size of a sample, too, may follow from how many there are: x @ x^T has one column for each.
bool shapesFollow(Shape one, Shape other, int64_t batchDim, int64_t batch, int64_t otherBatch) {
  if (one.size() != other.size())
    return false;
  for (auto [dim, sizes] : llvm::enumerate(llvm::zip(one, other))) {
    auto [size, otherSize] = sizes;
    bool isBatch = static_cast<int64_t>(dim) == batchDim;
    if (isBatch ? size * otherBatch != otherSize * batch : size != otherSize)
      return false;
  }
  return true;
}

} // namespace

std::map<std::string, SizeUse> cleave::findBatchSizeUse(const ImportedModel &one, const ImportedModel &other) {
  std::map<std::string, SizeUse> uses;
  mlir::func::FuncOp function = modelOf(one), twin = modelOf(other);
  if (!function || !twin || function.getNumArguments() != twin.getNumArguments() ||
      function.getNumResults() != twin.getNumResults())
    return uses;
  Comparison comparison(one, other, function);
  llvm::StringSet<> decided = outputsDecidedBySize(one, other);
  auto outputs = function.getBody().front().getTerminator()->getOperands();
  auto twins = twin.getBody().front().getTerminator()->getOperands();
  for (auto [index, output, otherOutput] : llvm::enumerate(outputs, twins)) {
    auto name = function.getResultAttrOfType<mlir::StringAttr>(index, kNameAttr);
    auto dim = function.getResultAttrOfType<mlir::IntegerAttr>(index, kBatchDimAttr);
    if (!name || !dim)
      continue;
    bool follows = shapesFollow(shapeOf(output), shapeOf(otherOutput), dim.getInt(), batchOf(function), batchOf(twin));
    follows &= !decided.contains(name.getValue());
    uses[name.getValue().str()] = follows ? comparison.usesSize({output, otherOutput}) : SizeUse::Yes;
  }
  return uses;
}

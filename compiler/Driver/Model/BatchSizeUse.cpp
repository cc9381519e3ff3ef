#include "compiler/Driver/Model/BatchSizeUse.h"

#include "compiler/Driver/Model/BatchedModel.h"
#include "compiler/Driver/Model/ConstantCompare.h"
#include "compiler/Driver/Model/LengthDependence.h"
#include "compiler/Import/ONNX/SizeDecisions.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/OpSupport.h"

using namespace cleave;

namespace {

using Shape = llvm::ArrayRef<int64_t>;

// Follows twins from the outputs to the constants from which they are computed.
class Comparison {
public:
  Comparison(const ImportedModel &one, const ImportedModel &other, mlir::func::FuncOp function)
      : one(one), other(other), lengths(function) {}

  // Returns whether the value is computed from the batch size. The search is depth first and without recursion, because
  // graphs are deep.
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
  // True for concatenations along a dimension that grows with the batch. If they have a piece for each sample, the twin
  // has more operands.
  static bool arePieces(mlir::Operation *op, mlir::Operation *twin) {
    std::optional<int64_t> joined = joinedDim(op);
    return joined && op->getNumOperands() <= twin->getNumOperands() &&
           shapeOf(op->getResult(0)).size() == shapeOf(twin->getResult(0)).size() &&
           shapeOf(op->getResult(0))[*joined] != shapeOf(twin->getResult(0))[*joined];
  }
  // Returns the operands that both ops have.
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
      return twins.first.getDefiningOp() && differsBesidesSize(twins.first, one, twins.second, other) ? SizeUse::Yes
                                                                                                      : SizeUse::No;
    mlir::Operation *op = twins.first.getDefiningOp(), *twin = twins.second.getDefiningOp();
    SizeUse use = attributesDiffer(op, twin) || lengths.dependsOnLength(op, twin) ? SizeUse::Yes : SizeUse::No;
    for (Twins operand : operandsOf(twins))
      use = std::max(use, known.lookup(operand));
    return use;
  }

  // True if the attributes of the ops differ in more than the sizes of dimensions that grow with the batch.
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
  // Compares numbers that belong to dimensions. True if they differ in a dimension that has the same size in both
  // modules. The types are those of the tensors with these dimensions.
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

  ImportedStates one, other;
  LengthDependence lengths;
  llvm::DenseMap<Twins, SizeUse> known;
};

// False if the size of a sample depends on the number of samples, too: x @ x^T has one column for each sample.
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
  mlir::func::FuncOp function = modelFunction(*one.module), twin = modelFunction(*other.module);
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

llvm::SmallVector<SizeUse> cleave::findBatchSizeUse(const ImportedModel &one, const ImportedModel &other,
                                                    mlir::func::FuncOp function,
                                                    llvm::ArrayRef<llvm::SmallVector<Twins>> groups) {
  llvm::SmallVector<SizeUse> uses;
  Comparison comparison(one, other, function);
  for (const auto &group : groups) {
    uses.push_back(SizeUse::No);
    for (Twins each : group)
      uses.back() = std::max(uses.back(), comparison.usesSize(each));
  }
  return uses;
}

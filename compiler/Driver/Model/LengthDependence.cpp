#include "compiler/Driver/Model/LengthDependence.h"

#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/OpSupport.h"

using namespace cleave;

using Shape = llvm::ArrayRef<int64_t>;

// True if each result grows along the dimension's loop. If the dimension is not a loop (it is cut, joined or padded),
// the result must grow in the dimension of the same index.
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

// Rows of samples are in the first of their dimensions, and the samples of a row in those after it: the groups of a
// batch normalization. A row of one sample has them in a dimension of size 1, where the next sample would be.
bool LengthDependence::mayHoldSamples(mlir::Value value, size_t dim) const {
  auto at = dims.get(value);
  if (samples.get(value) == Dependence::None || !at)
    return samples.get(value) != Dependence::None;
  Shape shape = shapeOf(value);
  auto first = static_cast<size_t>(at->dim);
  bool isBeside = shape[dim] == 1 && strideOf(shape, static_cast<int64_t>(dim)) == strideOf(shape, at->dim) * at->inner;
  return dim == first || isBeside || (at->count < batch && first < dim);
}

bool LengthDependence::dependsOnLength(mlir::Operation *op, mlir::Operation *twin) const {
  if (reshapedOperand(op))
    return false; // a reshape keeps all elements
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

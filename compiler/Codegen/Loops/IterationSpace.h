// The iteration space that a group of tensor ops shares. It is found by unifying the dimensions that one loop walks.
//
//   %m = reduce max %x, [1]        x: (a, b)   m: (a)
//   %b = broadcast %m, [0]         b: (a, c)
//   %y = sub %x, %b                y: (d, e), and x ~ b ~ y unify: a = d, b = c = e
//
// The space is {a: parallel, b: reduced}. Fusion requires that the linalg form of a group has a space (its legality
// rule). Code generators require the same of the kernel's linalg form, to place its loops (LinalgForm.h,
// KernelGraph.h). So everything that was fused can be compiled.
//
// A group has a space if
//  - every dimension of it has elements;
//  - all its reductions (over more than one element) run over the same dimensions, and reduce the same of them;
//  - every output has exactly the space's dimensions, or exactly its parallel ones, each once;
//  - elements are computed few times (checkReads): a value that depends on no reduction is computed again for every
//    other index at which it is read, and ten sums of neighbours, each of the one before, read a thousand elements of
//    the first;
//  - a value that depends on a reduction has only dimensions of the space, and is read at its own index: a reduced
//    value exists only for the current parallel index.
// Dimensions of size 1 never count. Values that depend on no reduction may be read anywhere (slices, pads): they are
// computed again from the group's inputs at the index that is read. A constant of one number relates no dimensions: ops
// that read the same constant share nothing by it. A sum that picks one of its terms (PickedSum.h) is not a reduction,
// but a read at another index, that of the term. If the sum depends on a reduction, the index must be of a reduced
// dimension.
#ifndef CLEAVE_COMPILER_CODEGEN_LOOPS_ITERATIONSPACE_H
#define CLEAVE_COMPILER_CODEGEN_LOOPS_ITERATIONSPACE_H

#include "compiler/Codegen/Loops/PickedSum.h"

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <string>

namespace cleave {

// An op as loops. `maps[i]` says how `values[i]` (operands, then results) is indexed. An op that cannot say this has no
// maps and is opaque: its operands may not depend on reductions.
struct LoopNest {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;

  static LoopNest of(mlir::Operation *op);
};

class IterationSpace {
public:
  // Stand for dimensions of values that are not dimensions of the space: those of size 1, and others.
  static constexpr int kUnit = -1, kOther = -2;
  struct Dim {
    int64_t size;
    bool reduced;
  };

  // Returns the space of a group. `nests` must be in topological order; `outputs` are the values that leave the group.
  // If there is none, `why` says which rule is violated.
  static std::optional<IterationSpace> find(llvm::ArrayRef<const LoopNest *> nests, llvm::ArrayRef<mlir::Value> outputs,
                                            std::string *why = nullptr);

  llvm::ArrayRef<Dim> getDims() const { return dims; }
  bool hasReductions() const { return !reductions.empty(); }
  // True for ops that reduce more than one element.
  bool isReduction(mlir::Operation *op) const { return reductions.contains(op); }
  // Returns the description of a sum that is not a reduction, because it picks one of its terms; null for other ops.
  const PickedSum *pickedSum(mlir::Operation *op) const {
    auto found = pickedSums.find(op);
    return found == pickedSums.end() ? nullptr : &found->second;
  }
  // Returns for every dimension of `value` the space's dimension that walks it, kUnit or kOther.
  llvm::SmallVector<int> dimsOf(mlir::Value value) const;
  // Returns the same for the loops of an op.
  llvm::SmallVector<int> loopsOf(mlir::Operation *op) const;
  // True if operand `number` of the nest is read at the current index of the nest's loops, dimension by dimension.
  bool readsAtOwnIndex(const LoopNest &nest, unsigned number) const;
  // True if `value` has every dimension of the space, each once, and no others.
  bool isFull(mlir::Value value) const;
  // Returns the number of reductions on the longest path to `value`.
  int getLevel(mlir::Value value) const { return levels.lookup(value); }

private:
  friend class SpaceFinder;
  llvm::SmallVector<Dim> dims;
  llvm::DenseMap<mlir::Operation *, int> reductions;
  llvm::DenseMap<mlir::Operation *, PickedSum> pickedSums;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int>> valueDims;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int>> loopDims;
  llvm::DenseMap<mlir::Value, int> levels;
};

} // namespace cleave

#endif

// The iteration space that a group of tensor ops shares, found by unifying the dimensions that one loop walks.
//
//   %m = reduce max %x, [1]        x: (a, b)   m: (a)
//   %b = broadcast %m, [0]         b: (a, c)
//   %y = sub %x, %b                y: (d, e), and x ~ b ~ y unify: a = d, b = c = e
//
// The space is {a: parallel, b: reduced}. Fusion asks whether a group has one (its legality rule); the host's code
// generator asks the same of the group's linalg form, to place its loops. Both use this file, so that what was fused
// can be compiled.
//
// A group has a space when
//  - all its reductions (over more than one element) run over the same dimensions, and reduce the same of them;
//  - every output has exactly the space's dimensions, or exactly its parallel ones, each once;
//  - whatever depends on a reduction has dimensions of the space only and is read at its own index: a reduced value
//    exists for the current parallel index alone.
// Dimensions of size 1 never count. Values that depend on no reduction may be read anywhere (slices, pads): they are
// recomputed from the group's inputs at the index where they are wanted.
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_ITERATIONSPACE_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_ITERATIONSPACE_H

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <string>

namespace cleave {

// An op as loops: `maps[i]` says how `values[i]` (operands, then results) is indexed. An op that cannot say has no maps
// and is opaque: its operands may not depend on reductions.
struct LoopNest {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;

  // Asks ShardingInterface (cleave ops) or LinalgOp.
  static LoopNest of(mlir::Operation *op);
};

class IterationSpace {
public:
  // Dimensions of values that are not dimensions of the space.
  static constexpr int kUnit = -1, kOther = -2;
  struct Dim {
    int64_t size;
    bool reduced;
  };

  // `nests` in topological order; `outputs` are the values that leave the group. On failure `why` says which rule
  // broke.
  static std::optional<IterationSpace> find(llvm::ArrayRef<LoopNest> nests, llvm::ArrayRef<mlir::Value> outputs,
                                            std::string *why = nullptr);

  llvm::ArrayRef<Dim> getDims() const { return dims; }
  bool hasReductions() const { return !reductions.empty(); }
  // Ops that reduce more than one element.
  bool isReduction(mlir::Operation *op) const { return reductions.contains(op); }
  // For every dimension of `value` the space's dimension that walks it, kUnit or kOther.
  llvm::SmallVector<int> dimsOf(mlir::Value value) const;
  // The same for the loops of an op.
  llvm::SmallVector<int> loopsOf(mlir::Operation *op) const;
  // Whether `value` has every dimension of the space, each once, and no others.
  bool isFull(mlir::Value value) const;
  // Number of reductions on the longest path to `value`.
  int getLevel(mlir::Value value) const { return levels.lookup(value); }

private:
  friend class SpaceFinder;
  llvm::SmallVector<Dim> dims;
  llvm::DenseMap<mlir::Operation *, int> reductions;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int>> valueDims;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int>> loopDims;
  llvm::DenseMap<mlir::Value, int> levels;
};

} // namespace cleave

#endif

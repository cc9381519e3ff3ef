// The bridge between an op's values and its loops: which mesh axes split each loop, and what that makes of operands and
// results. Knows ops only through upstream's ShardingInterface (dialects/Cleave/IR/Rationale.md, "Indexing maps").
//
// Example: matmul with loops (m, n, k: sum). Operand shardings [["dp"], []] and [[], []] split loop m: the result is
// [["dp"], []]. [[], ["dp"]] and [["dp"], []] split loop k: the result is [[], []], partial over "dp".
//
// A dimension that several loops make (reshape: 16 x 4 -> d0 * 4 + d1) is split along one of them. Along the first,
// parts are pieces of the dimension; along another one the dimension is split in blocks (ShardingAttr): [[], ["dp"]]
// gives
// [[16, "dp"]]. What an op does alike to all indices of a loop it does alike to a part of every block, so blocks pass
// plain loops as pieces do: a product of rows, its bias, the sum over all rows that is a gradient.
#ifndef CLEAVE_COMPILER_SHARDING_LOOPSHARDING_H
#define CLEAVE_COMPILER_SHARDING_LOOPSHARDING_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

class LoopSharding {
public:
  LoopSharding(mlir::Operation *op, MeshAttr mesh);

  // May value `index` (operands, then results) be split so? Then its loops are; otherwise nothing changes. A loop takes
  // one list of axes, an axis one loop, and the loop's size must divide evenly.
  bool propose(unsigned index, ShardingAttr sharding, bool allowReduction = true);

  // Operand `index` is partial: every rank may add its own part of it.
  void setPartial(unsigned index) { isPartial[index] = true; }
  // The axes that split those of operand `index`'s dimensions that are summed away.
  llvm::SmallVector<llvm::StringRef> getSummedAxes(unsigned index) const;

  ShardingAttr getOperand(unsigned index) const { return valueSharding(index, false); }
  ShardingAttr getResult(unsigned index) const { return valueSharding(index + numOperands, true); }

private:
  // How a loop or a dimension is split; not at all without axes.
  struct Split {
    int64_t blocks = 1;
    llvm::SmallVector<llvm::StringRef> axes;
  };
  // One of the loops that make a dimension.
  struct Factor {
    int64_t size, loop;
  };
  using Factors = llvm::SmallVector<Factor>; // the slowest first

  void setFactors();
  static int64_t enter(llvm::ArrayRef<Factor> factors, Split &split);
  bool isSplittable(int64_t loop, const Split &split, bool allowReduction) const;
  bool canSplit(llvm::ArrayRef<Split> proposed) const;
  bool isSummedAlone(int64_t loop) const;
  bool isInEveryResult(int64_t loop) const;
  static Split dimSplit(llvm::ArrayRef<Factor> factors, llvm::ArrayRef<Split> splits);
  ShardingAttr valueSharding(unsigned index, bool isResult) const;
  // How the parts of a split reduction are combined; none for a kind that collectives do not have.
  std::optional<ReduceKind> reductionOf(int64_t loop) const;
  bool isReduction(int64_t loop) const { return iterators[loop] == mlir::utils::IteratorType::reduction; }

  mlir::Operation *op;
  MeshAttr mesh;
  unsigned numOperands;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  llvm::SmallVector<mlir::shard::ReductionKind> kinds;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<llvm::SmallVector<Factors>> factors; // of each value's dimensions
  llvm::SmallVector<std::optional<int64_t>> sizes;       // of each loop; none where it cannot be split
  llvm::SmallVector<bool> isPartial;                     // of each operand
  llvm::SmallVector<Split> splits;                       // of each loop
};

// The type of operand or result `index`, operands first.
mlir::RankedTensorType valueType(mlir::Operation *op, unsigned index);

} // namespace cleave

#endif

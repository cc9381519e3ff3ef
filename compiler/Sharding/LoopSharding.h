// The bridge between an op's values and its loops: which mesh axes split each loop, and how operands and results are
// split by that. It knows ops only through upstream's ShardingInterface (dialects/Cleave/IR/Rationale.md, "Indexing
// maps").
//
// Example: matmul with loops (m, n, k: sum). Operand shardings [["dp"], []] and [[], []] split loop m: the result is
// [["dp"], []]. [[], ["dp"]] and [["dp"], []] split loop k: the result is [[], []], partial over "dp".
//
// A dimension that several loops make (reshape: 16 x 4 -> d0 * 4 + d1) is split along one of them. Along the first,
// parts are contiguous pieces of the dimension. Along another one the dimension is split in blocks (ShardingAttr):
// [[], ["dp"]] becomes [[16, "dp"]]. An op that treats all indices of a loop alike also treats parts of every block
// alike. So blocks pass through plain loops as contiguous pieces do: a product of rows, its bias, the sum over all rows
// that is a gradient.
#ifndef CLEAVE_COMPILER_SHARDING_LOOPSHARDING_H
#define CLEAVE_COMPILER_SHARDING_LOOPSHARDING_H

#include "dialects/Cleave/IR/Cleave.h"

namespace cleave {

// Returns how the parts of a split reduction loop are combined; none for a kind that collectives do not have. The two
// lists are those of upstream's ShardingInterface.
std::optional<ReduceKind> reductionOf(llvm::ArrayRef<mlir::utils::IteratorType> iterators,
                                      llvm::ArrayRef<mlir::shard::ReductionKind> kinds, int64_t loop);

class LoopSharding {
public:
  LoopSharding(mlir::Operation *op, MeshAttr mesh);

  // Splits the loops of value `index` (operands, then results) as `sharding` says. Returns false and changes nothing if
  // this is impossible: a loop takes one list of axes, an axis splits one loop, and the loop's size must divide evenly.
  bool propose(unsigned index, ShardingAttr sharding, bool allowReduction = true);

  // Says that operand `index` is partial: then every rank may add its own operand.
  void setPartial(unsigned index) { isPartial[index] = true; }
  // Returns the axes that split those dimensions of operand `index` that the op sums over.
  llvm::SmallVector<llvm::StringRef> getSummedAxes(unsigned index) const;

  ShardingAttr getOperand(unsigned index) const { return valueSharding(index, false); }
  ShardingAttr getResult(unsigned index) const { return valueSharding(index + numOperands, true); }

private:
  // How a loop or a dimension is split. Without axes it is not split.
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
  std::optional<ReduceKind> reductionOf(int64_t loop) const { return cleave::reductionOf(iterators, kinds, loop); }
  bool isReduction(int64_t loop) const { return iterators[loop] == mlir::utils::IteratorType::reduction; }

  mlir::Operation *op;
  MeshAttr mesh;
  unsigned numOperands;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  llvm::SmallVector<mlir::shard::ReductionKind> kinds;
  llvm::SmallVector<mlir::AffineMap> maps;
  llvm::SmallVector<llvm::SmallVector<Factors>> factors; // of each value's dimensions
  llvm::SmallVector<std::optional<int64_t>> sizes;       // of each loop; none if the loop cannot be split
  llvm::SmallVector<bool> isPartial;                     // of each operand
  llvm::SmallVector<Split> splits;                       // of each loop
};

// Returns the type of operand or result `index`, operands first.
mlir::RankedTensorType valueType(mlir::Operation *op, unsigned index);

} // namespace cleave

#endif

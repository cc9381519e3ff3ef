// The bridge between an op's values and its loops: which mesh axes split each loop, and what that makes of operands and
// results. Knows ops only through upstream's ShardingInterface (dialects/Cleave/IR/Rationale.md, "Indexing maps").
//
// Example: matmul with loops (m, n, k: sum). Operand shardings [["dp"], []] and [[], []] split loop m: the result is
// [["dp"], []]. [[], ["dp"]] and [["dp"], []] split loop k: the result is [[], []], partial over "dp".
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
  // The loop that may split a dimension: a plain loop, or the first of a compound; -1 where none may.
  int64_t loopOf(mlir::AffineExpr expr) const;
  bool isFirstEverywhere(int64_t loop) const;
  bool isSummedAlone(int64_t loop) const;
  bool isInEveryResult(int64_t loop) const;
  int64_t loopSize(int64_t loop) const;
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
  llvm::SmallVector<bool> isPartial;                          // of each operand
  llvm::SmallVector<llvm::SmallVector<llvm::StringRef>> axes; // of each loop
};

// The type of operand or result `index`, operands first.
mlir::RankedTensorType valueType(mlir::Operation *op, unsigned index);

} // namespace cleave

#endif

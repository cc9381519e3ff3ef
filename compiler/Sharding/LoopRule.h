// The rule of DistributionRules.h for ops with loops, for one choice of what each operand is. Sizes are those of a rank.
#ifndef CLEAVE_COMPILER_SHARDING_LOOPRULE_H
#define CLEAVE_COMPILER_SHARDING_LOOPRULE_H

#include "compiler/Sharding/DistributionRules.h"

namespace cleave {

// What an op says of its loops; the same for all choices.
class LoopFacts {
public:
  explicit LoopFacts(mlir::Operation *op);

  // One of the loops that make a dimension; the slowest comes first.
  struct Factor {
    int64_t size, loop;
  };
  using Factors = llvm::SmallVector<Factor, 2>;

  bool isDescribed() const { return isUsable; }
  bool walks(unsigned value, int64_t loop) const;
  // How often a loop runs; 0 where the values do not tell, or not alike.
  int64_t sizeOf(int64_t loop) const { return sizes[loop]; }
  bool isReduction(int64_t loop) const { return iterators[loop] == mlir::utils::IteratorType::reduction; }
  // How terms of a split reduction are combined; none where no collective does.
  std::optional<ReduceKind> reductionOf(int64_t loop) const;
  bool isLinear() const;
  // Its elements are elements of operands, where the op moves them to.
  bool movesElements() const;

  mlir::Operation *op;
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  llvm::SmallVector<mlir::AffineMap> maps;                  // of operands, then results
  llvm::SmallVector<llvm::SmallVector<Factors, 4>> factors; // of each value's dimensions

private:
  void setSizes();

  llvm::SmallVector<mlir::shard::ReductionKind> kinds;
  llvm::SmallVector<int64_t> sizes; // of loops
  mutable std::optional<bool> linear;
  bool isUsable = false;
};

class LoopRule {
public:
  LoopRule(const LoopFacts &facts, MeshAttr mesh)
      : facts(&facts), mesh(mesh), loops(facts.iterators.size()), isFixed(facts.iterators.size()),
        repeats(facts.iterators.size()) {}

  // The next operand is so. False, and why, where that does not go with those before it.
  bool add(const Distribution &operand, Refusal &refusal);
  // After all operands: the results.
  std::optional<llvm::SmallVector<Distribution>> finish(Refusal &refusal) const;

private:
  bool addDim(unsigned operand, unsigned dim);
  bool fix(int64_t loop, const DimSplit &split);
  bool restrict(int64_t loop, Repeats known);
  std::optional<DimSplit> cutOf(llvm::ArrayRef<LoopFacts::Factor> factors) const;
  DimSplit resultDim(llvm::ArrayRef<LoopFacts::Factor> factors) const;
  Distribution wantedOf(unsigned operand) const;
  bool refuse(Refusal &refusal, unsigned operand, const llvm::Twine &reason, std::optional<Distribution> wanted) const;
  std::optional<Along> resultAlong(unsigned axis, Refusal &refusal) const;
  std::optional<Along> splitAlong(unsigned axis, int64_t loop, Refusal &refusal) const;
  std::optional<Along> partialAlong(unsigned axis, Refusal &refusal) const;
  bool isTerm(unsigned operand, unsigned axis) const;
  int64_t loopOf(unsigned axis) const;

  const LoopFacts *facts;
  MeshAttr mesh;
  llvm::SmallVector<DimSplit, 4> loops;
  llvm::SmallVector<bool, 4> isFixed;
  llvm::SmallVector<std::optional<Repeats>, 4> repeats; // of each loop; none where all its elements are equal
  llvm::SmallVector<Distribution, 2> operands;
};

} // namespace cleave

#endif

// The rule of DistributionRules.h for ops with loops. It is applied to one choice of the operands' distributions. Sizes
// are those of a rank's part.
#ifndef CLEAVE_COMPILER_SHARDING_LOOPRULE_H
#define CLEAVE_COMPILER_SHARDING_LOOPRULE_H

#include "compiler/Sharding/DistributionRules.h"

namespace cleave {

// What an op says about its loops. It is the same for all choices.
class LoopFacts {
public:
  explicit LoopFacts(mlir::Operation *op);

  // One of the loops that make a dimension. The slowest loop comes first.
  struct Factor {
    int64_t size, loop;
  };
  using Factors = llvm::SmallVector<Factor, 2>;

  bool isDescribed() const { return isUsable; }
  bool walks(unsigned value, int64_t loop) const;
  // Returns the number of iterations of a loop, or 0 if the values do not show it or disagree.
  int64_t sizeOf(int64_t loop) const { return sizes[loop]; }
  bool isReduction(int64_t loop) const { return iterators[loop] == mlir::utils::IteratorType::reduction; }
  // Returns how the terms of a split reduction are combined; none if no collective does it.
  std::optional<ReduceKind> reductionOf(int64_t loop) const;
  bool isLinear() const;
  // True if all elements of the results are elements of operands, moved to another position.
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

  // Adds the next operand, with this distribution. Returns false, and why, if it does not fit the operands before it.
  bool add(const Distribution &operand, Refusal &refusal);
  // Returns the distributions of the results. All operands must have been added.
  std::optional<llvm::SmallVector<Distribution>> finish(Refusal &refusal) const;

private:
  bool addDim(unsigned operand, unsigned dim);
  bool fix(int64_t loop, const DimSplit &split);
  bool restrict(int64_t loop, Repeats known);
  std::optional<DimSplit> cutOf(llvm::ArrayRef<LoopFacts::Factor> factors) const;
  DimSplit resultDim(llvm::ArrayRef<LoopFacts::Factor> factors) const;
  Distribution wantedOf(unsigned operand) const;
  bool refuse(Refusal &refusal, unsigned operand, const llvm::Twine &reason, std::optional<Distribution> wanted) const;
  std::optional<AxisDistribution> resultAlong(unsigned axis, Refusal &refusal) const;
  std::optional<AxisDistribution> splitAlong(unsigned axis, int64_t loop, Refusal &refusal) const;
  std::optional<AxisDistribution> partialAlong(unsigned axis, Refusal &refusal) const;
  bool isTerm(unsigned operand, unsigned axis) const;
  bool holdsNumbers(unsigned operand) const;
  int64_t loopOf(unsigned axis) const;

  const LoopFacts *facts;
  MeshAttr mesh;
  llvm::SmallVector<DimSplit, 4> loops;
  llvm::SmallVector<bool, 4> isFixed;
  llvm::SmallVector<std::optional<Repeats>, 4> repeats; // of each loop; none if all its elements are equal
  llvm::SmallVector<Distribution, 2> operands;
};

} // namespace cleave

#endif

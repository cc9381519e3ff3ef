// Decides whether an op makes terms of terms, or takes their sum.
//
// A value that is partial is a term of a sum on each rank. A linear op of terms makes terms, so that the sum is reduced
// after it. Otherwise its operands are reduced before it. Both are right, and these rules choose the one that sends
// fewer bytes:
//
//   it widens what it reads from states    before: terms are reduced in the type in which they are stored
//   it widens terms for an accumulator     before, if each micro-batch reduces them (StateForms.h)
//   it makes no more elements than it      after
//   takes
//   it makes more (pad, broadcast)         before, unless the larger terms cost nothing: they reach accumulators with
//                                          other terms (a bucket is reduced with or without this member), or their
//                                          accumulators send no more than the operands would
#ifndef CLEAVE_COMPILER_SHARDING_TERMRULES_H
#define CLEAVE_COMPILER_SHARDING_TERMRULES_H

#include "compiler/Sharding/StateForms.h"

namespace cleave {

class TermRules {
public:
  // `made` has the form of each value that is made so far.
  TermRules(const StateForms &states, const llvm::DenseMap<mlir::Value, ShardingAttr> &made, int64_t microBatches)
      : states(states), made(made), microBatches(microBatches) {}

  // True if the op of terms makes terms.
  bool makesTerms(mlir::Operation *op) const;
  // True if the larger terms that `enlarging` makes do not cost more than to reduce its operands: they reach
  // accumulators through linear ops, and are combined with other terms on the way. The whole bucket is reduced in any
  // case, and one member that is whole would make each of the others be reduced by itself. Example: a model takes the
  // first rows of a table. Their gradient is padded, and is in the bucket with those of other parameters.
  bool isReducedWithBucket(mlir::Operation *enlarging) const;
  // An accumulator that takes only terms can get the terms of `enlarging`'s result, or their sum, if an all-reduce sums
  // the operands in every micro-batch. True if the second sends less.
  bool isCheaperReducedFirst(mlir::Operation *enlarging, WriteOp write) const;
  // Returns whether `user` combines the term `value` with other terms, by adding or concatenating them; nothing if it
  // takes values that are not terms. An operand that is made later is assumed to be a term. If it is not, more bytes
  // are sent.
  std::optional<bool> combinesTerms(mlir::Operation *user, mlir::Value value) const;

private:
  bool isTerm(mlir::Value value) const { return !made.lookup(value).getPartialAxes().empty(); }
  bool isEarlierSum(mlir::Value value) const;

  const StateForms &states;
  const llvm::DenseMap<mlir::Value, ShardingAttr> &made;
  int64_t microBatches;
};

} // namespace cleave

#endif

// A loss as a sum of terms: the tree of linear ops between the loss and what it is a sum of.
//
//   loss = reduce_sum(q) / 24 + 0.01 * reduce_sum(w * w)
//
//   loss = add ── div 24 ── reduce_sum ── q               term 0: factor 1/24, so many elements as q has
//             └── mul 0.01 ── reduce_sum ── w * w         term 1: factor 0.01, no samples reach it
//
// Linear are sums, negations, changes of shape and type, and factors that no sample reaches. A division by a number
// that samples reach and parameters do not is linear too where that number is itself a sum over samples (labels that
// count), and makes the term `counted`. A maximum or a variance does not add up over micro-batches. What is added to a
// count, or the least that it may be, is a guard (CountGuard): it acts on the sum of all counts, not on each batch's.
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_LOSSTERMS_H
#define CLEAVE_COMPILER_TRAINING_LOSS_LOSSTERMS_H

#include "compiler/Training/Loss/SampleDependence.h"
#include "dialects/Cleave/IR/Algebra.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <vector>

namespace cleave {

// What a value is made of, constants aside. Where no input has a batch dimension, all of them count as samples.
struct Sources {
  bool samples = false, parameters = false, others = false;
};

Sources sourcesOf(mlir::Value value);

// What keeps a count from zero.
struct CountGuard {
  using Kind = NumberBound::Kind; // of max(count, 1), count + eps, and torch.where or clamp
  Kind kind;
  double number;
  Predicate predicate = Predicate::Lt;
  double other = 0;
};

// One summand: factor * (sum of `elements` numbers) / count. The sum adds up over batches where each number is made of
// one sample, or of none.
struct LossTerm {
  double factor = 1, elements = 1;
  mlir::Value count; // one element, with its guards; null: none that is computed
  std::vector<LossTerm> countTerms;
  llvm::SmallVector<CountGuard, 1> guards; // of the count
  bool ofSamples = true, addsUp = true;
  llvm::SmallVector<double> constants; // that `factor` is the product of
};

// What a sum over samples is divided by to make it a mean: guards of a sum that adds up over micro-batches as the other
// one does. With batches in which nothing counts, the loss of all is sum of sums / guard(sum of counts):
//
//   max(count, 1) of 3 and 0 labels: (s + 0) / max(3 + 0, 1), and not (s + 0) / (3 + 1)
//
// Terms that are not counted, such as a penalty on weights, are multiplied by each batch's count (and its part of what
// guards add), and divided with the rest. So they are exact with one micro-batch, where that is the guarded count. With
// more they are exact but for a step of a count so small that max(count, 1) or a choice acts on it: there a penalty
// counts less than in PyTorch, and a note says so. Rejected: their own accumulators, as large as the gradients, for
// such steps.
struct LossCount {
  mlir::Value sum;                         // null: the divisor does not add up, or parameters reach it
  llvm::SmallVector<CountGuard, 1> guards; // the first is the innermost
  std::vector<LossTerm> terms;             // of the sum
};

// `counts` is how many divisions by counts the divisor is in.
LossCount countOf(mlir::Value divisor, const SampleDependence &samples, unsigned counts = 0);

class LossTerms {
public:
  // `counts` is how many divisions by counts this one is in.
  LossTerms(mlir::Value loss, const SampleDependence &samples, unsigned counts = 0) : samples(samples), counts(counts) {
    root = visit(loss, {});
    if (!isTooLarge)
      return;
    nodes.clear(), terms.clear();
    root = visit(loss, {}); // as one term
  }

  llvm::ArrayRef<LossTerm> get() const { return terms; }

  // The loss with each term multiplied by its weight. With `count`, which is the count of all counted terms, that loss
  // times the count: their divisions are left away, the other terms are multiplied by it. A term of weight 0 is not
  // divided, for a batch may have none of what it counts.
  mlir::Value build(mlir::OpBuilder &builder, llvm::ArrayRef<double> weights, mlir::Value count) const;

private:
  // An op's operand in which it is linear, and what that does to a term.
  struct TermFactor {
    unsigned operand = 0;
    double factor = 1, elements = 1;
    bool isConstant = false; // `factor` is a constant of the graph
    mlir::Value count;
    std::vector<LossTerm> countTerms;
    llvm::SmallVector<CountGuard, 1> guards;
  };

  // A value of the tree: the op that makes it is linear in the operands `inner`, or else it is a term's end.
  struct Node {
    mlir::Value value;
    unsigned firstTerm = 0, numTerms = 0;
    bool isCounting = false;                                   // a division by the count
    llvm::SmallVector<std::pair<unsigned, unsigned>, 2> inner; // operand, node
  };

  unsigned visit(mlir::Value value, LossTerm term);
  std::optional<TermFactor> nextFactor(mlir::Operation *op) const;
  std::optional<TermFactor> factorOf(const LinearOperand &linear) const;
  mlir::Value build(mlir::OpBuilder &builder, unsigned index, llvm::ArrayRef<double> weights, mlir::Value count) const;

  const SampleDependence &samples;
  llvm::SmallVector<Node> nodes;
  llvm::SmallVector<LossTerm> terms;
  unsigned root = 0, splits = 0, counts;
  bool isTooLarge = false; // to be taken apart
};

} // namespace cleave

#endif

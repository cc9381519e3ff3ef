// Writes a loss as a sum of terms. The terms are the ends of a tree of linear ops that starts at the loss.
//
//   loss = reduce_sum(q) / 24 + 0.01 * reduce_sum(w * w)
//
//   loss = add ── div 24 ── reduce_sum ── q               term 0: factor 1/24, as many elements as q has
//             └── mul 0.01 ── reduce_sum ── w * w         term 1: factor 0.01, no samples reach it
//
// These ops are linear: sums, negations, changes of shape and type, and factors that no sample reaches. A division by a
// number that samples reach, but parameters do not, is linear too if that number is itself a sum over samples (labels
// that count). Such a division makes the term `counted`. A maximum or a variance does not add up over micro-batches. A
// number that is added to a count, or the least value of a count, is a guard (CountGuard). It acts on the sum of all
// counts, not on the count of each batch. In a sum, a sample's number that a constant was added to is one term:
// reduce_sum(1 - m) counts the samples of which m is 0.
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

// The inputs and states that a value is computed from, except constants. If no input has a batch dimension, all inputs
// count as samples.
struct Sources {
  bool samples = false, parameters = false, others = false;
};

Sources sourcesOf(mlir::Value value);

// True if some input of the function has a batch dimension.
bool hasBatchDims(mlir::func::FuncOp function);

// An op that keeps a count from being zero.
struct CountGuard {
  using Kind = NumberBound::Kind; // max(count, 1); count + eps; torch.where or clamp
  Kind kind;
  double number;
  Predicate predicate = Predicate::Lt;
  double other = 0;
};

// One summand: factor * (sum of `elements` numbers) / count. The sum adds up over batches if each number is made of one
// sample, or of none.
struct LossTerm {
  double factor = 1, elements = 1;
  mlir::Value count; // one element, with its guards; null if the term has no computed count
  std::vector<LossTerm> countTerms;
  llvm::SmallVector<CountGuard, 1> guards; // of the count
  bool ofSamples = true, addsUp = true;
  llvm::SmallVector<double> constants;   // their product is `factor`, up to the sign
  mlir::Value summand;                   // the numbers that are summed
  llvm::SmallVector<mlir::Value> scales; // computed numbers, reached by no sample, that multiply or divide the sum
};

// The divisor that makes a sum over samples a mean. It is a sum that adds up over micro-batches as the numerator does,
// with guards. If nothing counts in some batches, the loss of all batches is the sum of the sums, divided by guard(sum
// of counts):
//
//   max(count, 1) of 3 and 0 labels: (s + 0) / max(3 + 0, 1), and not (s + 0) / (3 + 1)
//
// Terms that are not counted, such as a penalty on weights, are multiplied by the count of each batch (and by its part
// of what guards add), and are divided with the rest. With one micro-batch this is exact, because that factor is the
// guarded count. With several it is exact too, except in a step whose count is so small that max(count, 1) or a choice
// acts on it. In such a step a penalty counts less than in PyTorch, and a note says so. Rejected: accumulators for
// these terms, which would be as large as the gradients, for such rare steps.
struct LossCount {
  mlir::Value sum;                         // null if the divisor does not add up, or if parameters reach it
  llvm::SmallVector<CountGuard, 1> guards; // the first is the innermost
  std::vector<LossTerm> terms;             // of the sum
};

// `counts` is the number of divisions by counts that the divisor is nested in.
LossCount countOf(mlir::Value divisor, const SampleDependence &samples, unsigned counts = 0);

// How far a loss is taken apart. With one sample in the batch, a sample's own number cannot be told from the count of
// all samples: both are one number. The same model with twice the samples tells them apart (LossReduction.h).
enum class LossForm {
  Counted,   // terms may be divided by counts
  Uncounted, // no divisor is taken for a count
  Whole,     // the loss is one term
};
// In the order in which they are tried.
inline constexpr LossForm kLossForms[] = {LossForm::Counted, LossForm::Uncounted, LossForm::Whole};

class LossTerms {
public:
  // `counts` is the number of divisions by counts that this loss is nested in.
  LossTerms(mlir::Value loss, const SampleDependence &samples, unsigned counts = 0);
  LossTerms(mlir::Value loss, const SampleDependence &samples, LossForm form);

  llvm::ArrayRef<LossTerm> get() const { return terms; }

  // Builds the loss with each term multiplied by its weight. If `count` is given (the count of all counted terms), the
  // result is that loss times the count: the divisions by the count are left out, and the other terms are multiplied by
  // it. A term of weight 0 is not divided, because a batch may have a count of 0 for it.
  mlir::Value build(mlir::OpBuilder &builder, llvm::ArrayRef<double> weights, mlir::Value count) const;

private:
  // An operand in which an op is linear, and the changes that the op makes to a term.
  struct TermFactor {
    unsigned operand = 0;
    double factor = 1, elements = 1;
    bool isConstant = false; // `factor` is a constant of the graph
    bool sums = false;       // elements of the operand
    mlir::Value scale;       // a computed number
    mlir::Value count;
    std::vector<LossTerm> countTerms;
    llvm::SmallVector<CountGuard, 1> guards;
  };

  // A value of the tree. The op that makes it is linear in the operands `inner`. If there are none, the value is a
  // term.
  struct Node {
    mlir::Value value;
    unsigned firstTerm = 0, numTerms = 0;
    bool isCounting = false;                                   // the op divides by the count
    llvm::SmallVector<std::pair<unsigned, unsigned>, 2> inner; // operand, node
  };

  unsigned visit(mlir::Value value, LossTerm term, bool isSummed = false);
  void takeWhole(mlir::Value loss);
  std::optional<TermFactor> nextFactor(mlir::Operation *op) const;
  std::optional<TermFactor> factorOf(const LinearOperand &linear) const;
  mlir::Value build(mlir::OpBuilder &builder, unsigned index, llvm::ArrayRef<double> weights, mlir::Value count) const;

  const SampleDependence &samples;
  llvm::SmallVector<Node> nodes;
  llvm::SmallVector<LossTerm> terms;
  unsigned root = 0, splits = 0, counts;
  bool isWhole = false; // the loss is one term: it has too many terms or ops, or this form was asked for
};

} // namespace cleave

#endif

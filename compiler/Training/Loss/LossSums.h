// Splits a loss into (sum, count), which are found in the graph of its value.
//
// The result of a step must not depend on how its samples are distributed over ranks and micro-batches. So a mean
// cannot stay a mean: the mean of means is another number if the counts differ (ignored labels). The form that is
// looked for is
//
//   loss = factor * reduce_sum(x) / count          with a count that no parameter reaches, itself a sum over samples
//
// through negations, casts, reshapes of scalars and constant factors. The sum is (factor * n) * reduce_sum(x), and the
// count is n * count. The integer n cancels a constant divisor such as 1/512 exactly.
//
// A loss may have several terms (LossTerms.h). Each is a sum over samples, a mean or a penalty on weights, and has its
// own weight. If terms are divided by different counts, there is no (sum, count), and the loss is averaged over
// micro-batches as it is. A step's loss has one meaning: it is that of all its samples if every term can be split, and
// otherwise the mean of its micro-batches' losses. So as soon as one term cannot be split, every term has the weight 1:
//
//   3 micro-batches:  reduce_sum(x) + reduce_sum(w * w)       3 * reduce_sum(x) + reduce_sum(w * w), averaged
//                     reduce_sum(x) + reduce_max(x)           reduce_sum(x) + reduce_max(x), averaged
//
// Rejected: asking the importer. It knows which ONNX operator a loss was, but not the losses that are written in
// primitives. Rejected: several sums and counts. Their gradients would have to be added up separately until all counts
// are known.
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_LOSSSUMS_H
#define CLEAVE_COMPILER_TRAINING_LOSS_LOSSSUMS_H

#include "compiler/Training/Loss/LossReduction.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace cleave {

class Arithmetic;

// Applies the guards to the count, element by element.
mlir::Value guardCount(Arithmetic &a, mlir::Value count, llvm::ArrayRef<CountGuard> guards);

// Returns the guards of a sum of counts that is `excess` times the count of all samples (excessOfCount). The numbers of
// the guards are multiplied by `excess`: the sum of the means of n batches is n times the mean.
llvm::SmallVector<CountGuard> guardsOver(llvm::ArrayRef<CountGuard> guards, double excess);

// Prints a guard for the plan: "plus 1", "at-least 10", "where le 0 then 1".
std::string printGuard(const CountGuard &guard);

// The guards of the count of a whole step. split-loss sets them on the module (`cleave.loss_guards`), and build-update
// removes them.
void setCountGuards(mlir::ModuleOp module, llvm::ArrayRef<CountGuard> guards);
llvm::SmallVector<CountGuard> takeCountGuards(mlir::ModuleOp module);

// loss = factor * sum / count, all scalars. `sum` is the result of a `reduce sum` over `elements` elements.
struct LossParts {
  mlir::Value sum;
  LossCount count; // if its sum is null, the only divisor is the constant in `factor`
  double factor = 1;
  int64_t elements = 1;
};

// Returns the parts of the loss, or nothing if the loss has another form (a sum of losses, a maximum, ...).
std::optional<LossParts> recognizeLoss(mlir::Value loss, const SampleDependence &samples, LossForm form);

struct LossSumAndCount {
  mlir::Value sum, count;                  // both of one float type. With `ranks` > 1 they are vectors of that length
  llvm::SmallVector<CountGuard, 1> guards; // of the count of all batches together, as in the model
  LossReduction countReduction = LossReduction::Sum;
  bool addsUp = true;           // the sums and counts of all batches add up to those of all their samples
  bool averagesBatches = false; // an evaluation of the loss averages the losses of its batches (averagesBatches())
};

struct LossLayout {
  llvm::SmallVector<LossReduction> reductions; // of the loss's terms
  LossReduction count = LossReduction::Sum;    // of the terms' divisor
  int64_t ranks = 1, microBatches = 1, batch = 1;
  bool guardsEach = false;   // each batch has its own mean: guards act on the count of each batch
  bool isEvaluation = false; // the number of batches is not known
  double partOfSum = 1;      // with `guardsEach`: the part of a sum over the batch that is its mean over ranks

  double weightOf(LossReduction reduction) const {
    return guardsEach && reduction == LossReduction::Sum ? partOfSum : cleave::weightOf(reduction, microBatches);
  }
};

// Returns how a message names a term: "its term of node 'mse' (Mul)"; "it" if the loss has no other.
std::string nameOfTerm(const LossTerms &terms, const LossTerm &term);

// True if an evaluation averages the losses of its batches. It does so if guards of the count act on terms that every
// batch adds: (sum(l) + 1) / (sum(m) + 1), or a penalty on weights that is added to sum(l) / (sum(m) + 1).
bool averagesBatches(const LossTerms &terms, llvm::ArrayRef<CountGuard> guards, const LossLayout &layout);

// Builds (sum, count) of a loss whose terms have one reduction, `reduction`. With `ranks` > 1, the results hold one
// number for each rank: the samples of the reduced tensors are cut into that many parts. Returns nothing, and sets
// `reason`, if a tensor cannot be cut.
std::optional<LossSumAndCount> buildLossSums(mlir::OpBuilder &builder, const LossParts &parts, LossReduction reduction,
                                             const SampleDependence &samples, const LossLayout &layout,
                                             std::string &reason);

// Builds (sum, count) term by term, for one rank. `reason` says why a term cannot be split, or is empty. If (loss *
// batch, batch) is the only possible result, it is set here. With a reason, the loss is the mean of the micro-batches'
// losses, and depends on how samples are distributed over them. If the terms have one count, it weighs this mean.
LossSumAndCount splitTerms(mlir::OpBuilder &builder, mlir::Value loss, const LossTerms &terms,
                           const SampleDependence &samples, const LossLayout &layout, std::string &reason);

} // namespace cleave

#endif

// A loss as (sum, count), found in the graph of its value.
//
// The mathematics of a step must not depend on how its samples are dealt out, so a mean cannot stay a mean: the mean of
// means is another number when counts differ (ignored labels). We look for
//
//   loss = factor * reduce_sum(x) / count          with a count that no parameter reaches, itself a sum over samples
//
// through negations, casts, reshapes of scalars and constant factors: the sum is (factor * n) * reduce_sum(x), the
// count n * count, where n undoes a constant divisor such as 1/512 exactly. A loss of several terms (LossTerms.h), each
// of them a sum over samples, a mean or a penalty on weights, is weighted term by term; what is divided by different
// counts has no (sum, count) and is averaged over micro-batches as it is.
//
// Rejected: asking the importer, which knows which ONNX operator a loss was, but not the losses written in primitives;
// several sums and counts, since their gradients would have to be added up apart until all counts are known.
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_LOSSSPLITTING_H
#define CLEAVE_COMPILER_TRAINING_LOSS_LOSSSPLITTING_H

#include "compiler/Training/Loss/LossReduction.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace cleave {

class Arithmetic;

// The count with its guards, element by element.
mlir::Value guardCount(Arithmetic &a, mlir::Value count, llvm::ArrayRef<CountGuard> guards);

// Guards of the sum of the counts of `batches` batches. The sum of means is that many times the mean, and so the
// numbers of its guards grow with it (excessOfCount).
llvm::SmallVector<CountGuard> guardsOver(llvm::ArrayRef<CountGuard> guards, double excess);

// "plus 1", "at-least 10", "where le 0 then 1": for the plan.
std::string printGuard(const CountGuard &guard);

// The guards of the count of a whole step, on the module (`cleave.loss_guards`) from split-loss to build-update, which
// takes them off.
void setCountGuards(mlir::ModuleOp module, llvm::ArrayRef<CountGuard> guards);
llvm::SmallVector<CountGuard> takeCountGuards(mlir::ModuleOp module);

// loss = factor * sum / (count or 1), all scalars; `sum` is the result of a `reduce sum` over `elements` elements.
struct LossParts {
  mlir::Value sum;
  LossCount count; // no sum: none but the constant in `factor`
  double factor = 1;
  int64_t elements = 1;
};

// What the loss consists of; nothing where it has another form (a sum of losses, a maximum, ...).
std::optional<LossParts> recognizeLoss(mlir::Value loss, const SampleDependence &samples);

struct LossSplit {
  mlir::Value sum, count;                  // of one float type; with `ranks` > 1 vectors of that length
  llvm::SmallVector<CountGuard, 1> guards; // of the count of all batches together, as the model has them
  LossReduction countReduction = LossReduction::Sum;
  bool addsUp = true;           // sums and counts of batches are those of all their samples
  bool averagesBatches = false; // an evaluation of which guards and terms without samples do not (averagesBatches)
};

struct LossLayout {
  llvm::SmallVector<LossReduction> reductions; // of the loss's terms
  LossReduction count = LossReduction::Sum;    // of what they are divided by
  int64_t ranks = 1, microBatches = 1, batch = 1;
  bool guardsEach = false;   // each batch has its own mean, so that guards act on each count
  bool isEvaluation = false; // of any number of batches
};

// Whether an evaluation averages the losses of its batches, since guards of the count act on terms that every batch
// adds: (sum(l) + 1) / (sum(m) + 1), or a penalty on weights beside sum(l) / (sum(m) + 1).
bool averagesBatches(const LossTerms &terms, llvm::ArrayRef<CountGuard> guards, const LossLayout &layout);

// Builds (sum, count) of a loss whose terms have one reduction, `reduction`. `ranks` > 1 gives each rank's own: the
// reduced tensors' samples are cut into that many parts. Nothing, with `reason` set, where a tensor cannot be cut.
std::optional<LossSplit> splitLoss(mlir::OpBuilder &builder, const LossParts &parts, LossReduction reduction,
                                   const SampleDependence &samples, const LossLayout &layout, std::string &reason);

// Builds (sum, count) term by term, for one rank. `reason` is set where (loss * batch, batch) is all that can be said:
// then the loss depends on how samples are dealt out to micro-batches.
LossSplit splitTerms(mlir::OpBuilder &builder, mlir::Value loss, const LossTerms &terms,
                     const SampleDependence &samples, const LossLayout &layout, std::string &reason);

} // namespace cleave

#endif

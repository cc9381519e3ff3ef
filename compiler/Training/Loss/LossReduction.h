// Whether a term of the loss is a sum over samples or a mean (ONNX's attribute `reduction`): it decides how the losses
// of micro-batches are put together.
//
//   0.125 * reduce_sum(x),  x : 8x3      a mean over a batch of 8, or an eighth of a sum?
//
// One graph of static shapes cannot tell. Two can: of the same model with twice the samples, a mean has half the factor
// and a sum the same. So the driver imports the graph twice where it matters and writes the answer to the loss result
// (`cleave.loss_reductions = ["sum", "mean/sum", ...]`, one a term, and what its count is: LossTerms.h); without it the
// constants are guessed from. Rejected: to guess always (0.5 * sum is the mean of a batch of 2), and to mark what the
// importer makes of ReduceMean (x.shape[0] counts too).
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_LOSSREDUCTION_H
#define CLEAVE_COMPILER_TRAINING_LOSS_LOSSREDUCTION_H

#include "compiler/Training/Loss/LossTerms.h"

#include "llvm/ADT/StringRef.h"

namespace cleave {

enum class LossReduction {
  Sum,     // grows as the batch does
  Mean,    // does not; also what no samples reach, such as a penalty on weights, which counts once, and what has the
           // weight 0, a term that is switched off
  Share,   // falls as the batch grows: a penalty on weights, divided by the batch
  Whole,   // a function of all samples that is no sum over them (a maximum, the root of a mean)
  Unknown, // grows in another way
};

// Of a term, and of the count that it is divided by, if there is one.
struct TermReduction {
  LossReduction term;
  std::optional<LossReduction> count;
};

// "sum"; "mean/sum" of a mean over a count that is a sum.
std::string printReduction(TermReduction reduction);
std::optional<TermReduction> parseReduction(llvm::StringRef text);

// What a term is multiplied by so that the mean over `microBatches` is the term of all their samples.
double weightOf(LossReduction reduction, int64_t microBatches);

// `twice` is the loss of the same model with twice the samples. One a term; nothing where the terms are not the same.
std::optional<llvm::SmallVector<TermReduction>> compareReductions(const LossTerms &once, const LossTerms &twice);

// The size of the batch dimension; 1 where no input has one.
int64_t batchOf(mlir::func::FuncOp function);

// A mean's factor has a reciprocal that is a multiple of the batch (of what is summed, for a batch of one).
llvm::SmallVector<TermReduction> guessReductions(const LossTerms &terms, int64_t batch);

// By how much the sum of the counts of `microBatches` batches is larger than the count of all their samples: a count
// that is a mean stays as it is, where the sum of means is so many times larger.
double excessOfCount(LossReduction count, int64_t microBatches);

} // namespace cleave

#endif

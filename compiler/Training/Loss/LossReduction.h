// Tells whether a term of the loss is a sum over samples or a mean (ONNX's attribute `reduction`). This decides how the
// losses of micro-batches are combined.
//
//   0.125 * reduce_sum(x),  x : 8x3      a mean over a batch of 8, or an eighth of a sum?
//
// One graph of static shapes cannot tell, but two graphs can. In the graph of the same model with twice the samples, a
// mean has half the factor, and a sum has the same factor. So the driver imports the model twice if it matters, and
// writes the answer to the loss result: `cleave.loss_reductions = ["sum", "mean/sum", ...]`. Each entry is the
// reduction of one term, and of its count if it has one (LossTerms.h). Without the attribute, the reductions are
// guessed from the constants. Rejected: always guessing (0.5 * sum is the mean of a batch of 2). Rejected: a mark on
// the ops that the importer makes of ReduceMean (a division by x.shape[0] is a mean too).
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_LOSSREDUCTION_H
#define CLEAVE_COMPILER_TRAINING_LOSS_LOSSREDUCTION_H

#include "compiler/Training/Loss/LossTerms.h"

#include "llvm/ADT/StringRef.h"

namespace cleave {

enum class LossReduction {
  Sum,     // grows with the batch
  Mean,    // does not grow. Also a term without samples that counts once, such as a penalty on weights, and a term
           // with the weight 0, which is switched off
  Share,   // shrinks as the batch grows: a penalty on weights, divided by the batch
  Whole,   // a function of all samples that is not a sum over them (a maximum, the root of a mean)
  Unknown, // grows in another way
};

// The reduction of a term, and of the count that it is divided by, if there is one.
struct TermReduction {
  LossReduction term;
  std::optional<LossReduction> count;
  bool mixes = false; // its numbers are made of several samples together, perhaps only in a larger batch
  bool sized = false; // its numbers are computed from the number of samples: x * x.shape[0]
};

// Returns the numbers of a term whose summand is a constant in both losses. They are compared as factors are: in
// reduce_sum(x) + x.shape[0], the second term is a sum over samples, too.
std::optional<std::pair<double, double>> summedNumbers(const LossTerm &once, const LossTerm &twice);

// True if two batches do not prove how the term grows: its constants grow or shrink with the batch, other than as the
// divisor of a mean, or its factor is neither a whole number nor one over it. log(4) is twice log(2).
bool needsThird(const LossTerm &once, const LossTerm &twice);
// True if the term grows by the same power of the batch from the first to each of the others.
bool growsSteadily(const LossTerm &once, const LossTerm &twice, const LossTerm &thrice);

// Prints "sum", or "mean/sum" for a mean over a count that is a sum, followed by " mixes" and " sized".
std::string printReduction(TermReduction reduction);
std::optional<TermReduction> parseReduction(llvm::StringRef text);

// Returns the weight of a term with which the mean over `microBatches` micro-batches is the term of all their samples.
double weightOf(LossReduction reduction, int64_t microBatches);

// `once` is the loss of a batch of `batch` samples, and `twice` that of the same model with twice the samples. Returns
// one reduction for each term, or nothing if the two losses do not have the same number of terms.
std::optional<llvm::SmallVector<TermReduction>> compareReductions(const LossTerms &once, const LossTerms &twice,
                                                                  int64_t batch);

// True if the same terms are divided by counts in both losses.
bool countAlike(const LossTerms &once, const LossTerms &twice);
// True if `reductions` are of such terms: as many, and with a reduction of a count where the term has a count.
bool areOf(llvm::ArrayRef<TermReduction> reductions, const LossTerms &terms);

// Returns the size of the batch dimension, or 1 if no input has one.
int64_t batchOf(mlir::func::FuncOp function);

// Guesses the reductions from the constants. A term is taken for a mean if the reciprocal of its factor is a multiple
// of the batch. (For a batch of one: a multiple of the number of summed elements.)
llvm::SmallVector<TermReduction> guessReductions(const LossTerms &terms, int64_t batch);

// Returns the sum of the counts of `microBatches` batches, divided by the count of all their samples. It is
// `microBatches` for a count that is a mean, since the mean does not grow with the batch, and 1 for others.
double excessOfCount(LossReduction count, int64_t microBatches);

} // namespace cleave

#endif

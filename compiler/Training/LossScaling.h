// Whether a loss is a sum over samples or a mean: which of the two decides how micro-batches' losses are put together.
//
//   0.125 * reduce_sum(x),  x : 8x3      a mean over a batch of 8, or an eighth of a sum?
//
// One graph of static shapes cannot tell. Two can: of the same model with twice the samples, a mean has half the factor
// and a sum the same. So the driver imports twice where it matters and writes the answer to the loss result
// (`cleave.loss_scaling = "sum" | "mean"`); without it the constants are guessed from. Rejected: to guess always
// (0.5 * sum is the mean of a batch of 2), and to mark what the importer makes of ReduceMean (x.shape[0] counts too).
#ifndef CLEAVE_COMPILER_TRAINING_LOSSSCALING_H
#define CLEAVE_COMPILER_TRAINING_LOSSSCALING_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace cleave {

enum class LossScaling { Sum, Mean };

inline llvm::StringRef lossScalingName(LossScaling scaling) { return scaling == LossScaling::Sum ? "sum" : "mean"; }

// The number that all elements of a value are, through views and casts; nothing when it is no such constant.
std::optional<double> getConstantNumber(mlir::Value value);

// One summand of a loss, as far as it is linear: factor * (sum of `elements` numbers).
struct LossTerm {
  double factor = 1, elements = 1;
  bool counted = false; // divided by a number that is computed: a mean of whatever is counted
  llvm::SmallVector<double> constants;
};

llvm::SmallVector<LossTerm> termsOf(mlir::Value loss);

// `twice` is the loss of the same model with twice the samples. Nothing where the loss is neither a sum nor a mean.
std::optional<LossScaling> compareScaling(llvm::ArrayRef<LossTerm> once, llvm::ArrayRef<LossTerm> twice);

// A mean's factor has a reciprocal that is a multiple of the batch (of what is summed, for a batch of one).
LossScaling guessScaling(llvm::ArrayRef<LossTerm> terms, int64_t batch);

} // namespace cleave

#endif

// The classification accuracy of a model, found in the graph of its cross-entropy.
//
// A cross-entropy over class scores picks, for every sample, the label's entry of a log_softmax. In `cleave` this is a
// select (or a product with a mask). Its condition is a `compare eq` of an iota along the class dimension with the
// labels, which are broadcast along that dimension:
//
//   %hit = compare eq %iota, %labels_spread       %picked = select %hit, %log_softmax, %zero
//
// The operand of the log_softmax is the scores, and their argmax is the prediction. A label counts if it is a class,
// and if the loss counts its position (PositionMask.h: ignore_index, padding, a mask that is an input).
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_ACCURACY_H
#define CLEAVE_COMPILER_TRAINING_LOSS_ACCURACY_H

#include "mlir/IR/Builders.h"

#include <optional>

namespace cleave {

struct AccuracySums {
  mlir::Value correct, predictions; // f32 scalars
};

// Builds the two sums from the sum of the loss. Returns nothing if the loss has another form. Also returns nothing,
// with a remark, if it depends on parameters which positions count. If there are several cross-entropies, the sums are
// those of the first one, and a remark names its labels.
std::optional<AccuracySums> buildAccuracy(mlir::OpBuilder &builder, mlir::Value lossSum);

} // namespace cleave

#endif

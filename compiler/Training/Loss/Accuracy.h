// Classification accuracy, found in the graph of a cross-entropy.
//
// A cross-entropy over class scores picks, for every sample, the label's entry of a log_softmax; in `cleave` that is a
// select (or a product with a mask) governed by `compare eq` of an iota along the class dimension with the spread
// labels:
//
//   %hit = compare eq %iota, %labels_spread       %picked = select %hit, %log_softmax, %zero
//
// What log_softmax was taken of are the scores; their argmax is the prediction. A label counts if it is a class and if
// the loss counts its position (PositionMask.h: ignore_index, padding, a mask that is an input).
#ifndef CLEAVE_COMPILER_TRAINING_LOSS_ACCURACY_H
#define CLEAVE_COMPILER_TRAINING_LOSS_ACCURACY_H

#include "mlir/IR/Builders.h"

#include <optional>

namespace cleave {

struct AccuracySums {
  mlir::Value correct, predictions; // f32 scalars
};

// Builds the two sums for the sum of the loss; nothing where the loss has another form, and, with a remark, where the
// positions that count cannot be told. Of several cross-entropies it is the first one's, and a remark says which.
std::optional<AccuracySums> buildAccuracy(mlir::OpBuilder &builder, mlir::Value lossSum);

} // namespace cleave

#endif

// Loss scaling: fp16 gradients are computed and reduced as multiples of what they are, so that small ones do not
// vanish.
//
// The backward pass differentiates the loss's *sum*, whose gradient is `count` times that of the mean; with a user's
// scale on top it would overflow fp16 at once. So the seed is
//
//   seed = scalar.loss_scale * unit        unit = 2^-k, 2^k the largest power of two up to the step's largest count
//
// Both factors are exact, and scalar.loss_scale means what it means for PyTorch's GradScaler: the factor on the mean
// loss. @update divides by the seed again. With --loss-average rank the seed divides by the count itself: the unit
// is 1.
//
// What differentiate decides stands on the module as `cleave.loss_scale`, {unit, growth, backoff, interval}; an
// interval of 0 keeps the scale. States, all f32 scalars: scalar.loss_scale; scalar.good_steps, since the scale last
// changed; scalar.skipped, steps that changed nothing.
#ifndef CLEAVE_COMPILER_TRAINING_PRECISION_LOSSSCALE_H
#define CLEAVE_COMPILER_TRAINING_PRECISION_LOSSSCALE_H

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Precision/Precision.h"
#include "compiler/Training/TrainingOptions.h"

#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// Whether steps are scaled: as the options say, or where a gradient is computed or reduced in fp16. An error where a
// scale was asked for that nothing needs.
mlir::FailureOr<bool> needsLossScale(mlir::ModuleOp module, const LossScaleOptions &options, bool hasFp16Gradients);

// Declares the states and the module's attribute. `count` is the loss's count in one micro-batch.
void declareLossScale(mlir::ModuleOp module, const LossScaleOptions &options, mlir::Value count, LossAverage average,
                      int64_t microBatches);

// What the backward pass is seeded with, at the builder's place; null where there is no loss scale.
mlir::Value readLossScale(mlir::ModuleOp module, mlir::OpBuilder &builder, mlir::Location loc);

// Writes the next scale and the counters: `finite` says whether this step's gradients were.
void writeLossScale(mlir::ModuleOp module, mlir::OpBuilder &builder, mlir::Location loc, mlir::Value finite);

} // namespace cleave

#endif

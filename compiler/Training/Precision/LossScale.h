// Loss scaling: fp16 gradients are computed and reduced as multiples of their true values, so that small ones do not
// become zero.
//
// The backward pass differentiates the loss's *sum*, whose gradient is `count` times that of the mean. With a user's
// scale in addition, it would overflow fp16 at once. So the seed is
//
//   seed = scalar.loss_scale * unit        unit = 2^-k, 2^k the largest power of two up to the step's largest count
//
// Both factors are exact. scalar.loss_scale means the same as in PyTorch's GradScaler: the factor on the mean loss.
// @update divides by the seed again. With --loss-average rank, the seed is already divided by the count, so the unit is
// 1.
//
// differentiate writes its decision to the module as `cleave.loss_scale`, {unit, growth, backoff, interval}. With an
// interval of 0 the scale is constant. There are three states, all f32 scalars: scalar.loss_scale; scalar.good_steps,
// the steps since the scale last changed; scalar.skipped, the steps that changed nothing. Optimizers that count steps
// subtract the skipped ones. So programs without a loss scale have scalar.skipped too: they can continue a run that
// skipped some.
#ifndef CLEAVE_COMPILER_TRAINING_PRECISION_LOSSSCALE_H
#define CLEAVE_COMPILER_TRAINING_PRECISION_LOSSSCALE_H

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Precision/Precision.h"
#include "compiler/Training/TrainingOptions.h"

#include "mlir/IR/BuiltinOps.h"

namespace cleave {

// True if the loss is scaled: a gradient is computed or reduced in fp16, and the options do not say none. Reports an
// error if the options ask for a scale and no gradient is fp16.
mlir::FailureOr<bool> needsLossScale(mlir::ModuleOp module, const LossScaleOptions &options, bool hasFp16Gradients);

// Declares the states and the module's attribute. `count` is the loss's count in one micro-batch.
void declareLossScale(mlir::ModuleOp module, const LossScaleOptions &options, mlir::Value count, LossAverage average,
                      int64_t microBatches);

// Builds the factor of the backward pass's seed, at the builder's insertion point. Null if there is no loss scale.
mlir::Value readLossScale(mlir::ModuleOp module, mlir::OpBuilder &builder, mlir::Location loc);

// Writes the next scale and the counters. `finite` is true if all gradients of this step are finite.
void writeLossScale(mlir::ModuleOp module, mlir::OpBuilder &builder, mlir::Location loc, mlir::Value finite);

} // namespace cleave

#endif

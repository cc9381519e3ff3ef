// Checks whether training can continue after a step.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_FINITESTEP_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_FINITESTEP_H

#include "runtime/base/Status.h"
#include "runtime/state/ElementValue.h"

#include <functional>
#include <optional>

namespace cleave::rt {

// True if the loss is not a number and its gradient is finite. This is so if all labels of a step are ignored, or all
// labels of a rank or of a micro-batch whose means are averaged: such a mean is 0 / 0, and its samples give gradients
// of 0. It is also so if a term has no value and a derivative: t * log(t) for a target t of 0. The parameters are
// valid, and training continues, as in PyTorch.
bool isUndefined(double loss, std::optional<double> gradNorm);

// Returns DataLoss if the loss or the norm of the gradients is infinite or not a number. Every parameter that such a
// gradient has updated is lost, so nothing may be saved after it. It succeeds if the loss is undefined. With a loss
// scale it succeeds too: such a step is skipped, and the scale is reduced. The norm's sum of squares is in f64 (float
// gradients cannot overflow it), so it is finite unless some gradient is not. `badInput` looks for a value of the step's
// data that is not finite itself; `badWeight` returns a text about the weights that training began with, or an empty
// text. They are called only before a failure.
Status checkFinite(double loss, std::optional<double> gradNorm, std::optional<double> lossScale,
                   const std::function<NonFiniteValue()> &badInput, const std::function<std::string()> &badWeight);

} // namespace cleave::rt

#endif

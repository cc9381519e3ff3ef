// Whether a step has left numbers that training can go on from.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_FINITESTEP_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_FINITESTEP_H

#include "runtime/base/Status.h"

#include <functional>
#include <optional>

namespace cleave::rt {

// A step in which nothing counts (all labels are ignored), or on one of the ranks whose means are averaged: the loss is
// 0 / 0, and what has no labels gives gradients of 0. The parameters are good, and training goes on, as PyTorch's does.
bool nothingCounted(double loss, std::optional<double> gradNorm);

// DataLoss where the loss or the norm of the gradients is infinite or not a number: every parameter that such a
// gradient has updated is lost, so nothing may be saved after it. None where nothing counted. With a loss scale there
// is no such step: it is skipped, and the scale falls. The norm's sum of squares is in f64 (float gradients cannot
// overflow it), so it is finite unless some gradient is not. `badInput` says which value of the step's data is not
// finite itself, and is asked where one of the two is not; empty: none.
Status checkFinite(double loss, std::optional<double> gradNorm, std::optional<double> lossScale,
                   const std::function<std::string()> &badInput = {});

} // namespace cleave::rt

#endif

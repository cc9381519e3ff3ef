// Checks whether training can continue after a step.
#ifndef CLEAVE_RUNTIME_TRAIN_LOOP_FINITESTEP_H
#define CLEAVE_RUNTIME_TRAIN_LOOP_FINITESTEP_H

#include "runtime/session/Session.h"

#include <functional>
#include <optional>

namespace cleave::rt {

struct StepNumbers {
  double loss;
  std::optional<double> gradNorm, lossScale; // if the step has them
  bool averagesRanks;
};

// True if the means of several ranks are averaged (--loss-average rank).
bool averagesRanks(const Session &session);

// True if all labels of a step are ignored, or all labels of one of the ranks whose means are averaged. The loss is 0 /
// 0 then, and the samples without labels give gradients of 0. The parameters are valid, and training continues, as in
// PyTorch. A loss that is not a number for another reason has a gradient, which may be finite: that of t * log(t), for
// a target t of 0.
bool nothingCounted(const StepNumbers &numbers);

// Returns DataLoss if the loss or the norm of the gradients is infinite or not a number. Every parameter that such a
// gradient has updated is lost, so nothing may be saved after it. It succeeds if nothing counted. With a loss scale it
// succeeds too: such a step is skipped, and the scale is reduced. The norm's sum of squares is in f64 (float gradients
// cannot overflow it), so it is finite unless some gradient is not. `badInput` returns a text about a value of the
// step's data that is not finite itself, or an empty text; `badWeight` one about the weights that training began with.
// They are called only before a failure.
Status checkFinite(const StepNumbers &numbers, const std::function<std::string()> &badInput = {},
                   const std::function<std::string()> &badWeight = {});

} // namespace cleave::rt

#endif

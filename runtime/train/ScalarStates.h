// The scalar block: states that the host writes before a step and reads after it, by name. A plan has those that it
// uses; writing one that it lacks does nothing, reading one gives nothing.
//
//   written: scalar.lr  scalar.step (from 1)  scalar.seed  scalar.clip_norm (+inf: off)
//   read:    scalar.loss  scalar.grad_norm  scalar.loss_scale  scalar.skipped
//   both:    scalar.eval_loss_sum  scalar.eval_count  scalar.eval_correct  scalar.eval_predictions
#ifndef CLEAVE_RUNTIME_TRAIN_SCALARSTATES_H
#define CLEAVE_RUNTIME_TRAIN_SCALARSTATES_H

#include "runtime/train/Session.h"

#include <optional>

namespace cleave::rt {

// One scalar on all local ranks; found once, then touched without a look-up.
class ScalarState {
public:
  ScalarState() = default;
  ScalarState(Session &session, const char *name);

  bool exists() const { return !places_.empty(); }
  void set(double value) const;
  void setInteger(int64_t value) const;
  // As the first local rank has it; scalars are equal on all.
  std::optional<double> get() const;

private:
  ElementType type_ = ElementType::f32;
  std::vector<std::byte *> places_;
};

} // namespace cleave::rt

#endif

// The scalars: states that the host writes before a step and reads after it, by name. A plan has only those that it
// uses. Writing another one does nothing, and reading it gives no value.
//
//   written: scalar.lr  scalar.step (from 1)  scalar.seed  scalar.clip_norm (+inf: off)
//   read:    scalar.loss  scalar.grad_norm  scalar.loss_scale  scalar.skipped
//   both:    scalar.eval_loss_sum  scalar.eval_count  scalar.eval_correct  scalar.eval_predictions
//
// All ranks that have a scalar have the same value. Some kinds of ranks may not have it: the loss of a pipeline is at
// the stage that computes it. The loop's decisions depend on scalars and must be equal on all processes, so
// readScalars() broadcasts such a value.
#ifndef CLEAVE_RUNTIME_SESSION_SCALARSTATES_H
#define CLEAVE_RUNTIME_SESSION_SCALARSTATES_H

#include "runtime/session/Session.h"

#include <initializer_list>
#include <optional>

namespace cleave::rt {

// A scalar on all local ranks. It is looked up only once, by the constructor.
class ScalarState {
public:
  ScalarState() = default;
  ScalarState(Session &session, const char *name);

  // True if some rank has it, in this process or in another.
  bool exists() const { return exists_; }
  void set(double value) const;
  void setInteger(int64_t value) const;

private:
  friend Status readScalars(Session &session, std::initializer_list<struct ScalarRead> reads);

  ElementType type_ = ElementType::f32;
  bool exists_ = false;
  bool isEverywhere_ = false;
  int holder_ = 0; // the first rank that has it
  std::vector<std::byte *> places_;
};

// A scalar, and the target of its value. The target is empty if the plan does not have the scalar.
struct ScalarRead {
  const ScalarState *scalar;
  std::optional<double> *value;
};
// All processes must read the same scalars at the same time, between programs.
Status readScalars(Session &session, std::initializer_list<ScalarRead> reads);

} // namespace cleave::rt

#endif

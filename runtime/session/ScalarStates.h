// The scalar block: states that the host writes before a step and reads after it, by name. A plan has those that it
// uses; writing one that it lacks does nothing, reading one gives nothing.
//
//   written: scalar.lr  scalar.step (from 1)  scalar.seed  scalar.clip_norm (+inf: off)
//   read:    scalar.loss  scalar.grad_norm  scalar.loss_scale  scalar.skipped
//   both:    scalar.eval_loss_sum  scalar.eval_count  scalar.eval_correct  scalar.eval_predictions
//
// All ranks that have a scalar have the same. Some kinds of ranks may lack it: the loss of a pipeline is at the stage
// that computes it, and what the loop decides by it must be equal on all processes, so that reading tells it to all.
#ifndef CLEAVE_RUNTIME_SESSION_SCALARSTATES_H
#define CLEAVE_RUNTIME_SESSION_SCALARSTATES_H

#include "runtime/session/Session.h"

#include <initializer_list>
#include <optional>

namespace cleave::rt {

// One scalar on all local ranks; found once, then touched without a look-up.
class ScalarState {
public:
  ScalarState() = default;
  ScalarState(Session &session, const char *name);

  // Whether some rank has it, of this process or of another.
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

// A scalar, and where its value goes; nothing where the plan lacks it.
struct ScalarRead {
  const ScalarState *scalar;
  std::optional<double> *value;
};
// All processes read the same scalars at the same time, between programs.
Status readScalars(Session &session, std::initializer_list<ScalarRead> reads);

} // namespace cleave::rt

#endif

// Lion (Chen et al., 2023, arXiv 2302.06675, Algorithm 2): the sign of an interpolation between momentum and gradient.
#include "compiler/Training/Optimizers/OwnOptimizers.h"

using namespace mlir;

namespace cleave {
namespace {

OptimizerStates states(const OptimizerSettings &) { return {{"exp_avg"}}; }

// decay * average + (1 - decay) * x
Value interpolate(Arithmetic &a, Value average, double decay, Value x) {
  Value kept = a.scale(average, decay);
  return a.add(kept, a.scale(x, 1 - decay));
}

void update(OptimizerUpdate &u) {
  Value &average = u.state("exp_avg");
  Value direction = u.a.sign(interpolate(u.a, average, u.get("beta1"), u.grad));
  // Not as a factor 1 - lr * weight_decay: Lion's rates are small, and f32 stores 1 - 1e-5 only with a relative error
  // of 6e-8.
  u.descend(u.a.add(direction, u.decayTerm()));
  average = interpolate(u.a, average, u.get("beta2"), u.grad);
}

} // namespace

Optimizer makeLion() {
  using S = OptimizerSetting;
  return {"lion",
          "Lion, the sign of an interpolated momentum (Chen et al., 2023)",
          {S::number("beta1", 0.9, 0, 1, "how much of the average is in this step's direction"),
           S::number("beta2", 0.99, 0, 1, "how much of the average stays"),
           S::weightDecay(0, "times the parameter, part of the direction")},
          states,
          update,
          nullptr,
          1e-4};
}

} // namespace cleave

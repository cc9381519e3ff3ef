// torch.optim.Adagrad.
#include "compiler/Training/Optimizers/OwnOptimizers.h"

using namespace mlir;

namespace cleave {
namespace {

OptimizerStates states(const OptimizerSettings &s) { return {{"sum", s.get("initial_accumulator_value")}}; }

// lr / (1 + (step - 1) * lr_decay)
Value decayed(OptimizerUpdate &u, Value lr) {
  if (!u.isSet("lr_decay"))
    return lr;
  Arithmetic &a = u.a;
  return a.div(lr, a.shift(a.scale(a.shift(u.step, -1), u.get("lr_decay")), 1));
}

void update(OptimizerUpdate &u) {
  Arithmetic &a = u.a;
  u.addWeightDecay();
  Value &sum = u.state("sum");
  sum = a.add(sum, a.mul(u.grad, u.grad));
  Value deviation = a.shift(a.sqrt(sum), u.get("eps"));
  Value rate = u.byRate([&](Value lr) { return a.spread(decayed(u, lr), u.grad); });
  u.param = a.sub(u.param, a.mul(rate, a.div(u.grad, deviation)));
}

} // namespace

Optimizer makeAdagrad() {
  using S = OptimizerSetting;
  return {"adagrad",
          "Adagrad (Duchi et al., 2011)",
          {S::number("lr_decay", 0, 0, INFINITY, "step t has the rate lr / (1 + (t - 1) * lr_decay)"),
           S::weightDecay(0, "added to the gradient, times the parameter"),
           S::number("initial_accumulator_value", 0, 0, INFINITY, "what the sum of squares begins with"),
           S::number("eps", 1e-10, 0, INFINITY, "added to the divisor")},
          states,
          update,
          nullptr,
          1e-2};
}

} // namespace cleave

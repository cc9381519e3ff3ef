// torch.optim.RMSprop.
#include "compiler/Training/Optimizers/OwnOptimizers.h"

using namespace mlir;

namespace cleave {
namespace {

OptimizerStates states(const OptimizerSettings &s) {
  OptimizerStates result = {{"square_avg"}};
  if (s.isSet("centered"))
    result.push_back({"grad_avg"});
  if (s.isSet("momentum"))
    result.push_back({"momentum_buffer"});
  return result;
}

// The divisor of the gradient: the root of its running square, or of its running variance.
Value deviation(OptimizerUpdate &u) {
  Arithmetic &a = u.a;
  double alpha = u.get("alpha");
  Value &square = u.state("square_avg");
  Value kept = a.scale(square, alpha);
  square = a.add(kept, a.mul(a.scale(u.grad, 1 - alpha), u.grad));
  Value spread = square;
  if (u.isSet("centered")) {
    Value &mean = u.state("grad_avg");
    mean = a.add(mean, a.scale(a.sub(u.grad, mean), 1 - alpha));
    spread = a.sub(square, a.mul(mean, mean));
  }
  return a.shift(a.sqrt(spread), u.get("eps"));
}

void update(OptimizerUpdate &u) {
  u.addWeightDecay();
  Value direction = u.a.div(u.grad, deviation(u));
  if (u.isSet("momentum")) {
    Value &buffer = u.state("momentum_buffer");
    buffer = u.a.add(u.a.scale(buffer, u.get("momentum")), direction);
    direction = buffer;
  }
  u.descend(direction);
}

} // namespace

Optimizer makeRmsProp() {
  using S = OptimizerSetting;
  return {"rmsprop",
          "the gradient by the root of its running square (Hinton, 2012)",
          {S::number("alpha", 0.99, 0, 1, "how much of the averages stays"),
           S::number("eps", 1e-8, 0, INFINITY, "added to the divisor"),
           S::weightDecay(0, "added to the gradient, times the parameter"),
           S::number("momentum", 0, 0, INFINITY, "how much of the last direction stays"),
           S::flag("centered", "divided by the root of the running variance")},
          states,
          update,
          nullptr,
          1e-2};
}

} // namespace cleave

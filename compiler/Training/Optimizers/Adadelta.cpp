// torch.optim.Adadelta.
#include "compiler/Training/Optimizers/OwnOptimizers.h"

using namespace mlir;

namespace cleave {
namespace {

OptimizerStates states(const OptimizerSettings &) { return {{"square_avg"}, {"acc_delta"}}; }

void update(OptimizerUpdate &u) {
  Arithmetic &a = u.a;
  auto deviation = [&](Value square) { return a.sqrt(a.shift(square, u.get("eps"))); };
  auto decay = [&](Value average, Value x) {
    return a.add(a.scale(average, u.get("rho")), a.mul(a.scale(x, 1 - u.get("rho")), x));
  };
  u.addWeightDecay();
  Value &square = u.state("square_avg"), &deltas = u.state("acc_delta");
  square = decay(square, u.grad);
  Value delta = a.mul(a.div(deviation(deltas), deviation(square)), u.grad);
  deltas = decay(deltas, delta);
  u.descend(delta);
}

} // namespace

Optimizer makeAdadelta() {
  using S = OptimizerSetting;
  return {"adadelta",
          "Adadelta (Zeiler, 2012)",
          {S::number("rho", 0.9, 0, 1, "how much of both averages stays"),
           S::number("eps", 1e-6, 0, INFINITY, "added to both averages before their square roots"),
           S::weightDecay(0, "added to the gradient, times the parameter")},
          states,
          update,
          nullptr,
          1};
}

} // namespace cleave

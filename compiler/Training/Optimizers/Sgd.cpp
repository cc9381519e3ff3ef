// torch.optim.SGD.
#include "compiler/Training/Optimizers/OwnOptimizers.h"

using namespace mlir;

namespace cleave {
namespace {

OptimizerStates states(const OptimizerSettings &s) {
  return s.isSet("momentum") ? OptimizerStates{{"momentum_buffer"}} : OptimizerStates{};
}

// The buffer of the first step is the gradient itself, not dampened. (With a dampening of 0 the formula gives the
// same.)
Value nextMomentum(OptimizerUpdate &u) {
  Arithmetic &a = u.a;
  Value next = a.add(a.scale(u.state("momentum_buffer"), u.get("momentum")), a.scale(u.grad, 1 - u.get("dampening")));
  if (!u.isSet("dampening"))
    return next;
  Value first = a.compare(Predicate::Le, u.step, a.splat(tensorType(u.step), 1));
  auto mask = RankedTensorType::get(tensorType(u.grad).getShape(), tensorType(first).getElementType());
  return a.select(a.spread(first, mask), u.grad, next);
}

void update(OptimizerUpdate &u) {
  u.addWeightDecay();
  if (!u.isSet("momentum"))
    return u.descend(u.grad);
  Value &buffer = u.state("momentum_buffer");
  buffer = nextMomentum(u);
  u.descend(u.isSet("nesterov") ? u.a.add(u.grad, u.a.scale(buffer, u.get("momentum"))) : buffer);
}

std::string check(const OptimizerSettings &s) {
  bool fits = !s.isSet("nesterov") || (s.isSet("momentum") && !s.isSet("dampening"));
  return fits ? "" : "nesterov needs momentum above 0 and dampening 0";
}

} // namespace

Optimizer makeSgd() {
  using S = OptimizerSetting;
  return {"sgd",
          "stochastic gradient descent, with momentum where it is above 0",
          {S::number("momentum", 0, 0, INFINITY, "how much of the last direction stays"),
           S::number("dampening", 0, 0, INFINITY, "how much of the gradient the momentum leaves out"),
           S::weightDecay(0, "added to the gradient, times the parameter"),
           S::flag("nesterov", "the direction looks one step of momentum ahead")},
          states,
          update,
          check};
}

} // namespace cleave

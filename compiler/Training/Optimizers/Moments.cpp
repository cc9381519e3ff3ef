#include "compiler/Training/Optimizers/Moments.h"

using namespace mlir;

namespace cleave {

std::vector<OptimizerSetting> momentSettings(double weightDecay, std::string help) {
  using S = OptimizerSetting;
  return {S::number("beta1", 0.9, 0, 1, "how much of the gradients' average stays"),
          S::number("beta2", 0.999, 0, 1, "how much of the squared gradients' average stays"),
          S::number("eps", 1e-8, 0, INFINITY, "added to the divisor"),
          S::weightDecay(weightDecay, std::move(help))};
}

OptimizerStates momentStates(const OptimizerSettings &) { return {{"exp_avg"}, {"exp_avg_sq"}}; }

void updateMoments(OptimizerUpdate &u) {
  Arithmetic &a = u.a;
  Value &mean = u.state("exp_avg"), &square = u.state("exp_avg_sq");
  mean = a.add(mean, a.scale(a.sub(u.grad, mean), 1 - u.get("beta1")));
  square = a.add(a.scale(square, u.get("beta2")), a.mul(a.scale(u.grad, 1 - u.get("beta2")), u.grad));
}

void descendByMoments(OptimizerUpdate &u) {
  Arithmetic &a = u.a;
  updateMoments(u);
  Value mean = u.state("exp_avg"), square = u.state("exp_avg_sq");
  Value correction = u.biasCorrection(u.get("beta1"));
  Value stepSize = u.byRate([&](Value lr) { return a.spread(a.div(lr, correction), mean); });
  Value root = a.sqrt(u.biasCorrection(u.get("beta2")));
  Value deviation = a.shift(a.div(a.sqrt(square), a.spread(root, square)), u.get("eps"));
  u.param = a.sub(u.param, a.div(a.mul(stepSize, mean), deviation));
}

} // namespace cleave

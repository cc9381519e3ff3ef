// An optimizer as a plug-in: Signum (Bernstein et al., 2018, arXiv 1802.04434), the sign of a running average.
//
//   cleave compile model.onnx -o model --train --loss mse --optimizer signum,momentum=0.8 --load-pass-plugin libSignum.so
#include "compiler/Training/Optimizers/Optimizer.h"

#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace cleave;

namespace {

OptimizerStates states(const OptimizerSettings &) { return {{"average"}}; }

void update(OptimizerUpdate &u) {
  Arithmetic &a = u.a;
  double momentum = u.get("momentum");
  mlir::Value &average = u.state("average");
  average = a.add(a.scale(average, momentum), a.scale(u.grad, 1 - momentum));
  u.shrink();                 // param = param * (1 - lr * weight_decay)
  u.descend(a.sign(average)); // param = param - lr * sign(average)
}

void registerOptimizers() {
  using S = OptimizerSetting;
  registerOptimizer({"signum",
                     "the sign of the gradients' average (Bernstein et al., 2018)",
                     {S::number("momentum", /*byDefault=*/0.9, /*low=*/0, /*high=*/1, "how much of the average stays"),
                      S::weightDecay(0, "a step shrinks the parameter by lr times this")},
                     states,
                     update});
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Signum", "0.1", registerOptimizers};
}

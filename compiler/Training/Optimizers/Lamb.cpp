// LAMB (You et al., 2020, arXiv 1904.00962, Algorithm 2, with the identity for its function phi): Adam's direction with
// decoupled weight decay, scaled in each parameter tensor to the norm of the tensor itself.
#include "compiler/Training/Optimizers/Moments.h"
#include "compiler/Training/Optimizers/OwnOptimizers.h"

using namespace mlir;

namespace cleave {
namespace {

// exp_avg / (1 - beta1^step) / (sqrt(exp_avg_sq / (1 - beta2^step)) + eps) + weight_decay * param
Value direction(OptimizerUpdate &u) {
  Arithmetic &a = u.a;
  Value mean = a.div(u.state("exp_avg"), a.spread(u.biasCorrection(u.get("beta1")), u.param));
  Value square = a.div(u.state("exp_avg_sq"), a.spread(u.biasCorrection(u.get("beta2")), u.param));
  Value adam = a.div(mean, a.shift(a.sqrt(square), u.get("eps")));
  return a.add(adam, u.decayTerm());
}

// |param| / |direction| of each tensor. It is 1 if one of them is 0, so that tensors of zeros begin to move.
Value trustRatio(OptimizerUpdate &u, Value direction) {
  Arithmetic &a = u.a;
  Value own = u.tensorNorms(u.param), step = u.tensorNorms(direction);
  Value zero = a.splat(tensorType(own), 0), one = a.splat(tensorType(own), 1);
  Value isUsual = a.mask(a.compare(Predicate::Gt, own, zero), a.compare(Predicate::Gt, step, zero));
  return a.select(isUsual, a.div(own, step), one);
}

void update(OptimizerUpdate &u) {
  updateMoments(u);
  Value step = direction(u);
  u.descend(u.scaleByTensor(step, trustRatio(u, step)));
}

} // namespace

Optimizer makeLamb() {
  std::vector<OptimizerSetting> settings = momentSettings(1e-2, "times the parameter, part of the direction");
  for (OptimizerSetting &setting : settings)
    if (setting.key == "eps")
      setting.byDefault = 1e-6;
  return {"lamb", "LAMB, Adam scaled to each tensor's norm (You et al., 2020)", std::move(settings), momentStates, update};
}

} // namespace cleave

// torch.optim.AdamW: Adam with decoupled weight decay.
#include "compiler/Training/Optimizers/Moments.h"
#include "compiler/Training/Optimizers/OwnOptimizers.h"

namespace cleave {
namespace {

void update(OptimizerUpdate &u) {
  u.shrink();
  descendByMoments(u);
}

} // namespace

Optimizer makeAdamW() {
  return {"adamw", "Adam with decoupled weight decay (Loshchilov and Hutter, 2017)",
          momentSettings(1e-2, "a step shrinks the parameter by lr times this"), momentStates, update};
}

} // namespace cleave

// torch.optim.Adam.
#include "compiler/Training/Optimizers/Moments.h"
#include "compiler/Training/Optimizers/OwnOptimizers.h"

namespace cleave {
namespace {

void update(OptimizerUpdate &u) {
  u.addWeightDecay();
  descendByMoments(u);
}

} // namespace

Optimizer makeAdam() {
  return {"adam", "Adam (Kingma and Ba, 2014)",
          momentSettings(0, "added to the gradient, times the parameter"), momentStates, update};
}

} // namespace cleave

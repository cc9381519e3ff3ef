#include "compiler/Planning/Pipeline.h"

#include "compiler/Planning/Build/BuildPlan.h"
#include "compiler/Planning/Passes.h"

using namespace mlir;

namespace cleave::plan {

void addPlanning(OpPassManager &manager, const PlanningOptions &options) {
  // Where what crosses from forward to backward can be seen.
  OffloadValuesOptions offload;
  offload.residuals = options.offloadResiduals;
  manager.addPass(createOffloadValues(offload));
  // Before bodies and what they leave in stage buffers are decided; where there are no stages, share-gathers does it.
  if (options.shareGathers)
    manager.addPass(createKeepGathers());
  // The stages of a pipeline, where there is one: then the next pass has nothing to do.
  manager.addPass(createBuildPrograms());
  // Before what plans, so that everything below sees a whole program and values cross from forward to backward as
  // values.
  manager.addPass(createFlattenPrograms());
  // Behind that pass: only in one body can forward and backward share what is gathered.
  if (options.shareGathers)
    manager.addNestedPass<func::FuncOp>(createShareGathers());
  // Last of what is equal for all ranks: what is decided above (kernels, what is kept) must be for every kind.
  manager.addPass(createSplitKinds());
  // Order, events and addresses in one pass: each decides what the next can do, and none is a form worth printing.
  manager.addPass(createBuildPlanWith(options));
}

void buildPlanningPipeline(OpPassManager &manager, const PlanningOptions &options) {
  addPlanning(manager, options);
  manager.addPass(createVerifyPlan());
}

void registerPlanningPipeline() {
  PassPipelineRegistration<>("planning-pipeline", "kernels form to verified plan form",
                             [](OpPassManager &manager) { buildPlanningPipeline(manager, {}); });
}

} // namespace cleave::plan

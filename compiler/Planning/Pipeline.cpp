#include "compiler/Planning/Pipeline.h"

#include "compiler/Planning/Build/BuildPlan.h"
#include "compiler/Planning/Passes.h"

using namespace mlir;

namespace cleave::plan {

void addPlanning(OpPassManager &manager, const PlanningOptions &options) {
  // Here it is still visible which values cross from forward to backward.
  OffloadValuesOptions offload;
  offload.residuals = options.offloadResiduals;
  manager.addPass(createOffloadValues(offload));
  // Before it is decided which bodies there are, and what they leave in stage buffers. Without stages, share-gathers
  // does this.
  if (options.shareGathers)
    manager.addPass(createKeepGathers());
  // The stages of a pipeline. If there are any, the next pass has nothing to do.
  manager.addPass(createBuildPrograms());
  // Early, so that all passes below see a whole program, in which values cross from forward to backward as values.
  manager.addPass(createFlattenPrograms());
  // After that pass, because forward and backward can share gathered values only in one body.
  if (options.shareGathers)
    manager.addNestedPass<func::FuncOp>(createShareGathers());
  // Last of the passes that treat all ranks alike: the decisions above (kernels, which values are kept) must be the
  // same for every kind.
  manager.addPass(createSplitKinds());
  // Order, events and addresses in one pass: each decides what the next can do, and no form between them is worth
  // printing.
  manager.addPass(createBuildPlanWith(options));
  manager.addPass(createKeepProvenNeeds());
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

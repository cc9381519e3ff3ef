#include "tools/cleave-opt/Register.h"

#include "compiler/Codegen/Fusion/Passes.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Sharding/Passes.h"
#include "compiler/Training/Pipeline.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/Transforms/Passes.h"
#include "dialects/Plan/IR/Plan.h"

void cleave::registerCleave(mlir::DialectRegistry &registry) {
  registry.insert<CleaveDialect, plan::PlanDialect>();
  registerCleaveTransformsPasses();
  registerCleaveFusionPasses();
  plan::registerPlanningPasses();
  plan::registerPlanningPipeline();
  registerCleaveShardingPasses();
  registerTraining();
}

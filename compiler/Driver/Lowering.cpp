#include "compiler/Driver/Lowering.h"

#include "compiler/Codegen/Fusion/Passes.h"
#include "compiler/Driver/PhaseRunner.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Sharding/Pipeline.h"
#include "compiler/Support/Error.h"
#include "compiler/Training/Pipeline.h"
#include "compiler/Training/TrainingOptions.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace cleave;

namespace {

llvm::Expected<TrainingOptions> trainingOptions(const CompileOptions &options) {
  TrainingOptions training;
  auto optimizer = parseOptimizer(options.optimizer);
  if (!optimizer)
    return optimizer.takeError();
  training.optimizer = *optimizer;
  for (const std::string &text : options.paramGroups) {
    auto group = parseParamGroup(text);
    if (!group)
      return group.takeError();
    training.groups.push_back(*group);
  }
  auto average = parseLossAverage(options.lossAverage);
  if (!average)
    return average.takeError();
  training.lossAverage = *average;
  training.freeze = options.freeze;
  training.tie = options.tie;
  training.microBatches = options.microBatches;
  training.dataRanks = options.dataRanks();
  training.bucketBytes = options.bucketBytes;
  training.firstBucketBytes = std::min(training.firstBucketBytes, options.bucketBytes);
  return training;
}

// What is equal is computed once, what is not used goes away.
void addCleanUp(mlir::OpPassManager &manager) {
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
}

void addFusion(mlir::OpPassManager &manager) {
  // Softmax and normalization become elementwise ops and reductions, which fuse with their neighbours.
  manager.addNestedPass<mlir::func::FuncOp>(createDecomposeComposites());
  addCleanUp(manager);
  manager.addNestedPass<mlir::func::FuncOp>(createFormKernels());
  // Which results overwrite an input must be known before kernels are named: it is part of what makes two of them equal.
  manager.addNestedPass<mlir::func::FuncOp>(plan::createPlanInPlace());
  manager.addPass(createNameKernels());
  manager.addPass(createVerifyKernels());
}

using PhaseList = llvm::ArrayRef<std::pair<Phase, std::function<void(mlir::OpPassManager &)>>>;

llvm::Expected<Progress> runPhases(mlir::ModuleOp module, const CompileOptions &options, PhaseList phases) {
  PhaseRunner runner(module, options);
  for (const auto &[phase, build] : phases) {
    if (llvm::Error error = runner.run(phase, build))
      return error;
    if (runner.done())
      return Progress::Stopped;
  }
  return Progress::Complete;
}

} // namespace

llvm::Expected<Progress> cleave::lowerToKernels(mlir::ModuleOp module, const CompileOptions &options) {
  auto training = trainingOptions(options);
  if (!training)
    return training.takeError();
  return runPhases(module, options,
                   {{Phase::Import,
                     [](mlir::OpPassManager &manager) {
                       addCleanUp(manager);
                       manager.addPass(createVerifyModel());
                     }},
                    {Phase::Step,
                     [&](mlir::OpPassManager &manager) {
                       if (options.train)
                         buildTrainingPipeline(manager, *training);
                       else
                         buildInferencePipeline(manager);
                       addCleanUp(manager);
                       manager.addPass(createVerifyStep());
                     }},
                    {Phase::Shard,
                     [](mlir::OpPassManager &manager) {
                       buildShardingPipeline(manager);
                       addCleanUp(manager);
                     }},
                    {Phase::Fuse, addFusion}});
}

llvm::Expected<Progress> cleave::lowerToPlan(mlir::ModuleOp module, const CompileOptions &options,
                                             const plan::PlanningOptions &planning) {
  return runPhases(module, options, {{Phase::Plan, [&](mlir::OpPassManager &manager) {
                                        plan::buildPlanningPipeline(manager, planning);
                                      }}});
}

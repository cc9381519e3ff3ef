#include "compiler/Driver/Lowering.h"

#include "compiler/Codegen/Fusion/Passes.h"
#include "compiler/Driver/BatchNorm.h"
#include "compiler/Driver/PhaseRunner.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Planning/Verify/Model/StatedMeaning.h"
#include "compiler/Sharding/Offload.h"
#include "compiler/Sharding/Passes.h"
#include "compiler/Sharding/Pipeline.h"
#include "compiler/Sharding/StateStorage.h"
#include "compiler/Support/Bytes.h"
#include "compiler/Support/Usage.h"
#include "compiler/Target/Target.h"
#include "compiler/Training/Buckets/Units.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/Pipeline.h"
#include "compiler/Training/Residuals/Recompute.h"
#include "compiler/Training/TrainingOptions.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace cleave;

namespace {

// Returns how states are stored. The strategy counts only if the mesh has an axis to split over.
llvm::Expected<StatePolicy> statePolicy(const CompileOptions &options) {
  StatePolicy policy;
  auto strategy = parseFsdpStrategy(options.axisSize("fsdp") > 1 ? options.fsdpStrategy : "no-shard");
  if (!strategy)
    return usageError("--fsdp-strategy", llvm::toString(strategy.takeError()));
  auto sync = parseGradSync(options.gradSync, *strategy);
  if (!sync)
    return usageError("--grad-sync", llvm::toString(sync.takeError()));
  auto where = parseDpSync(options.dpSync);
  if (!where)
    return usageError("--dp-sync", llvm::toString(where.takeError()));
  auto offload = parseOffload(options.offload);
  if (!offload)
    return usageError("--offload", llvm::toString(offload.takeError()));
  // A gradient that leaves the device after its reduction need not come back for the reduction. With one micro-batch,
  // this sends the same number of bytes. Exception: if the update uses only a part of a gradient that is stored whole
  // (ZeRO-1), an all-reduce would be sent instead of a reduce-scatter.
  bool takesPart = splitsOptimizer(*strategy) && !splitsGradients(*strategy);
  if (offload->grads && options.microBatches == 1 && !takesPart)
    sync = GradSync::Every;
  return StatePolicy{*strategy, *sync, *where};
}

ShardingOptions shardingOptions(const CompileOptions &options, const StatePolicy &policy) {
  ShardingOptions sharding;
  sharding.fsdpStrategy = printFsdpStrategy(policy.strategy);
  sharding.gradSync = printGradSync(policy.gradSync);
  sharding.dpSync = printDpSync(policy.dpSync);
  sharding.offload = options.offload;
  return sharding;
}

// Units are gathered together, so they are only used if parameters are split.
llvm::Error setUnits(const CompileOptions &options, const StatePolicy &policy, TrainingOptions &training) {
  training.splitParameters = splitsParameters(policy.strategy);
  training.syncEvery = policy.gradSync == GradSync::Every;
  if (!splitsParameters(policy.strategy))
    return llvm::Error::success();
  llvm::StringRef units = options.fsdpUnits;
  if (units.consume_front("size=")) {
    auto bytes = parseByteSize(units);
    if (!bytes)
      return usageError("--fsdp-units", llvm::toString(bytes.takeError()));
    training.bucketBytes = training.firstBucketBytes = *bytes;
  } else {
    training.units = units.str();
  }
  return llvm::Error::success();
}

// Gradients that are stored split are whole in memory until they are reduced. So a bucket of them is as small as a
// unit.
int64_t bucketCap(mlir::ModuleOp module, const StatePolicy &policy) {
  constexpr int64_t usual = 25 << 20;
  int64_t total = 0;
  for (auto state : module.getOps<StateOp>())
    total += state.getRole() == Role::Parameter ? byteSize(state.getTensorType()) : 0;
  return splitsGradients(policy.strategy) ? std::min(usual, unitCap(total)) : usual;
}

llvm::Expected<TrainingOptions> trainingOptions(mlir::ModuleOp module, const CompileOptions &options,
                                                const StatePolicy &policy) {
  TrainingOptions training;
  auto optimizer = parseOptimizer(options.optimizer);
  if (!optimizer)
    return usageError("--optimizer", llvm::toString(optimizer.takeError()));
  training.optimizer = *optimizer;
  for (const std::string &text : options.paramGroups) {
    auto group = parseParamGroup(text);
    if (!group)
      return usageError("--param-group", llvm::toString(group.takeError()));
    training.groups.push_back(*group);
  }
  auto average = parseLossAverage(options.lossAverage);
  if (!average)
    return average.takeError();
  training.lossAverage = *average;
  auto precision = parsePrecision(options.precision);
  if (!precision)
    return usageError("--precision", llvm::toString(precision.takeError()));
  auto lossScale = parseLossScale(options.lossScale);
  if (!lossScale)
    return usageError("--loss-scale", llvm::toString(lossScale.takeError()));
  auto recompute = parseRecompute(options.recompute);
  if (!recompute)
    return usageError("--recompute", llvm::toString(recompute.takeError()));
  training.keepAll = recompute->kind == RecomputeKind::Never;
  training.deferStatistics = parseBatchNorm(options.batchNorm).isDeferred;
  training.fuseAttention = options.attention == "fused";
  training.precision = *precision;
  training.lossScale = *lossScale;
  training.freeze = options.freeze;
  training.tie = options.tie;
  training.microBatches = options.microBatches;
  training.dataRanks = options.dataRanks();
  training.bucketBytes = options.bucketBytes.value_or(bucketCap(module, policy));
  training.firstBucketBytes = std::min(training.firstBucketBytes, training.bucketBytes);
  if (llvm::Error error = setUnits(options, policy, training))
    return error;
  return training;
}

void addFusion(mlir::OpPassManager &manager, bool assignsLayouts, bool fusesBiasGradients) {
  // After it has been decided what is gathered, because narrow values should be gathered. Before a cast becomes a
  // kernel over a whole table.
  manager.addNestedPass<mlir::func::FuncOp>(createSinkCasts());
  // Softmax and normalization become element-wise ops and reductions, which fuse with their neighbors.
  manager.addNestedPass<mlir::func::FuncOp>(createDecomposeComposites());
  addCleanUp(manager);
  // After sharding, which sees tensors in the model's layouts. Before kernels are formed, because they absorb
  // transposes.
  if (assignsLayouts) {
    manager.addNestedPass<mlir::func::FuncOp>(createAssignLayouts());
    addCleanUp(manager);
    manager.addNestedPass<mlir::func::FuncOp>(createFinishKernels());
  }
  manager.addNestedPass<mlir::func::FuncOp>(createDissolveReshapes());
  manager.addNestedPass<mlir::func::FuncOp>(createFormKernels());
  // Only kernels show which sums need a separate pass over memory.
  if (fusesBiasGradients)
    manager.addNestedPass<mlir::func::FuncOp>(createFuseBiasGradients());
  // The results that overwrite an input must be known before kernels are named, because kernels with the same name must
  // agree in this.
  manager.addNestedPass<mlir::func::FuncOp>(plan::createPlanInPlace());
  manager.addPass(createNameKernels());
}

// Adds the check of the phase's result, after the passes that a user has inserted. Every phase has a check, because the
// next phase, or the file, is made from its result.
void addCheck(Phase phase, mlir::OpPassManager &manager) {
  switch (phase) {
  case Phase::Import:
    manager.addPass(createVerifyModel());
    break;
  case Phase::Step:
    manager.addPass(createVerifyStep());
    break;
  case Phase::Shard:
    manager.addPass(createVerifySharded());
    break;
  case Phase::Fuse:
    manager.addPass(createVerifyKernels());
    manager.addPass(createVerifySharded());
    break;
  case Phase::Plan:
    manager.addPass(plan::createVerifyPlan()); // a plan that could hang or race never leaves the compiler
    break;
  case Phase::Emit:
  case Phase::Link:
    llvm_unreachable("no passes run in these phases");
  }
}

using PhaseList = llvm::ArrayRef<std::pair<Phase, PhaseRunner::AddPasses>>;

llvm::Expected<Progress> runPhases(mlir::ModuleOp module, const CompileOptions &options, PhaseList phases,
                                   llvm::raw_ostream &log) {
  PhaseRunner runner(module, options, log);
  for (const auto &[phase, build] : phases) {
    auto check = [phase = phase](mlir::OpPassManager &manager) { addCheck(phase, manager); };
    if (llvm::Error error = runner.run(phase, build, check))
      return error;
    if (runner.done())
      return Progress::Stopped;
  }
  return Progress::Complete;
}

} // namespace

void cleave::addCleanUp(mlir::OpPassManager &manager) {
  manager.addPass(mlir::createCanonicalizerPass());
  manager.addPass(mlir::createCSEPass());
}

llvm::Expected<Progress> cleave::lowerToKernels(mlir::ModuleOp module, const CompileOptions &options,
                                                llvm::raw_ostream &log) {
  auto policy = statePolicy(options);
  if (!policy)
    return policy.takeError();
  auto training = trainingOptions(module, options, *policy);
  if (!training)
    return training.takeError();
  auto target = parseTarget(options.target);
  if (!target)
    return target.takeError();
  training->productMultiple = (*target)->productMultiple();
  return runPhases(module, options,
                   {{Phase::Import, [](mlir::OpPassManager &manager) { addCleanUp(manager); }},
                    {Phase::Step,
                     [&](mlir::OpPassManager &manager) {
                       if (options.train)
                         buildTrainingPipeline(manager, *training);
                       else
                         buildInferencePipeline(manager, training->precision, training->fuseAttention,
                                                training->productMultiple);
                       // On functions in their final form, and before their values are assigned to the mesh.
                       manager.addPass(createJoinMoves());
                       addCleanUp(manager);
                     }},
                    {Phase::Shard,
                     [&](mlir::OpPassManager &manager) {
                       buildShardingPipeline(manager, shardingOptions(options, *policy));
                       addCleanUp(manager);
                     }},
                    // In training, gradients read the values that the forward pass stores, and they compute on plain
                    // layouts. The kernels for GPUs do so, too.
                    {Phase::Fuse,
                     [&](mlir::OpPassManager &manager) {
                       addFusion(manager, !options.train && (*target)->needsHostKernels(),
                                 options.train && options.biasGradients == "fused");
                     }}},
                   log);
}

llvm::Expected<Progress> cleave::lowerToPlan(mlir::ModuleOp module, const CompileOptions &options,
                                             const plan::PlanningOptions &planning, llvm::raw_ostream &log) {
  plan::StatedMeaning stated;
  auto build = [&](mlir::OpPassManager &manager) {
    // Before the programs are flattened, because forward and backward are still separate. After all passes that merge
    // equal ops or form kernels.
    manager.addPass(createRecomputeBlocks({options.recompute, options.recomputeWhen}));
    // This is the last form in which values say what each rank has. The meaning that the plan must have is taken from
    // here.
    manager.addPass(createVerifySharded());
    plan::addPlanning(manager, planning);
    manager.addPass(plan::createNoteMeaning(stated));
  };
  auto check = [&](mlir::OpPassManager &manager) {
    manager.addPass(plan::createCompareMeaning(stated));
    addCheck(Phase::Plan, manager);
  };
  PhaseRunner runner(module, options, log);
  if (llvm::Error error = runner.run(Phase::Plan, build, check))
    return error;
  return runner.done() ? Progress::Stopped : Progress::Complete;
}

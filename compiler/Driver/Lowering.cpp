#include "compiler/Driver/Lowering.h"

#include "compiler/Codegen/Fusion/Passes.h"
#include "compiler/Driver/BatchNorm.h"
#include "compiler/Driver/PhaseRunner.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Planning/Verify/StatedMeaning.h"
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

// How states are stored: the strategy counts where the mesh has an axis to split over.
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
  // A gradient that leaves the device reduced need not come back to be. With one micro-batch that sends as much, but
  // where the update takes a part of what is stored whole (ZeRO-1): an all-reduce instead of a reduce-scatter.
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

// Units are what is gathered: they are of no use where parameters are whole.
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

// Gradients that are stored split lie whole until they are reduced, so a bucket of them is as small as a unit.
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
  // Behind the decision what is gathered, which is to be narrow; before a cast becomes a kernel over a whole table.
  manager.addNestedPass<mlir::func::FuncOp>(createSinkCasts());
  // Softmax and normalization become elementwise ops and reductions, which fuse with their neighbours.
  manager.addNestedPass<mlir::func::FuncOp>(createDecomposeComposites());
  addCleanUp(manager);
  // Behind the sharding, which knows tensors as the model has them; before kernels are formed, which take in transposes.
  if (assignsLayouts) {
    manager.addNestedPass<mlir::func::FuncOp>(createAssignLayouts());
    addCleanUp(manager);
    manager.addNestedPass<mlir::func::FuncOp>(createFinishKernels());
  }
  manager.addNestedPass<mlir::func::FuncOp>(createDissolveReshapes());
  manager.addNestedPass<mlir::func::FuncOp>(createFormKernels());
  // Which sums cost a pass over memory of their own is known of the kernels alone.
  if (fusesBiasGradients)
    manager.addNestedPass<mlir::func::FuncOp>(createFuseBiasGradients());
  // Which results overwrite an input must be known before kernels are named: it is part of what makes two of them
  // equal.
  manager.addNestedPass<mlir::func::FuncOp>(plan::createPlanInPlace());
  manager.addPass(createNameKernels());
}

// What holds after a phase, whatever passes a user has inserted there. No phase is without a check: what it leaves is
// what the next one, or the file, is made of.
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
                       // Of each function as it will be computed, and before its values get their places on the mesh.
                       manager.addNestedPass<mlir::func::FuncOp>(createGatherMoves());
                       addCleanUp(manager);
                     }},
                    {Phase::Shard,
                     [&](mlir::OpPassManager &manager) {
                       buildShardingPipeline(manager, shardingOptions(options, *policy));
                       addCleanUp(manager);
                     }},
                    // In training, what the forward pass keeps is read by gradients, which compute on plain tensors, as do
                    // the kernels for GPUs.
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
    // Before the programs are flattened, where forward and backward are apart; behind everything that merges equal ops
    // or forms kernels.
    manager.addPass(createRecomputeBlocks({options.recompute, options.recomputeWhen}));
    // The last form in which values say what ranks have: what the plan is to mean is taken from here.
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

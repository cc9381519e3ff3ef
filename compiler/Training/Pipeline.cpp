#include "compiler/Training/Pipeline.h"

#include "compiler/Training/Passes.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cleave {

namespace {

AssignParameterGroupsOptions groupOptions(const TrainingOptions &options) {
  AssignParameterGroupsOptions result;
  result.freeze.assign(options.freeze.begin(), options.freeze.end());
  result.groups = llvm::join(llvm::map_range(options.groups, printParamGroup), ";");
  return result;
}

void addCleanup(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

// Before precision, which rounds a product's result: the bias should be in it. Before differentiation: the value that
// is kept for the backward pass is then the result of the kernel with the bias, and not a value that two kernels
// compute.
void addEpilogues(OpPassManager &manager, const PrecisionOptions &precision) {
  manager.addNestedPass<func::FuncOp>(createFormEpilogues({precision.narrowsParameters()}));
}

// After precision, which chooses the types. Before differentiation: gradients then have the padding that their products
// need.
void addPadding(OpPassManager &manager, int64_t multiple) {
  if (multiple > 1)
    manager.addNestedPass<func::FuncOp>(createPadProducts({multiple}));
}

} // namespace

void buildTrainingPipeline(OpPassManager &manager, const TrainingOptions &options) {
  std::string average = lossAverageName(options.lossAverage).str();
  // The set of parameters must be final before options name parameters.
  if (!options.tie.empty())
    manager.addPass(createTieParameters({llvm::SmallVector<std::string>(options.tie.begin(), options.tie.end())}));
  // Before all passes that change the forward pass, because the importer has marked the ops that it has made.
  manager.addPass(createDeferStatistics({options.deferStatistics, options.microBatches}));
  // Freezing decides what is differentiated; groups decide which gradients may share a bucket.
  manager.addPass(createAssignParameterGroups(groupOptions(options)));
  // Sum and count are differentiated and accumulated. Training and evaluation need both.
  manager.addPass(createSplitLoss({average, options.dataRanks, options.microBatches}));
  // Before differentiation, so that the backward pass has the same origins if it draws the numbers again.
  manager.addPass(createShiftRandomOrigins({options.microBatches, options.dataRanks}));
  addEpilogues(manager, options.precision);
  // Before differentiation, so that gradients have the types of their values. After the loss is split: its parts are
  // f32 and stay so. The clean-up after it merges equal casts, and removes pairs of them.
  if (!options.precision.isEmpty()) {
    manager.addPass(createApplyPrecision({printPrecision(options.precision)}));
    addCleanup(manager);
  }
  // After precision, which recognizes products by their single result. Before differentiation, which needs attention's
  // gradient.
  if (options.fuseAttention)
    manager.addPass(createFormAttention());
  addPadding(manager, options.productMultiple);
  // After all passes that need the whole forward pass. Before the backward passes, because there is one for each chunk.
  manager.addPass(createCutModel({options.stages, options.stageSplit, options.microBatches, {}, {}}));
  // All later choices are made on one graph of both passes.
  std::string reduce = options.precision.reduce ? floatName(*options.precision.reduce).str() : "";
  manager.addPass(createDifferentiate({average, options.microBatches, reduce, printLossScale(options.lossScale)}));
  // Gradient rules repeat forward values and leave zeros. Equal values are merged before values are counted. Only after
  // that, the order in which gradients are completed is final.
  addCleanup(manager);
  // Before units and buckets, which follow blocks. After the clean-up, which would not merge ops with different marks.
  manager.addPass(createFindBlocks());
  // Before buckets: each unit is a bucket.
  if (!options.units.empty())
    manager.addPass(createAssignUnits({options.units}));
  // On the joint graph, so that parameters are slices of buckets in the forward pass, and in the backward pass if they
  // are recomputed.
  manager.addPass(createFormBuckets({options.bucketBytes, options.firstBucketBytes, options.dataRanks,
                                     options.splitParameters, options.syncEvery && options.microBatches > 1}));
  // After buckets, because it works on the states as they are stored.
  manager.addPass(createBuildUpdate({printOptimizer(options.optimizer), average}));
  manager.addPass(createBuildEvaluate());
  // Gradients have been built, and it costs more to keep or to repeat a composite than its parts. For example, the
  // statistics of a normalization are kept, because their sums must not run twice, and the rest is computed again. The
  // clean-up merges equal parts of the two passes.
  manager.addNestedPass<func::FuncOp>(createDecomposeComposites());
  addCleanup(manager);
  // After buckets too: reads of states may be repeated at no cost, and the cut must see this.
  manager.addPass(createChooseResiduals({options.keepAll}));
  // Near the end, because the variants differ from their originals only in the reads of accumulators (with a loss
  // scale, also in the writes of their copies).
  manager.addPass(createSpecializeMicroBatches({options.microBatches}));
  // After the variants, so that all of them are split in the same way.
  manager.addPass(createSplitBackward());
  // Removes seeds of ones and unit factors, and merges equal scalars of the buckets' updates.
  addCleanup(manager);
}

void buildInferencePipeline(OpPassManager &manager, const PrecisionOptions &precision, bool fuseAttention,
                            int64_t productMultiple) {
  addEpilogues(manager, precision);
  if (!precision.isEmpty())
    manager.addPass(createApplyPrecision({printPrecision(precision)}));
  if (fuseAttention) {
    addCleanup(manager); // equal casts are merged
    manager.addPass(createFormAttention());
  }
  addPadding(manager, productMultiple);
  manager.addPass(createBuildInference());
  // Without writes and losses, much of the graph may be dead.
  addCleanup(manager);
}

namespace {
// The training options of the command line, as pipeline options.
struct PipelineOptions : public PassPipelineOptions<PipelineOptions> {
  Option<std::string> optimizer{*this, "optimizer", llvm::cl::desc("KIND[,key=value...]"), llvm::cl::init("adamw")};
  Option<std::string> groups{*this, "groups", llvm::cl::desc("parameter groups, between `;`")};
  ListOption<std::string> freeze{*this, "freeze", llvm::cl::desc("patterns of frozen parameters")};
  ListOption<std::string> tie{*this, "tie", llvm::cl::desc("KEPT=TIED")};
  Option<std::string> lossAverage{*this, "loss-average", llvm::cl::desc("global | rank"), llvm::cl::init("global")};
  Option<int64_t> microBatches{*this, "micro-batches", llvm::cl::desc("micro-batches of a step"), llvm::cl::init(1)};
  Option<int64_t> dataRanks{*this, "data-ranks", llvm::cl::desc("ranks with different samples"), llvm::cl::init(1)};
  Option<int64_t> bucketBytes{*this, "bucket-bytes", llvm::cl::desc("cap of a bucket"), llvm::cl::init(25 << 20)};
  Option<int64_t> firstBucketBytes{*this, "first-bucket-bytes", llvm::cl::desc("cap of the first bucket"),
                                   llvm::cl::init(1 << 20)};
  Option<std::string> units{*this, "units", llvm::cl::desc("auto | pattern=P: buckets are units")};
  Option<bool> splitParameters{*this, "split-parameters",
                               llvm::cl::desc("buckets are for parameters that are stored split"),
                               llvm::cl::init(false)};
  Option<bool> syncEvery{*this, "sync-every", llvm::cl::desc("gradients are reduced in every micro-batch"),
                         llvm::cl::init(false)};
  Option<bool> deferStatistics{*this, "defer-statistics",
                               llvm::cl::desc("running statistics of batch norm are updated once a step"),
                               llvm::cl::init(false)};
  Option<int64_t> stages{*this, "stages", llvm::cl::desc("chunks that the model is cut into"), llvm::cl::init(0)};
  Option<std::string> stageSplit{*this, "stage-split", llvm::cl::desc("auto | uniform | parameters | pattern=P | at=NAME"),
                                 llvm::cl::init("auto")};
  Option<bool> keepAll{*this, "keep-all", llvm::cl::desc("the backward pass computes nothing again"),
                       llvm::cl::init(false)};
  Option<bool> fuseAttention{*this, "fuse-attention", llvm::cl::desc("attention is one op that keeps no scores"),
                             llvm::cl::init(false)};
  Option<int64_t> productMultiple{*this, "product-multiple",
                                  llvm::cl::desc("elements that rows of large products are padded to"), llvm::cl::init(1)};
  Option<std::string> precision{*this, "precision", llvm::cl::desc("PART=TYPE[,PART=TYPE...] or a type")};
  Option<std::string> lossScale{*this, "loss-scale", llvm::cl::desc("dynamic | NUMBER | none | auto"),
                                llvm::cl::init("auto")};
};

llvm::Expected<TrainingOptions> toTrainingOptions(const PipelineOptions &from) {
  TrainingOptions options;
  auto optimizer = parseOptimizer(from.optimizer);
  if (!optimizer)
    return optimizer.takeError();
  auto average = parseLossAverage(from.lossAverage);
  if (!average)
    return average.takeError();
  auto precision = parsePrecision(from.precision);
  if (!precision)
    return precision.takeError();
  auto lossScale = parseLossScale(from.lossScale);
  if (!lossScale)
    return lossScale.takeError();
  options.precision = *precision;
  options.lossScale = *lossScale;
  options.optimizer = *optimizer;
  options.lossAverage = *average;
  for (llvm::StringRef text : llvm::split(llvm::StringRef(from.groups), ';')) {
    if (text.empty())
      continue;
    auto group = parseParamGroup(text);
    if (!group)
      return group.takeError();
    options.groups.push_back(*group);
  }
  options.freeze.assign(from.freeze.begin(), from.freeze.end());
  options.tie.assign(from.tie.begin(), from.tie.end());
  options.microBatches = from.microBatches;
  options.dataRanks = from.dataRanks;
  options.bucketBytes = from.bucketBytes;
  options.firstBucketBytes = from.firstBucketBytes;
  options.units = from.units;
  options.splitParameters = from.splitParameters;
  options.syncEvery = from.syncEvery;
  options.deferStatistics = from.deferStatistics;
  options.keepAll = from.keepAll;
  options.fuseAttention = from.fuseAttention;
  options.productMultiple = from.productMultiple;
  options.stages = from.stages;
  options.stageSplit = from.stageSplit;
  return options;
}

// A pipeline builder of the registry reports errors through a handler, so texts are checked here and not by the passes.
LogicalResult buildFromText(OpPassManager &manager, StringRef text, function_ref<LogicalResult(const Twine &)> error) {
  PipelineOptions parsed;
  if (failed(parsed.parseFromString(text)))
    return failure();
  auto options = toTrainingOptions(parsed);
  if (!options)
    return error(toString(options.takeError()));
  buildTrainingPipeline(manager, *options);
  return success();
}
} // namespace

void registerTraining() {
  registerCleaveTrainingPasses();
  registerPassPipeline("training-pipeline", "model level to step level, for training", buildFromText,
                       [](function_ref<void(const mlir::detail::PassOptions &)> visit) { visit(PipelineOptions()); });
  PassPipelineRegistration<>("inference-pipeline", "model level to step level, for inference",
                             [](OpPassManager &manager) { buildInferencePipeline(manager); });
}

} // namespace cleave

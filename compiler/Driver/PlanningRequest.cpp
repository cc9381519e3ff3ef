#include "compiler/Driver/PlanningRequest.h"

#include "compiler/Sharding/Offload.h"
#include "compiler/Sharding/StateStorage.h"
#include "compiler/Target/Target.h"
#include "compiler/Training/Optimizers/Optimizer.h"
#include "compiler/Training/TrainingOptions.h"
#include "runtime/plan/Properties.h"
#include "runtime/train/loop/TrainOptions.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace cleave;

// Describes the loss. A resumed run must have the same text (runtime/train/checkpoint/RunFacts.h).
static std::string describeLoss(const CompileOptions &options) {
  if (options.loss.empty())
    return options.lossOutput;
  std::string text = options.loss;
  if (options.loss != "mse" && options.ignoredLabel != CompileOptions().ignoredLabel)
    text += " --loss-ignore-index " + (options.ignoredLabel ? std::to_string(*options.ignoredLabel) : "none");
  if (options.lossClassDim)
    text += " --loss-class-dim " + std::to_string(*options.lossClassDim);
  return text;
}

// Adds the properties by which inspect describes kernels in narrow types.
static void describeProducts(const Target &target, plan::PlanningOptions &planning) {
  for (rt::fb::DType type : {rt::fb::DType::bf16, rt::fb::DType::f16})
    planning.properties[rt::kKernelsProperties.of(rt::fb::EnumNameDType(type))] =
        target.hasNativeProducts(type) ? "native" : "emulated in f32";
}

static void describeTraining(const CompileOptions &options, plan::PlanningOptions &planning) {
  auto &properties = planning.properties;
  properties[rt::kOptimizerProperty] = options.optimizer;
  if (double rate = llvm::cantFail(parseOptimizer(options.optimizer)).optimizer->rate; rate != rt::kDefaultRate)
    llvm::raw_string_ostream(properties[rt::kRateProperty]) << llvm::format("%g", rate);
  properties[rt::kLossProperty] = describeLoss(options);
  properties[rt::kLossAverageProperty] = options.lossAverage;
  properties[rt::kBatchNormProperty] = options.batchNorm;
  if (options.axisSize("pp") > 1)
    properties[rt::kScheduleProperty] = options.schedule;
  properties[rt::kPrecisionProperty] = options.precision;
  properties[rt::kParamGroupProperty] = llvm::join(options.paramGroups, " ");
  properties[rt::kFreezeProperty] = llvm::join(options.freeze, " ");
  properties[rt::kTieProperty] = llvm::join(options.tie, " ");
  properties[rt::kBuffersProperty] = llvm::join(options.buffers, " ");
  properties[rt::kLossScaleProperty] = options.lossScale;
}

// Lowering must have parsed the texts of `options` before.
plan::PlanningOptions cleave::planningRequest(const CompileOptions &options, const Target &target, WeightMap &weights,
                                              const std::map<std::string, std::string> &properties) {
  plan::PlanningOptions planning;
  const Target *device = &target;
  planning.target = device->getName();
  planning.threads = device->getThreads();
  planning.scratch = [device](llvm::StringRef kernel, llvm::ArrayRef<int64_t> params, int64_t threads) {
    return device->scratch(kernel, params, threads);
  };
  if (!options.train) // a checkpoint has the weights in the model's layout
    planning.packed = [device](llvm::StringRef packer, llvm::ArrayRef<int64_t> params, int64_t threads) {
      return device->packed(packer, params, threads);
    };
  planning.extent = [device](KernelOp kernel) { return device->extent(kernel); };
  planning.constants = [&weights](llvm::StringRef name, mlir::DenseElementsAttr value) {
    addConstant(weights, name, value);
  };
  planning.prefetch.forward = options.forwardPrefetch;
  planning.prefetch.backward =
      plan::parseBackwardPrefetch(options.backwardPrefetch).value_or(plan::BackwardPrefetch::Pre);
  planning.prefetch.inFlight = static_cast<unsigned>(options.gathersInFlight.value_or(2));
  planning.offloadResiduals = llvm::cantFail(parseOffload(options.offload)).activations;
  planning.shareGathers = llvm::cantFail(parseFsdpStrategy(options.fsdpStrategy)) == FsdpStrategy::ShardGradOp;
  planning.snapshot = options.train && options.saveAsync;
  planning.properties.insert(properties.begin(), properties.end());
  describeProducts(target, planning);
  if (!options.init.empty())
    planning.properties[rt::kInitProperty] = llvm::join(options.init, " ");
  planning.properties[rt::kModelProperty] = llvm::sys::path::filename(options.model).str();
  if (options.train)
    describeTraining(options, planning);
  if (!options.offload.empty())
    planning.properties[rt::kOffloadProperty] = options.offload;
  return planning;
}

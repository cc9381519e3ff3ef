#include "compiler/Driver/IdleOptions.h"

#include "compiler/Sharding/Offload.h"
#include "dialects/Cleave/IR/Attention.h"

using namespace cleave;

namespace {

class Search {
public:
  Search(const CompileOptions &options, bool hasBatchNorm) : options(options), hasBatchNorm(hasBatchNorm) {}

  std::vector<std::string> run() {
    checkGradSync();
    checkRecomputeWhen();
    checkBatchNorm();
    checkLossAverage();
    checkShards();
    return std::move(found);
  }

private:
  void add(const std::string &option, const std::string &reason) { found.push_back(option + " has no effect: " + reason); }

  // Gradients that are stored split are whole in memory until they are reduced. So `last` has an effect even with one
  // micro-batch.
  void checkGradSync() {
    bool isSplit = options.axisSize("fsdp") > 1 && options.gradSync == "last";
    if (options.gradSync.empty() || isSplit)
      return;
    std::string option = "--grad-sync " + options.gradSync;
    if (options.dataRanks() == 1)
      add(option, "one rank has all samples, so no gradient is reduced; give ranks, as in --mesh dp=2, or leave it out");
    else if (options.microBatches == 1)
      add(option, "a step has one micro-batch, which is the first and the last one; give --micro-batches N, or leave it out");
  }

  void checkRecomputeWhen() {
    if (options.recomputeWhen != "never")
      return;
    if (options.recompute == "none" || options.recompute == "never")
      add("--recompute-when never", "without --recompute nothing is computed again in any case; leave it out");
    else
      add("--recompute " + options.recompute,
          "with --recompute-when never no micro-batch computes anything again; leave both out, or give always");
  }

  void checkBatchNorm() {
    std::string option = "--batch-norm " + options.batchNorm;
    if (options.batchNorm != "local" && !hasBatchNorm)
      add(option, "the model has no BatchNormalization; leave it out (an exporter may have folded it into convolutions)");
    else if (options.batchNorm == "sync" && options.dataRanks() == 1)
      add(option, "one rank has all samples; give ranks, as in --mesh dp=2, or leave it out");
  }

  void checkLossAverage() {
    if (options.lossAverage == "rank" && options.dataRanks() == 1 && options.microBatches == 1)
      add("--loss-average rank", "one rank has all samples in one micro-batch; give ranks, as in --mesh dp=2, or "
                                 "--micro-batches N, or leave it out");
  }

  // An axis of one rank splits nothing. With --offload params, gathers are copies from the host.
  void checkShards() {
    auto offload = parseOffload(options.offload);
    // lowering reports the error
    if (!offload)
      return llvm::consumeError(offload.takeError());
    if (options.axisSize("fsdp") > 1 || offload->params)
      return;
    CompileOptions usual;
    // Copies from the host are ordered by the options of gathers.
    bool isFetched = bool(*offload);
    std::vector<std::pair<std::string, bool>> given = {
        {"--fsdp-strategy " + options.fsdpStrategy, options.fsdpStrategy != usual.fsdpStrategy},
        {"--fsdp-units " + options.fsdpUnits, options.fsdpUnits != usual.fsdpUnits},
        {"--forward-prefetch off", !options.forwardPrefetch},
        {"--backward-prefetch " + options.backwardPrefetch, options.backwardPrefetch != usual.backwardPrefetch},
        {"--gathers-in-flight " + std::to_string(options.gathersInFlight.value_or(0)), options.gathersInFlight.has_value()}};
    for (const auto &[option, isGiven] : given)
      if (isGiven && (!isFetched || option.rfind("--fsdp-strategy", 0) == 0))
        add(option, "the axis fsdp has one rank, which has everything; give more, as in --mesh fsdp=2, or leave it out");
  }

  const CompileOptions &options;
  bool hasBatchNorm;
  std::vector<std::string> found;
};

} // namespace

std::optional<std::string> cleave::idleAttention(const CompileOptions &options, mlir::ModuleOp kernels) {
  bool isFound = options.attention != "fused";
  kernels.walk([&](AttentionOp) { isFound = true; });
  if (isFound)
    return std::nullopt;
  return "--attention fused has no effect: the model has no attention that is one op (softmax(q k^T) v); leave it out";
}

std::optional<std::string> cleave::idleStages(const CompileOptions &options) {
  int64_t stages = options.axisSize("pp");
  if (!options.train || stages < 2 || options.microBatches > 1)
    return std::nullopt;
  return "a step has one micro-batch, so " + std::to_string(stages - 1) + " of " + std::to_string(stages) +
         " stages wait for the others at any time; --micro-batches N lets them work at the same time, best with " +
         std::to_string(4 * stages) + " or more";
}

std::vector<std::string> cleave::idleOptions(const CompileOptions &options, bool hasBatchNorm) {
  return options.train ? Search(options, hasBatchNorm).run() : std::vector<std::string>();
}

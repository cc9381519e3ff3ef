// What training is asked for, once, for the whole lowering from the model level to the step level.
//
// Passes have the same things as pass options, in the texts that a user types (`adamw,weight_decay=0.1`,
// `*.bias:weight_decay=0`), so that every pass can be run alone by cleave-opt; the two parsers and printers below are
// the only place that knows those texts.
#ifndef CLEAVE_COMPILER_TRAINING_TRAININGOPTIONS_H
#define CLEAVE_COMPILER_TRAINING_TRAININGOPTIONS_H

#include "compiler/Training/Optimizers/OptimizerSettings.h"
#include "compiler/Training/Precision/Precision.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cleave {

struct Optimizer;

// The optimizer and its settings. The learning rate is not here: it is the state `scalar.lr`, which the host writes
// before each step.
struct OptimizerOptions {
  const Optimizer *optimizer;
  OptimizerSettings settings;
};

// adamw with PyTorch's defaults
OptimizerOptions defaultOptimizer();

// Parameters whose original name matches one of the patterns (shell globs; `*` matches dots too). Group 0 is what no
// pattern names; option i of the list becomes group i + 1, and the first one that matches wins.
struct ParamGroupOptions {
  std::vector<std::string> patterns;
  double lrScale = 1;                // the group's learning rate is scalar.lr times this
  std::optional<double> weightDecay; // the optimizer's where it is not given
};

enum class LossAverage {
  Global, // one mean over all samples of the step: (sum of sums) / (sum of counts)
  Rank    // the mean over data ranks and micro-batches of their own means, as PyTorch's DDP has it
};

struct TrainingOptions {
  OptimizerOptions optimizer = defaultOptimizer();
  std::vector<ParamGroupOptions> groups;
  std::vector<std::string> freeze; // globs over original names: parameters that get no gradient
  std::vector<std::string> tie; // "name=name": the second parameter becomes the first (transposed where shapes say so)
  LossAverage lossAverage = LossAverage::Global;
  int64_t microBatches = 1;    // accumulated before one update
  int64_t dataRanks = 1;       // ranks that the samples are split over: buckets are padded to a multiple of it
  int64_t productMultiple = 1; // elements that the rows of large products are padded to (pad-products)
  int64_t bucketBytes = 25 << 20;
  int64_t firstBucketBytes = 1 << 20; // the first bucket is small, so that communication starts early
  // Where parameters are stored split (compiler/Sharding/StateStorage.h).
  std::string units;            // "auto" or "pattern=...": buckets are units that are gathered together; empty: by size
  bool splitParameters = false; // parameters are stored split, frozen ones too
  bool syncEvery = false;       // gradients are reduced in every micro-batch
  bool deferStatistics = false; // batch norm's running statistics are updated once a step (DeferStatistics.cpp)
  bool keepAll = false;         // every value that the backward pass reads is kept (--recompute never)
  bool fuseAttention = false;   // attention is one op, whose scores are never in memory (form-attention)
  int64_t stages = 0;           // chunks that the model is cut into; 0: one, but for request-stages
  std::string stageSplit = "auto";
  PrecisionOptions precision;
  LossScaleOptions lossScale;
};

// KIND[,key=value...], for example "sgd,momentum=0.9,nesterov=true": an optimizer that is registered, and its settings.
llvm::Expected<OptimizerOptions> parseOptimizer(llvm::StringRef text);
std::string printOptimizer(const OptimizerOptions &options);
// What `--optimizer` may be, one optimizer a line with its settings' defaults.
std::string optimizerHelp();

// PATTERN[|PATTERN...]:key=value[,key=value...] with keys `lr_scale` and `weight_decay`, for example
// "*.bias|*.norm.*:weight_decay=0".
llvm::Expected<ParamGroupOptions> parseParamGroup(llvm::StringRef text);
std::string printParamGroup(const ParamGroupOptions &group);

// "global" or "rank".
llvm::Expected<LossAverage> parseLossAverage(llvm::StringRef text);
llvm::StringRef lossAverageName(LossAverage average);

} // namespace cleave

#endif

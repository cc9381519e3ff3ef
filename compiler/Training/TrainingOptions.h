// All options of training, for the whole lowering from the model level to the step level.
//
// Passes have the same options as texts that a user types (`adamw,weight_decay=0.1`, `*.bias:weight_decay=0`), so that
// cleave-opt can run each pass alone. Only the parsers and printers below know the form of these texts.
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

// Returns adamw with PyTorch's defaults.
OptimizerOptions defaultOptimizer();

// Parameters whose original name matches one of the patterns (shell globs; `*` matches dots too). Entry i of the list
// is group i + 1, and the first one that matches wins. Group 0 has the parameters that no pattern matches.
struct ParamGroupOptions {
  std::vector<std::string> patterns;
  double lrScale = 1;                // the group's learning rate is scalar.lr times this
  std::optional<double> weightDecay; // default: the optimizer's
};

enum class LossAverage {
  Global, // one mean over all samples of the step: (sum of sums) / (sum of counts)
  Rank    // the mean over data ranks and micro-batches of their own means, as in PyTorch's DDP
};

struct TrainingOptions {
  OptimizerOptions optimizer = defaultOptimizer();
  std::vector<ParamGroupOptions> groups;
  std::vector<std::string> freeze; // globs over original names: parameters that get no gradient
  std::vector<std::string> tie;    // "name=name": the second becomes the first (transposed if the shapes say so)
  LossAverage lossAverage = LossAverage::Global;
  int64_t microBatches = 1;    // accumulated before one update
  int64_t dataRanks = 1;       // ranks that share the samples: buckets are padded to a multiple of it
  int64_t productMultiple = 1; // elements that the rows of large products are padded to (pad-products)
  int64_t bucketBytes = 25 << 20;
  int64_t firstBucketBytes = 1 << 20; // the first bucket is small, so that communication starts early
  // For sharded parameters (compiler/Sharding/StateStorage.h).
  std::string units;            // "auto" or "pattern=...": buckets are units that are gathered together; empty: by size
  bool splitParameters = false; // parameters are sharded, frozen ones too
  bool syncEvery = false;       // gradients are reduced in every micro-batch
  bool deferStatistics = false; // batch norm's running statistics are updated once a step (DeferStatistics.cpp)
  bool keepAll = false;         // every value that the backward pass reads is kept (--recompute never)
  bool fuseAttention = false;   // attention is one op, whose scores are never in memory (form-attention)
  int64_t stages = 0;           // chunks that the model is cut into; 0: one, or as request-stages says
  std::string stageSplit = "auto";
  PrecisionOptions precision;
  LossScaleOptions lossScale;
};

// Parses KIND[,key=value...], for example "sgd,momentum=0.9,nesterov=true": a registered optimizer and its settings.
llvm::Expected<OptimizerOptions> parseOptimizer(llvm::StringRef text);
std::string printOptimizer(const OptimizerOptions &options);
// Returns the values of `--optimizer`: one optimizer on each line, with the defaults of its settings.
std::string optimizerHelp();

// Parses PATTERN[|PATTERN...]:key=value[,key=value...] with the keys `lr_scale` and `weight_decay`, for example
// "*.bias|*.norm.*:weight_decay=0".
llvm::Expected<ParamGroupOptions> parseParamGroup(llvm::StringRef text);
std::string printParamGroup(const ParamGroupOptions &group);

// "global" or "rank".
llvm::Expected<LossAverage> parseLossAverage(llvm::StringRef text);
llvm::StringRef lossAverageName(LossAverage average);

} // namespace cleave

#endif

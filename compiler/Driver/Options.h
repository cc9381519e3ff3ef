// The options of a compilation, as one plain struct. The command line (tools/cleave) or a program fills it.
//
// If a library parses a text (the optimizer, the target), the text is kept as the user typed it. So each grammar is
// defined once, in the library that uses it.
#ifndef CLEAVE_COMPILER_DRIVER_OPTIONS_H
#define CLEAVE_COMPILER_DRIVER_OPTIONS_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cleave {

enum class Phase {
#define CLEAVE_PHASE(Name, name, description) Name,
#include "compiler/Driver/Phases.def"
};

// Returns the phase's name on the command line.
const char *phaseName(Phase phase);
std::optional<Phase> parsePhase(const std::string &name);

enum class Emit { Executable, Object, Shared, Plan, Mlir };

struct CompileOptions {
  std::string model;  // the ONNX file
  std::string output; // -o; empty: the model's stem
  Emit emit = Emit::Executable;
  std::vector<std::string> configs; // files of --config, which completed the command line

  // Shapes and the mesh.
  std::map<std::string, int64_t> dims;               // --dim: symbolic dimensions
  std::vector<std::pair<std::string, int64_t>> mesh; // --mesh: axes, slowest first; empty: one rank
  std::optional<int64_t> globalBatch;                // --global-batch: derives the bound batch
  std::string batchDim;                              // --batch-dim: the symbol (or input:dim) that counts samples
  int64_t microBatches = 1;
  // With an axis pp in the mesh (compiler/Driver/PipelineRequest.h).
  std::string schedule = "1f1b";   // NAME[,chunks=N] | file=PATH
  // (auto | uniform | parameters)[,NAME=STAGE...] | pattern=P[|P...] | at=NAME[|NAME...]
  std::string stageSplit = "auto";

  std::vector<std::string> init; // [PATTERN=]KIND(...): initial values of parameters (compiler/Import/ONNX/InitRules.h)

  // Training; unused without `train`.
  bool train = false;
  std::string lossOutput;
  std::string loss;                           // cross-entropy | nll | mse, for a graph without a loss
  std::optional<int64_t> ignoredLabel = -100; // --loss-ignore-index: a label that `loss` ignores, as in PyTorch
  std::optional<int64_t> lossClassDim;        // of the first output; none: the last one for rank 2 and 3, else 1
  std::string optimizer = "adamw";            // KIND[,key=value...]
  std::vector<std::string> paramGroups;       // PATTERN:key=value[,...]
  std::vector<std::string> freeze, buffers;
  std::vector<std::string> tie;       // NAME=NAME: the second parameter becomes the first
  std::string lossAverage = "global"; // global | rank
  std::string batchNorm = "local";    // local | sync | frozen, or the first two with "-deferred"
  std::optional<int64_t> bucketBytes; // of gradients; none: 25 MiB, less if they are stored split (Units.h)
  std::string recompute =
      "none"; // none | blocks | every=N | first=N | segments=N | auto (compiler/Training/Residuals/Recompute.h)
  std::string recomputeWhen = "always";    // always | except-last | never: the micro-batches that recompute
  std::string fsdpStrategy = "full-shard"; // the states that the axis fsdp splits (compiler/Sharding/StateStorage.h)
  std::string fsdpUnits = "auto";          // auto | size=N | pattern=P: parameters that are gathered together
  bool forwardPrefetch = true;             // --forward-prefetch on|off
  std::string backwardPrefetch = "pre";    // pre | post | none
  // The number of gathered units in memory at a time (compiler/Planning/Draft/Prefetch.h). None: two, or one
  // (ShardingGain.h).
  std::optional<int64_t> gathersInFlight;
  bool saveAsync = false;            // plan a snapshot, so that checkpoints can be written in the background
  std::string offload;               // kinds of states that host memory stores (compiler/Sharding/Offload.h)
  std::string gradSync;              // every | last micro-batch; empty: last, or every if gradients are split
  std::string dpSync = "all-reduce"; // all-reduce | parameter-server: who updates parameters
  std::string lossScale = "auto";    // dynamic[,init=N,...] | N | none | auto

  // plain | fused: fused computes softmax(q k^T) v in one kernel, which stores no scores.
  std::string attention = "plain";
  // apart | fused: fused computes a weight's gradient and its bias's gradient in one kernel, if this reads less memory.
  std::string biasGradients = "apart";
  std::string precision;           // TYPE or PART=TYPE[,...]; empty: the model's types

  // Target and limits.
  uint64_t budget = 1; // factor for the limits of compilation (dialects/Cleave/IR/Budget.h)
  std::string target = "host";
  std::string targetMachine; // whose step time is predicted (TargetMachineOption.h); nothing else depends on it
  std::optional<int64_t> memoryLimit; // bytes of planned memory per rank

  // Dumps and plug-ins.
  Phase stopAfter = Phase::Link;
  std::string dumpPhases;                                       // a directory; empty: no dumps
  std::string dumpKernels;                                      // --dump: a directory; empty: no dumps
  std::vector<std::string> passPlugins;                         // --load-pass-plugin
  std::vector<std::pair<Phase, std::string>> insertedPipelines; // --insert PHASE=PIPELINE: run after the phase's passes

  // Returns the product of the mesh axes over which samples are split (dp, fsdp).
  int64_t dataRanks() const;
  int64_t axisSize(const std::string &axis) const; // 1 if the mesh has no such axis
  int64_t ranks() const;
};

} // namespace cleave

#endif

// What a compilation is asked for: one plain struct, filled by the command line (tools/cleave) or by a program.
//
// Texts are kept as the user typed them where a library below parses them (the optimizer, the target), so that each
// grammar is written down once, beside what it describes.
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

// The phase's command-line name.
const char *phaseName(Phase phase);
std::optional<Phase> parsePhase(const std::string &name);

enum class Emit { Executable, Object, Shared, Plan, Mlir };

struct CompileOptions {
  std::string model;  // the ONNX file
  std::string output; // -o; the model's stem when empty
  Emit emit = Emit::Executable;
  std::vector<std::string> configs; // --config: what the command line was completed with

  // Shapes and the mesh.
  std::map<std::string, int64_t> dims;               // --dim: symbolic dimensions
  std::vector<std::pair<std::string, int64_t>> mesh; // --mesh: axes, slowest first; empty is one rank
  std::optional<int64_t> globalBatch;                // --global-batch: derives the bound batch
  std::string batchDim;                              // --batch-dim: the symbol (or input:dim) that counts samples
  int64_t microBatches = 1;
  // With an axis pp in the mesh (compiler/Driver/PipelineRequest.h).
  std::string schedule = "1f1b";   // NAME[,chunks=N] | file=PATH
  std::string stageSplit = "auto"; // (auto | uniform | parameters)[,NAME=STAGE...] | pattern=P[|P...] | at=NAME[|NAME...]

  std::vector<std::string> init; // [PATTERN=]KIND(...): parameters made by rule (compiler/Import/ONNX/InitRules.h)

  // Training; unused without `train`.
  bool train = false;
  std::string lossOutput;
  std::string loss;                           // cross-entropy | nll | mse, for a graph without a loss
  std::optional<int64_t> ignoredLabel = -100; // --loss-ignore-index: a label that `loss` does not count, as in PyTorch
  std::optional<int64_t> lossClassDim;        // of the first output; none: the last of rank 2 and 3, 1 of higher ranks
  std::string optimizer = "adamw";            // KIND[,key=value...]
  std::vector<std::string> paramGroups;       // PATTERN:key=value[,...]
  std::vector<std::string> freeze, buffers;
  std::vector<std::string> tie;       // NAME=NAME: the second parameter becomes the first
  std::string lossAverage = "global"; // global | rank
  std::string batchNorm = "local";    // local | sync | frozen, or the first two with "-deferred"
  std::optional<int64_t> bucketBytes; // of gradients; if empty 25 MiB, less where they are stored split (Units.h)
  std::string recompute =
      "none"; // none | blocks | every=N | first=N | segments=N | auto (compiler/Training/Residuals/Recompute.h)
  std::string recomputeWhen = "always";    // always | except-last | never: in which micro-batches
  std::string fsdpStrategy = "full-shard"; // which states the axis fsdp splits (compiler/Sharding/StateStorage.h)
  std::string fsdpUnits = "auto";          // auto | size=N | pattern=P: what is gathered together
  bool forwardPrefetch = true;             // --forward-prefetch on|off
  std::string backwardPrefetch = "pre";    // pre | post | none
  // Gathered units in memory at a time (compiler/Planning/Draft/Prefetch.h); if empty two, or one (ShardingGain.h).
  std::optional<int64_t> gathersInFlight;
  bool saveAsync = false;            // plan a snapshot, from which checkpoints are written in the background
  std::string offload;               // kinds that host memory stores (compiler/Sharding/Offload.h)
  std::string gradSync;              // every | last micro-batch; every where gradients are split, if empty
  std::string dpSync = "all-reduce"; // all-reduce | parameter-server: where parameters are updated
  std::string lossScale = "auto";    // dynamic[,init=N,...] | N | none | auto

  std::string attention = "plain"; // plain | fused: whether softmax(q k^T) v is one kernel, which keeps no scores
  // apart | fused: whether a weight's gradient comes with its bias's, by one kernel, where that reads less memory
  std::string biasGradients = "apart";
  std::string precision;           // TYPE or PART=TYPE[,...]; empty: the model's types

  // Target and limits.
  uint64_t budget = 1; // multiplies what compilation may make of the file (dialects/Cleave/IR/Budget.h)
  std::string target = "host";
  std::string targetMachine; // whose step time is predicted (TargetMachineOption.h); no other part of a plan knows it
  std::optional<int64_t> memoryLimit; // bytes of planned memory per rank

  // Looking inside, extending.
  Phase stopAfter = Phase::Link;
  std::string dumpPhases;                                       // a directory, or empty
  std::string dumpKernels;                                      // --dump: a directory, or empty
  std::vector<std::string> passPlugins;                         // --load-pass-plugin
  std::vector<std::pair<Phase, std::string>> insertedPipelines; // --insert PHASE=PIPELINE: run when the phase is done

  // Product of the mesh axes over which samples are split (dp, fsdp).
  int64_t dataRanks() const;
  int64_t axisSize(const std::string &axis) const; // 1 where the mesh has no such axis
  int64_t ranks() const;
};

} // namespace cleave

#endif

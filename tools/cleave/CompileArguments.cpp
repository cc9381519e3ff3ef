// CLI11 reports errors by exceptions. This file is compiled with exceptions (CommandLine.cpp catches them).
#include "tools/cleave/CompileArguments.h"

#include "compiler/Training/Optimizers/Optimizer.h"
#include "compiler/Training/TrainingOptions.h"
#include "runtime/base/NearestName.h"
#include "runtime/main/ListOption.h"

#include "llvm/ADT/STLExtras.h"

#include <CLI/CLI.hpp>

namespace cleave {
namespace {

constexpr const char *kTraining = "Training";

// Options of the model, its sizes and its types.
void addModelOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  app.add_option("model", o.model, "The ONNX file")->required()->type_name("FILE");
  app.add_option("-o,--output", o.output, "The file to write (default: the model's name without .onnx)")
      ->type_name("PATH");
  app.add_option(
         "--emit", t.emit,
         "What to write. An executable and a shared library contain the whole runtime, an object file is for a "
         "program of your own to link, plan is the plan alone, mlir is the compiler's MLIR after the phase plan")
      ->type_name("executable|object|shared|plan|mlir")
      ->capture_default_str();
  rt::addList(app, "--dim", "NAME=N", t.dims,
              "Sizes of symbolic dimensions, such as batch=8,sequence=128. The batch is the number of samples of "
              "one rank in one micro-batch")
      ->delimiter(',');
  app.add_option("--global-batch", o.globalBatch,
                 "Number of samples of one step, over all ranks and micro-batches. It replaces --dim batch=N: the "
                 "compiler computes each rank's batch from it")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->type_name("N");
  app.add_option("--batch-dim", o.batchDim,
                 "Name of the symbolic dimension that counts samples, or all its names, if it has another one in each "
                 "input: unk__1,unk__2 (default: dimension 0 of the inputs)")
      ->type_name("NAME");
  rt::addList(app, "--mesh", "AXIS=N", t.mesh,
              "Number of ranks along each axis: dp (data parallel), fsdp (sharded state), pp (stages of a "
              "pipeline). dp=2,fsdp=4 is 8 ranks, and ranks 0 to 3 differ in fsdp alone")
      ->delimiter(',');
  app.add_option("--micro-batches", o.microBatches,
                 "Number of micro-batches of one step. A rank computes one after the other, adds their gradients, "
                 "and updates once")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
      ->type_name("N")
      ->capture_default_str();

  app.add_option(
         "--precision", o.precision,
         "Type to store values in. Or one type for each part, such as param=bf16,reduce=f32: param is "
         "parameters and activations, reduce is gradients (those of several micro-batches are added in f32), buffer is "
         "running statistics (default: the types of the file)")
      ->type_name("f32|bf16|fp16|PART=TYPE");

  rt::addList(app, "--init", "[PATTERN=]RULE(...)", o.init,
              "Rule for the first values of parameters. It replaces the values in the file, which need not be "
              "there. PATTERN is a glob: the first "
              "pattern that matches counts. One rule without a pattern is for all other parameters. The seed is the "
              "program's --seed. Rules:\n"
              "normal(mean=0,std=1) | uniform(a=0,b=1) |\n"
              "kaiming_normal, kaiming_uniform(a=0,mode=fan_in,nonlinearity=leaky_relu) |\n"
              "xavier_normal, xavier_uniform(gain=1) | zeros | ones | constant(val)");
}

// Options of the loss.
CLI::Validator knownLosses() {
  const std::vector<std::string> names = {"cross-entropy", "nll", "mse"};
  CLI::Validator known = CLI::IsMember(names);
  known.operation([names](std::string &loss) -> std::string {
    if (llvm::is_contained(names, loss))
      return "";
    bool isNear = !rt::nearestName(loss, names).empty();
    return rt::expectedOneOf(loss, names) +
           (isNear ? "" : "; a module may return another loss itself, and --loss-output NAME names it");
  });
  return known;
}

void addLossOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  app.add_flag("--train", o.train, "Compile a training step (without it: inference)")->group(kTraining);
  app.add_option("--loss-output", o.lossOutput, "Name of the graph's output that is the loss")
      ->group(kTraining)
      ->type_name("NAME");
  app.add_option("--loss", o.loss,
                 "Add this loss to a graph without one. It compares the first output with a new input, labels")
      ->check(knownLosses())
      ->group(kTraining);
  t.lossIgnoreIndex = app.add_option("--loss-ignore-index", t.ignoredLabel,
                                     "Label that --loss cross-entropy and nll do not count, as ignore_index in "
                                     "PyTorch. none: every label is a class")
                          ->group(kTraining)
                          ->type_name("N|none")
                          ->capture_default_str();
  t.lossClassDim = app.add_option("--loss-class-dim", o.lossClassDim,
                                  "Dimension of the first output that has the classes of --loss cross-entropy and nll; "
                                  "-1 is the last one. Default: the last one of 2 or 3 dimensions (samples, positions, "
                                  "classes), and 1 of more. PyTorch takes 1 of 3 dimensions, too")
                       ->group(kTraining)
                       ->type_name("N");
}

} // namespace

void describeOptimizers(CLI::Option &option) {
  std::string names;
  for (const Optimizer *optimizer : allOptimizers())
    names += (names.empty() ? "" : "|") + optimizer->name;
  option.type_name(names + "[,KEY=VALUE]");
  option.description("How parameters are updated. The learning rate is an option of the program: train --lr. The "
                     "settings and their defaults:\n" +
                     optimizerHelp());
}

namespace {

// Options of the parameters that are trained, and of the optimizer.
void addParameterOptions(CLI::App &app, CompileOptions &o) {
  describeOptimizers(*app.add_option("--optimizer", o.optimizer)->group(kTraining)->capture_default_str());
  rt::addList(app, "--param-group", "PATTERN:KEY=VALUE", o.paramGroups,
              "Weight decay and learning rate of some parameters, such as '*.bias:weight_decay=0,lr_scale=0.1'. "
              "PATTERN is a glob over names, or several separated by |. The first group that matches counts")
      ->group(kTraining);
  rt::addList(app, "--freeze", "PATTERN", o.freeze,
              "Parameters that are not trained: names or globs, separated by commas")
      ->delimiter(',')
      ->group(kTraining);
  rt::addList(app, "--buffers", "PATTERN", o.buffers,
              "Initializers that are buffers and not parameters: names or globs, separated by commas. Files of "
              "torch.onnx.export(dynamo=True) mark them already")
      ->delimiter(',')
      ->group(kTraining);
  rt::addList(app, "--tie", "KEPT=TIED", o.tie,
              "Train two parameters as one, under the name KEPT. Their values must be equal, or transposed. "
              "cleave compile names such pairs")
      ->group(kTraining);
}

// Options of means over samples, and of the loss scale.
void addAverageOptions(CLI::App &app, CompileOptions &o) {
  app.add_option("--loss-average", o.lossAverage,
                 "global: the loss is the average over all labels of the global batch. rank: it is the mean of the "
                 "averages of ranks and micro-batches, as in PyTorch DDP")
      ->check(CLI::IsMember({"global", "rank"}))
      ->group(kTraining)
      ->capture_default_str();
  app.add_option("--batch-norm", o.batchNorm,
                 "Statistics that batch norm uses. local: those of a rank's samples. sync: those of all ranks' "
                 "samples. frozen: the running statistics, which stay as they are. local-deferred and sync-deferred "
                 "update the running statistics once a step, local and sync in every micro-batch")
      ->check(CLI::IsMember({"local", "sync", "frozen", "local-deferred", "sync-deferred"}))
      ->group(kTraining)
      ->capture_default_str();
  app.add_option("--loss-scale", o.lossScale,
                 "Factor that keeps fp16 gradients from becoming 0. dynamic has the settings init, growth, backoff and "
                 "interval: it starts at init, is multiplied by growth "
                 "after interval steps without overflow, and by backoff after a step with one. auto is dynamic "
                 "under fp16")
      ->group(kTraining)
      ->type_name("auto|none|dynamic[,KEY=NUMBER]|NUMBER")
      ->capture_default_str();
}

// Options of the summation of gradients over ranks.
void addReductionOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  app.add_option("--dp-sync", o.dpSync,
                 "How ranks of the axis dp agree. all-reduce: gradients are summed on every rank, and every rank "
                 "updates the parameters. parameter-server: gradients are summed on the first rank, which alone has "
                 "optimizer state. It updates the parameters and broadcasts them")
      ->check(CLI::IsMember({"all-reduce", "parameter-server"}))
      ->group(kTraining)
      ->capture_default_str();
  app.add_option("--bucket-size", t.bucketSize,
                 "Largest size of a bucket, such as 25MiB. The gradients of a bucket are reduced together (default: "
                 "25MiB; with zero-2 at most an eighth of the parameters)")
      ->group(kTraining)
      ->type_name("BYTES");
}

// All options of training.
void addTrainingOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  addLossOptions(app, o, t);
  addParameterOptions(app, o);
  addAverageOptions(app, o);
  addReductionOptions(app, o, t);
}

// Options that save memory by computing values again, or by keeping them elsewhere.
void addMemoryOptions(CLI::App &app, CompileOptions &o) {
  app.add_option("--recompute", o.recompute,
                 "Values of the forward pass that the backward pass computes again, to save memory. never: none at "
                 "all. none: only those that cost little. blocks: those of every block, as of each layer of a "
                 "transformer. every=N: of every N-th block. first=N: of the first N blocks. segments=N: of all "
                 "blocks, N at a time. auto: the cheapest of these that fits --memory-limit")
      ->group(kTraining)
      ->type_name("never|none|blocks|every=N|first=N|segments=N|auto")
      ->capture_default_str();
  app.add_option("--recompute-when", o.recomputeWhen,
                 "Micro-batches of a pipeline that recompute: always (all), except-last (all but the last one of a "
                 "step), never (none)")
      ->group(kTraining)
      ->type_name("always|except-last|never")
      ->capture_default_str();
  app.add_flag("--save-async", o.saveAsync,
               "Reserve memory for a copy of the state, so that the program can write checkpoints while it trains")
      ->group(kTraining);

  app.add_option("--attention", o.attention,
                 "How attention is computed. plain: product, softmax and product, with all scores in memory. fused: "
                 "one kernel, which computes scores block by block and stores none. Dropout drops the same "
                 "probabilities in both")
      ->check(CLI::IsMember({"plain", "fused"}))
      ->capture_default_str();
  app.add_option(
         "--bias-gradients", o.biasGradients,
         "How the gradient of a linear layer's bias is computed. apart: in its own kernel. fused: in the product that "
         "computes the gradient of the layer's weight, by cuBLASLt's BGRADA and BGRADB epilogues on GPUs that have "
         "them. In both cases, a kernel that reads the same memory anyway may compute it")
      ->group(kTraining)
      ->check(CLI::IsMember({"apart", "fused"}))
      ->capture_default_str();
  app.add_option("--offload", o.offload,
                 "Keep these in host memory while they are not in use: one kind, or several separated by commas")
      ->type_name("params|grads|optimizer|activations[,KIND]");
}

void addShardingOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  const char *sharding = "Sharded state (axis fsdp)";
  t.fsdpStrategy = app.add_option("--fsdp-strategy", o.fsdpStrategy,
                                  "What the ranks of the axis fsdp split among them. full-shard or zero-3: "
                                  "parameters, gradients and optimizer state. shard-grad-op: the same, but "
                                  "parameters stay gathered from the forward pass to the backward pass. zero-2: "
                                  "gradients and optimizer state. zero-1: optimizer state. no-shard: nothing")
                       ->group(sharding)
                       ->type_name("full-shard|zero-3|shard-grad-op|zero-2|zero-1|no-shard")
                       ->capture_default_str();
  t.fsdpUnits = app.add_option("--fsdp-units", o.fsdpUnits,
                               "How parameters are divided into units: those of a unit are gathered together. auto: "
                               "one unit a block, large blocks several. size=BYTES: units of this size. "
                               "pattern=P[|P]: one unit for each name that matches, with all names below it")
                    ->group(sharding)
                    ->type_name("auto|size=BYTES|pattern=P[|P]")
                    ->capture_default_str();
  t.prefetch = {app.add_option("--forward-prefetch", t.forwardPrefetch,
                               "Start to gather the next unit before this one is computed, in the forward pass")
                    ->check(CLI::IsMember({"on", "off"}))
                    ->group(sharding)
                    ->capture_default_str(),
                app.add_option("--backward-prefetch", o.backwardPrefetch,
                               "When the backward pass starts to gather the next unit. pre: before this one is "
                               "computed. post: after it. none: when it is needed")
                    ->check(CLI::IsMember({"pre", "post", "none"}))
                    ->group(sharding)
                    ->capture_default_str(),
                app.add_option("--gathers-in-flight", o.gathersInFlight,
                               "Number of gathered units in memory at a time: the one in use and those ahead of it "
                               "(default: 2, or 1 where 2 would need more memory than whole parameters)")
                    ->check(CLI::Range(int64_t(1), int64_t(1) << 16))
                    ->group(sharding)
                    ->type_name("N")};
  app.add_option("--grad-sync", o.gradSync,
                 "Reduce gradients in every micro-batch, or in the last one of a step only (default: every if "
                 "gradients are split, otherwise last). Over the axis dp, gradients that are split are always reduced "
                 "once a step")
      ->check(CLI::IsMember({"every", "last"}))
      ->group(sharding);
}

void addStageOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  const char *stages = "Stages of a pipeline (axis pp)";
  t.schedule = app.add_option("--schedule", o.schedule,
                              "Order in which stages compute micro-batches: one of the named ones, or your own from a "
                              "file")
                   ->group(stages)
                   ->type_name("naive|gpipe|1f1b|eager-1f1b|interleaved-1f1b[,chunks=N]|zb-h1|zb-h2|dualpipe-v|"
                               "file=PATH")
                   ->capture_default_str();
  t.stageSplit = app.add_option("--stage-split", o.stageSplit,
                                "Where the model is cut into stages. auto: stages take equal time. uniform: they "
                                "have equal numbers of operations. parameters: they have equal bytes of parameters. "
                                "After one of these ,NAME=STAGE puts a parameter or operation into a stage. "
                                "pattern=P[|P]: they have equal numbers of operations or parameters whose names "
                                "match. at=NAME[|NAME]: each further stage begins at this name")
                     ->group(stages)
                     ->type_name("auto|uniform|parameters|pattern=P[|P]|at=NAME[|NAME]")
                     ->capture_default_str();
}

void addTargetOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  const char *target = "Target";
  app.add_option("--target", o.target,
                 "Device to compile for. host is the processor of this machine, and host:... another one; each takes "
                 ",threads=N for N compute threads a rank. cuda:... is a GPU. For cuda:sm_90 the forward pass of fused "
                 "attention in f16 and bf16 uses Hopper's own "
                 "matrix instructions; cuda:sm_90,wgmma=off leaves them out")
      ->group(target)
      ->type_name("host|host:avx2|host:avx512|host:generic|cuda:sm_80|cuda:sm_90|cuda:sm_100")
      ->capture_default_str();
  app.add_option(
         "--target-machine", o.targetMachine,
         "Machine whose step time is predicted; the program prints it next to the measured time. "
         "calibrated: this one, as cleave calibrate has measured it (default where it has, for hosts). none: no "
         "prediction. FILE: a JSON file. It changes nothing else of the plan")
      ->group(target)
      ->type_name("calibrated|none|a100|h100|h200|FILE");
  app.add_option(
         "--memory-limit", t.memoryLimit,
         "Device memory that the plan of one rank may need, such as 16GiB: its total, as cleave inspect shows it. "
         "No plan is written that needs more. A process on a host needs memory for code and libraries in "
         "addition (besides)")
      ->group(target)
      ->type_name("BYTES");

  app.add_option("--budget", o.budget,
                 "Factor of the limits on how many nodes, constants and copies a file may cause. They protect the "
                 "compiler from broken files; raise them where an error says so")
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 20))
      ->group(target)
      ->type_name("N")
      ->capture_default_str();
}

void addInsideOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  const char *inside = "Looking inside";
  app.add_option("--stop-after", t.stopAfter, "Stop after this phase, and write its MLIR to the output")
      ->group(inside)
      ->type_name(CLI::detail::find_and_replace(phaseNames(), ", ", "|"));
  app.add_option("--dump-phases", o.dumpPhases, "Write the MLIR of each phase to this directory, in numbered files")
      ->group(inside)
      ->type_name("DIR");
  app.add_option("--dump", o.dumpKernels,
                 "Write the MLIR and the code (PTX, or LLVM IR) of each generated kernel to this directory, with "
                 "index.json, which says what the code takes")
      ->group(inside)
      ->type_name("DIR");
  rt::addList(app, "--load-pass-plugin", "FILE", o.passPlugins,
              "Load a shared library with passes, operators or optimizers of your own. With --help, its optimizers are "
              "listed at --optimizer")
      ->group(inside);
  rt::addList(app, "--insert", "PHASE=PIPELINE", t.inserts,
              "Run an MLIR pass pipeline after a phase, such as import=my-pass")
      ->group(inside);
}

} // namespace

void addCompileOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  addModelOptions(app, o, t);
  addTrainingOptions(app, o, t);
  addMemoryOptions(app, o);
  addShardingOptions(app, o, t);
  addStageOptions(app, o, t);
  addTargetOptions(app, o, t);
  addInsideOptions(app, o, t);
}

} // namespace cleave

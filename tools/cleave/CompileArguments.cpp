// CLI11 reports by exceptions: this file is compiled with them (CommandLine.cpp catches).
#include "tools/cleave/CompileArguments.h"

#include "compiler/Sharding/Offload.h"
#include "compiler/Sharding/StateStorage.h"
#include "compiler/Support/Bytes.h"
#include "compiler/Training/Residuals/Recompute.h"
#include "compiler/Training/TrainingOptions.h"

#include <CLI/CLI.hpp>

namespace cleave {
namespace {

[[noreturn]] void fail(const std::string &option, const std::string &message) {
  throw CLI::ValidationError(option, message);
}

// "name=value", value a positive integer. `form` says what was expected, with an example.
std::pair<std::string, int64_t> parseBinding(const std::string &option, const std::string &text,
                                             const std::string &form) {
  size_t equals = text.find('=');
  char *end = nullptr;
  errno = 0;
  long long value = equals == std::string::npos ? 0 : std::strtoll(text.c_str() + equals + 1, &end, 10);
  if (equals == 0 || !end || *end || end == text.c_str() + equals + 1 || errno || value <= 0)
    fail(option, "expected " + form + "; got: " + text);
  return {text.substr(0, equals), value};
}

int64_t parseBytes(const std::string &option, const std::string &text) {
  auto bytes = parseByteSize(text);
  if (!bytes)
    fail(option, llvm::toString(bytes.takeError()));
  return *bytes;
}

std::optional<int64_t> parseIgnoredLabel(const std::string &text) {
  if (text == "none")
    return std::nullopt;
  char *end = nullptr;
  errno = 0;
  long long label = std::strtoll(text.c_str(), &end, 10);
  if (errno || end == text.c_str() || *end)
    fail("--loss-ignore-index", "expected a whole number, as in -100, or none; got: " + text);
  return label;
}

// A loss of the graph says itself which labels it ignores.
void checkIgnoredLabel(const CompileOptions &o, const CompileTexts &t) {
  if (t.lossIgnoreIndex->count() == 0 || !o.train || o.loss == "cross-entropy" || o.loss == "nll")
    return;
  fail(
      "--loss-ignore-index",
      o.loss.empty()
          ? "it is about the labels of --loss cross-entropy and nll. A loss that is an output of the graph has its own "
            "ignore_index: set it in the module (F.cross_entropy(..., ignore_index=N)), and export it again"
          : "the targets of --loss " + o.loss + " are numbers, and all of them count; leave the option away");
}

Emit parseEmit(const std::string &text) {
  static const std::map<std::string, Emit> kinds = {{"executable", Emit::Executable},
                                                    {"object", Emit::Object},
                                                    {"shared", Emit::Shared},
                                                    {"plan", Emit::Plan},
                                                    {"mlir", Emit::Mlir}};
  auto found = kinds.find(text);
  if (found == kinds.end())
    fail("--emit", "expected executable, object, shared, plan or mlir; got: " + text);
  return found->second;
}

std::string phaseNames() {
  std::string names;
  for (int i = 0; i <= static_cast<int>(Phase::Link); ++i)
    names += std::string(i ? ", " : "") + phaseName(static_cast<Phase>(i));
  return names;
}

Phase parsePhaseOption(const std::string &option, const std::string &text) {
  if (auto phase = parsePhase(text))
    return *phase;
  fail(option, "expected a phase (" + phaseNames() + "); got: " + text);
}

void checkServer(const CompileOptions &o) {
  if (o.dpSync != "parameter-server")
    return;
  if (!o.train)
    fail("--dp-sync", "there is nothing to synchronize without --train");
  if (o.axisSize("fsdp") > 1)
    fail("--dp-sync", "a parameter server keeps optimizer state on one rank, the axis fsdp splits it over all; give "
                      "--mesh dp=N alone, or --dp-sync all-reduce");
  if (o.axisSize("dp") < 2)
    fail("--dp-sync", "a parameter server needs ranks that it serves; give some, as in --mesh dp=2");
}

// Inference has parameters, and nothing else that could be offloaded.
void checkOffload(const CompileOptions &o) {
  auto offload = parseOffload(o.offload);
  if (!offload)
    fail("--offload", llvm::toString(offload.takeError()));
  if (!o.train && (offload->grads || offload->optimizer || offload->activations))
    fail("--offload", "grads, optimizer and activations belong to training; give --train too, or params alone");
}

// What a pipeline cannot do, or not yet.
void checkPipeline(const CompileOptions &o, const CompileTexts &t) {
  for (CLI::Option *option : {t.schedule, t.stageSplit})
    if (option->count() > 0 && o.axisSize("pp") == 1)
      fail(option->get_name(), "there are no stages to schedule; give some, as in --mesh pp=2");
  if (o.axisSize("pp") == 1)
    return;
  for (CLI::Option *option : {t.schedule, t.stageSplit})
    if (option->count() > 0 && !o.train)
      fail(option->get_name(), "inference goes through the stages once; there is nothing to schedule without --train");
}

// Requests that contradict each other.
void checkSharding(const CompileOptions &o, const CompileTexts &t) {
  checkServer(o);
  auto strategy = parseFsdpStrategy(o.fsdpStrategy);
  if (!strategy)
    fail("--fsdp-strategy", llvm::toString(strategy.takeError()));
  bool isGiven = t.fsdpStrategy->count() > 0, hasUnits = t.fsdpUnits->count() > 0;
  bool hasAxis = std::any_of(o.mesh.begin(), o.mesh.end(), [](const auto &axis) { return axis.first == "fsdp"; });
  if ((isGiven || hasUnits) && !hasAxis)
    fail(isGiven ? "--fsdp-strategy" : "--fsdp-units", "there is no axis to split over; give one, as in --mesh fsdp=2");
  if (!o.gradSync.empty() && !o.train)
    fail("--grad-sync", "belongs to training; give --train too");
  if ((isGiven || hasUnits || hasAxis) && !o.train)
    fail(hasAxis ? "--mesh" : "--fsdp-strategy", "sharded state needs --train; inference runs over --mesh dp=N");
  bool isGathered = splitsParameters(*strategy);
  if (hasUnits && !isGathered)
    fail("--fsdp-units",
         "units are gathered, and " + o.fsdpStrategy +
             " keeps parameters whole; use full-shard or shard-grad-op, or --bucket-size for gradients");
  if (hasAxis && isGathered && !t.bucketSize.empty())
    fail("--bucket-size",
         "with " + o.fsdpStrategy + " a unit's gradients are one bucket; use --fsdp-units size=" + t.bucketSize);
  for (CLI::Option *option : t.prefetch)
    if (option->count() > 0 && o.offload.empty() && (!hasAxis || !isGathered))
      fail(option->get_name(), hasAxis ? "nothing is gathered ahead: " + o.fsdpStrategy +
                                             " keeps parameters whole; use full-shard or shard-grad-op"
                                       : "there is nothing to gather; give an axis to split over, as in --mesh fsdp=2");
  if (hasUnits && o.fsdpUnits != "auto" && o.fsdpUnits.rfind("size=", 0) != 0 && o.fsdpUnits.rfind("pattern=", 0) != 0)
    fail("--fsdp-units", "expected auto, size=BYTES or pattern=P[|P]; got: " + o.fsdpUnits);
}

void parseShapes(CompileOptions &o, const CompileTexts &t) {
  for (const std::string &text : t.dims) {
    auto [name, value] = parseBinding("--dim", text, "NAME=N with N a positive integer, as in batch=8");
    if (!o.dims.emplace(name, value).second)
      fail("--dim", "dimension '" + name + "' is bound twice");
  }
  static const std::vector<std::string> axes = {"dp", "fsdp", "pp"};
  for (const std::string &text : t.mesh) {
    auto axis = parseBinding("--mesh", text,
                             "AXIS=N with N a positive integer, as in dp=2 (two data-parallel ranks) or dp=2,fsdp=2");
    if (std::find(axes.begin(), axes.end(), axis.first) == axes.end())
      fail("--mesh", "axis '" + axis.first + "' is not available; this version has: dp, fsdp, pp");
    for (const auto &other : o.mesh)
      if (other.first == axis.first)
        fail("--mesh", "axis '" + axis.first + "' is given twice");
    o.mesh.push_back(axis);
  }
  constexpr int64_t kMaxRanks = 1 << 20;
  int64_t room = kMaxRanks; // the product itself could overflow
  for (const auto &axis : o.mesh)
    room /= axis.second;
  if (room == 0)
    fail("--mesh", "more than " + std::to_string(kMaxRanks) + " ranks");
}

void parseInserts(CompileOptions &o, const CompileTexts &t) {
  for (const std::string &text : t.inserts) {
    size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      fail("--insert", "expected PHASE=PIPELINE, as in import=my-pass; got: " + text);
    Phase phase = parsePhaseOption("--insert", text.substr(0, equals));
    if (phase > Phase::Plan)
      fail("--insert",
           "after '" + text.substr(0, equals) + "' nothing is left that a pass could work on; the last phase is plan");
    o.insertedPipelines.emplace_back(phase, text.substr(equals + 1));
  }
}

void checkTraining(const CompileOptions &o) {
  if (!o.train && (!o.lossOutput.empty() || !o.loss.empty()))
    fail(o.loss.empty() ? "--loss-output" : "--loss", "a loss needs --train");
  if (!o.lossOutput.empty() && !o.loss.empty())
    fail("--loss", "give either --loss-output (a loss the graph has) or --loss (one to add)");
  if (o.train && o.lossOutput.empty() && o.loss.empty())
    fail("--train", "name the loss: --loss-output NAME for an output of the graph, or --loss cross-entropy|nll|mse");
  if (auto recompute = parseRecompute(o.recompute); !recompute)
    fail("--recompute", llvm::toString(recompute.takeError()));
  if (auto when = parseRecomputeWhen(o.recomputeWhen); !when)
    fail("--recompute-when", llvm::toString(when.takeError()));
  if (o.recomputeWhen == "except-last" && o.axisSize("pp") == 1)
    fail("--recompute-when",
         "without stages every micro-batch's backward pass follows its forward pass at once, and the last one would "
         "need as much memory as without --recompute; give stages, as in --mesh pp=2, or always");
  if (o.recomputeWhen == "except-last" && o.recompute == "none")
    fail("--recompute-when", "nothing is computed again; say what, as in --recompute blocks");
  if (!o.train && o.recompute != "none")
    fail("--recompute", "only training keeps values for a backward pass; it needs --train");
  if (o.recompute == "auto" && !o.memoryLimit)
    fail("--recompute", "auto looks for what fits a limit; give --memory-limit BYTES, or one of none, blocks, every=N, "
                        "first=N, segments=N");
  if (!o.train && o.precision.find("reduce=") != std::string::npos)
    fail("--precision", "reduce= is the type of gradients, which need --train");
  if (!o.train && o.lossScale != "auto")
    fail("--loss-scale", "a loss scale needs --train");
  if (!o.train && o.microBatches != 1)
    fail("--micro-batches", "micro-batches need --train");
  if (!o.train && o.saveAsync)
    fail("--save-async", "checkpoints need --train");
}

// Without --train nothing would read them.
void checkTrainingOptions(const CLI::App &app, const CompileOptions &o) {
  for (const CLI::Option *option : app.get_options())
    if (!o.train && option->count() > 0 && option->get_group() == "Training" && option->get_name() != "--loss-output" &&
        option->get_name() != "--loss")
      fail(option->get_name(), "belongs to training; give --train too");
}

} // namespace

void addCompileOptions(CLI::App &app, CompileOptions &o, CompileTexts &t) {
  app.add_option("model", o.model, "The ONNX file")->required()->type_name("FILE");
  app.add_option("-o,--output", o.output, "The file to write (default: the model's name without .onnx)")
      ->type_name("PATH");
  app.add_option(
         "--emit", t.emit,
         "What to write. An executable and a shared library contain the whole runtime, an object file is for a program "
         "of "
         "your own to link, plan is the plan alone, mlir is the model as the compiler has it after the phase plan")
      ->type_name("executable|object|shared|plan|mlir")
      ->capture_default_str();
  app.add_option("--dim", t.dims,
                 "Sizes of symbolic dimensions, as batch=8,sequence=128. The batch is the number of samples of one "
                 "rank in one micro-batch")
      ->delimiter(',')
      ->type_name("NAME=N");
  app.add_option("--global-batch", o.globalBatch,
                 "Number of samples of one step, over all ranks and micro-batches. It replaces --dim batch=N: the "
                 "compiler computes "
                 "each rank's batch from it")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->type_name("N");
  app.add_option("--batch-dim", o.batchDim,
                 "Name of the symbolic dimension that counts samples (default: dimension 0 of the inputs)")
      ->type_name("NAME");
  app.add_option("--mesh", t.mesh,
                 "Number of ranks along each axis: dp (data parallel), fsdp (sharded state), pp (stages of a "
                 "pipeline). dp=2,fsdp=4 is 8 "
                 "ranks, and ranks 0 to 3 differ in fsdp alone")
      ->delimiter(',')
      ->type_name("AXIS=N");
  app.add_option("--micro-batches", o.microBatches,
                 "Number of micro-batches of one step. A rank computes one after the other, adds their gradients, and "
                 "updates once")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20))
      ->type_name("N")
      ->capture_default_str();

  app.add_option("--precision", o.precision,
                 "Type to store values in: f32, bf16 or fp16. Or one type for each part, as param=bf16,reduce=f32: "
                 "param is parameters "
                 "and activations, reduce is gradients, buffer is running statistics (default: the types of the file)")
      ->type_name("TYPE|PART=TYPE");

  app.add_option("--init", o.init,
                 "Rule for the first values of parameters. It replaces the values in the file, which need not be "
                 "there. PATTERN is a glob: the first "
                 "pattern that matches counts. One rule without a pattern is for all other parameters. The seed is the "
                 "program's --seed. Rules:\n"
                 "normal(mean=0,std=1) | uniform(a=0,b=1) |\n"
                 "kaiming_normal, kaiming_uniform(a=0,mode=fan_in,nonlinearity=leaky_relu) |\n"
                 "xavier_normal, xavier_uniform(gain=1) | zeros | ones | constant(val)")
      ->allow_extra_args(false)
      ->type_name("[PATTERN=]RULE(...)");

  const char *training = "Training";
  app.add_flag("--train", o.train, "Compile a training step (without it: inference)")->group(training);
  app.add_option("--loss-output", o.lossOutput, "Name of the graph's output that is the loss")
      ->group(training)
      ->type_name("NAME");
  app.add_option("--loss", o.loss,
                 "Add this loss to a graph without one. It compares the first output with a new input, labels")
      ->check(CLI::IsMember({"cross-entropy", "nll", "mse"}))
      ->group(training);
  t.lossIgnoreIndex = app.add_option("--loss-ignore-index", t.ignoredLabel,
                                     "Label that --loss cross-entropy and nll do not count, as ignore_index in "
                                     "PyTorch. none: every label is a class")
                          ->group(training)
                          ->type_name("N|none")
                          ->capture_default_str();
  app.add_option("--optimizer", o.optimizer,
                 "How parameters are updated. The learning rate is an option of the program: train --lr. One of\n" +
                     optimizerHelp())
      ->group(training)
      ->type_name("NAME[,KEY=VALUE]")
      ->capture_default_str();
  app.add_option("--param-group", o.paramGroups,
                 "Weight decay and learning rate of some parameters, as '*.bias:weight_decay=0,lr_scale=0.1'. PATTERN "
                 "is a glob over names, or "
                 "several separated by |. The first group that matches counts")
      ->group(training)
      ->type_name("PATTERN:KEY=VALUE");
  app.add_option("--freeze", o.freeze, "Parameters that are not trained: names or globs, separated by commas")
      ->delimiter(',')
      ->group(training)
      ->type_name("PATTERN");
  app.add_option("--buffers", o.buffers,
                 "Initializers that are buffers and not parameters: names or globs, separated by commas. "
                 "Files of torch.onnx.export(dynamo=True) mark them already")
      ->delimiter(',')
      ->group(training)
      ->type_name("PATTERN");
  app.add_option("--tie", o.tie,
                 "Train two parameters as one, under the name KEPT. Their values must be equal, or transposed. cleave "
                 "compile names such pairs")
      ->group(training)
      ->type_name("KEPT=TIED");
  app.add_option("--loss-average", o.lossAverage,
                 "global: the loss is the average over all labels of the global batch. rank: it is the mean of the "
                 "averages of ranks and "
                 "micro-batches, as in PyTorch DDP")
      ->check(CLI::IsMember({"global", "rank"}))
      ->group(training)
      ->capture_default_str();
  app.add_option("--batch-norm", o.batchNorm,
                 "Statistics that batch norm uses. local: those of a rank's samples. sync: those of all ranks' "
                 "samples. frozen: the running "
                 "statistics, which stay as they are. local-deferred and sync-deferred update the running statistics "
                 "once a step, local and sync in every micro-batch")
      ->check(CLI::IsMember({"local", "sync", "frozen", "local-deferred", "sync-deferred"}))
      ->group(training)
      ->capture_default_str();
  app.add_option("--loss-scale", o.lossScale,
                 "Factor that keeps fp16 gradients from becoming 0: a number, none, or "
                 "dynamic[,init=N,growth=N,backoff=N,interval=N]. "
                 "dynamic starts at init, is multiplied by growth after interval steps without overflow, and by "
                 "backoff after a step with one. auto is dynamic under fp16")
      ->group(training)
      ->type_name("SCALE")
      ->capture_default_str();
  app.add_option("--dp-sync", o.dpSync,
                 "How ranks of the axis dp agree. all-reduce: gradients are summed on every rank, and every rank "
                 "updates the parameters. "
                 "parameter-server: gradients are summed on the first rank, which alone has optimizer state. It "
                 "updates the parameters and broadcasts them")
      ->check(CLI::IsMember({"all-reduce", "parameter-server"}))
      ->group(training)
      ->capture_default_str();
  app.add_option("--bucket-size", t.bucketSize,
                 "Largest size of a bucket: gradients that are reduced together, as 25MiB (default: 25MiB; with zero-2 "
                 "at most an eighth of the parameters)")
      ->group(training)
      ->type_name("BYTES");

  app.add_option("--recompute", o.recompute,
                 "Values of the forward pass that the backward pass computes again, to save memory. never: none at "
                 "all. none: only those that cost little. "
                 "blocks: those of every block, as of each layer of a transformer. every=N: of every N-th block. "
                 "first=N: of the first N blocks. "
                 "segments=N: of all blocks, N at a time. auto: the cheapest of these that fits --memory-limit")
      ->group(training)
      ->type_name("CHOICE")
      ->capture_default_str();
  app.add_option("--recompute-when", o.recomputeWhen,
                 "Micro-batches of a pipeline that recompute: always (all), except-last (all but the last one of a "
                 "step), never (none)")
      ->group(training)
      ->type_name("always|except-last|never")
      ->capture_default_str();
  app.add_flag("--save-async", o.saveAsync,
               "Reserve memory for a copy of the state, so that the program can write checkpoints while it trains")
      ->group(training);

  app.add_option("--attention", o.attention,
                 "How attention is computed. plain: product, softmax and product, with all scores in memory. fused: "
                 "one kernel, which "
                 "computes scores block by block and stores none. Attention with dropout is always plain")
      ->check(CLI::IsMember({"plain", "fused"}))
      ->capture_default_str();
  app.add_option("--offload", o.offload,
                 "Keep these in host memory while they are not in use: params, grads, optimizer, activations, or "
                 "several separated by commas")
      ->type_name("KINDS");
  const char *sharding = "Sharded state (axis fsdp)";
  t.fsdpStrategy = app.add_option("--fsdp-strategy", o.fsdpStrategy,
                                  "What the ranks of the axis fsdp split among them. full-shard or zero-3: parameters, "
                                  "gradients and optimizer state. "
                                  "shard-grad-op: the same, but parameters stay gathered from the forward pass to the "
                                  "backward pass. zero-2: gradients and optimizer state. "
                                  "zero-1: optimizer state. no-shard: nothing")
                       ->group(sharding)
                       ->type_name("NAME")
                       ->capture_default_str();
  t.fsdpUnits = app.add_option("--fsdp-units", o.fsdpUnits,
                               "How parameters are divided into units: those of a unit are gathered together. auto: "
                               "one unit a block, large blocks several. "
                               "size=BYTES: units of this size. pattern=P[|P]: one unit for each name that matches, "
                               "with all names below it")
                    ->group(sharding)
                    ->type_name("POLICY")
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
                 "Reduce gradients in every micro-batch, or in the last one of a step only (default: every where "
                 "gradients are split, else last). Over the "
                 "axis dp, gradients that are split are always reduced once a step")
      ->check(CLI::IsMember({"every", "last"}))
      ->group(sharding);

  const char *stages = "Stages of a pipeline (axis pp)";
  t.schedule = app.add_option("--schedule", o.schedule,
                              "Order in which stages compute micro-batches: naive | gpipe | 1f1b | eager-1f1b | "
                              "interleaved-1f1b[,chunks=N] | "
                              "zb-h1 | zb-h2 | dualpipe-v, or file=PATH for an order of your own")
                   ->group(stages)
                   ->type_name("NAME")
                   ->capture_default_str();
  t.stageSplit = app.add_option("--stage-split", o.stageSplit,
                                "Where the model is cut into stages. auto: stages take equal time. uniform: they have "
                                "equal numbers of operations. parameters: they have equal bytes of "
                                "parameters. After one of these ,NAME=STAGE puts a parameter or operation into a stage. "
                                "pattern=P[|P]: they have equal numbers of operations or parameters whose "
                                "names match. at=NAME[|NAME]: each further stage begins at this name")
                     ->group(stages)
                     ->type_name("HOW")
                     ->capture_default_str();

  const char *target = "Target";
  app.add_option("--target", o.target,
                 "Device to compile for: host (the processor of this machine), host:avx2, host:avx512, host:generic "
                 "(others), each with ,threads=N "
                 "for N compute threads a rank; or the GPUs cuda:sm_80, cuda:sm_90 and cuda:sm_100")
      ->group(target)
      ->type_name("DEVICE")
      ->capture_default_str();
  app.add_option("--target-machine", o.targetMachine,
                 "Machine whose step time is predicted; the program sets it beside the measured time. calibrated: this "
                 "one, as cleave calibrate has measured it (default where it has, for hosts). none. a100 | h100 | h200, "
                 "or a JSON file. It changes nothing else of the plan")
      ->group(target)
      ->type_name("MACHINE");
  app.add_option("--memory-limit", t.memoryLimit,
                 "Device memory that one rank may need, as 16GiB. No plan is written that needs more")
      ->group(target)
      ->type_name("BYTES");

  app.add_option("--budget", o.budget,
                 "Factor of the limits on how many nodes, constants and copies a file may cause. They protect the "
                 "compiler from broken files; raise "
                 "them where an error says so")
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 20))
      ->group(target)
      ->type_name("N")
      ->capture_default_str();

  const char *inside = "Looking inside";
  app.add_option("--stop-after", t.stopAfter,
                 "Stop after a phase and write its MLIR to the output. Phases: " + phaseNames())
      ->group(inside)
      ->type_name("PHASE");
  app.add_option("--dump-phases", o.dumpPhases, "Write the MLIR of each phase to this directory, in numbered files")
      ->group(inside)
      ->type_name("DIR");
  app.add_option("--load-pass-plugin", o.passPlugins,
                 "Load a shared library with passes, operators or optimizers of your own")
      ->group(inside)
      ->type_name("FILE");
  app.add_option("--insert", t.inserts, "Run an MLIR pass pipeline after a phase, as import=my-pass")
      ->group(inside)
      ->type_name("PHASE=PIPELINE");
}

void finishCompileOptions(const CLI::App &app, CompileOptions &o, const CompileTexts &t) {
  parseShapes(o, t);
  checkSharding(o, t);
  checkPipeline(o, t);
  checkOffload(o);
  o.forwardPrefetch = t.forwardPrefetch == "on";
  o.emit = parseEmit(t.emit);
  o.stopAfter = parsePhaseOption("--stop-after", t.stopAfter);
  if (o.emit == Emit::Mlir && o.stopAfter == Phase::Link)
    o.stopAfter = Phase::Plan;
  if (o.stopAfter == Phase::Emit) // what that phase makes is the object
    o.emit = Emit::Object;
  if (!t.bucketSize.empty())
    o.bucketBytes = parseBytes("--bucket-size", t.bucketSize);
  if (!t.memoryLimit.empty())
    o.memoryLimit = parseBytes("--memory-limit", t.memoryLimit);
  if (o.globalBatch && o.dims.count(o.batchDim.empty() ? "batch" : o.batchDim))
    fail("--global-batch",
         "it derives the batch dimension; leave --dim " + (o.batchDim.empty() ? "batch" : o.batchDim) + " away");
  parseInserts(o, t);
  o.ignoredLabel = parseIgnoredLabel(t.ignoredLabel);
  checkTraining(o);
  checkIgnoredLabel(o, t);
  checkTrainingOptions(app, o);
}

} // namespace cleave

// CLI11 reports by exceptions: this file is compiled with them (CommandLine.cpp catches).
#include "tools/cleave/CompileArguments.h"

#include "compiler/Sharding/Offload.h"
#include "compiler/Sharding/StateStorage.h"
#include "compiler/Support/Bytes.h"
#include "compiler/Training/Recompute.h"
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
  fail("--loss-ignore-index", o.loss.empty()
                                  ? "it is about the labels of --loss cross-entropy and nll. A loss that is an output of the graph has its own "
                                    "ignore_index: set it in the module (F.cross_entropy(..., ignore_index=N)), and export it again"
                                  : "the targets of --loss " + o.loss + " are numbers, and all of them count; leave the option away");
}

Emit parseEmit(const std::string &text) {
  static const std::map<std::string, Emit> kinds = {{"executable", Emit::Executable}, {"object", Emit::Object},
                                                    {"shared", Emit::Shared},         {"plan", Emit::Plan},
                                                    {"mlir", Emit::Mlir}};
  auto found = kinds.find(text);
  if (found == kinds.end())
    fail("--emit", "expected executable, object, shared, plan or mlir; got: " + text);
  return found->second;
}

Phase parsePhaseOption(const std::string &option, const std::string &text) {
  if (auto phase = parsePhase(text))
    return *phase;
  std::string names;
  for (int i = 0; i <= static_cast<int>(Phase::Link); ++i)
    names += std::string(i ? ", " : "") + phaseName(static_cast<Phase>(i));
  fail(option, "expected a phase (" + names + "); got: " + text);
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
    fail("--fsdp-units", "units are gathered, and " + o.fsdpStrategy +
                             " keeps parameters whole; use full-shard or shard-grad-op, or --bucket-size for gradients");
  if (hasAxis && isGathered && !t.bucketSize.empty())
    fail("--bucket-size", "with " + o.fsdpStrategy + " a unit's gradients are one bucket; use --fsdp-units size=" + t.bucketSize);
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
      fail("--insert", "after '" + text.substr(0, equals) + "' nothing is left that a pass could work on; the last phase is plan");
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
    fail("--recompute-when", "without stages every micro-batch's backward pass follows its forward pass at once, and the last one would "
                             "need as much memory as without --recompute; give stages, as in --mesh pp=2, or always");
  if (o.recomputeWhen == "except-last" && o.recompute == "none")
    fail("--recompute-when", "nothing is computed again; say what, as in --recompute blocks");
  if (!o.train && o.recompute != "none")
    fail("--recompute", "only training keeps values for a backward pass; it needs --train");
  if (o.recompute == "auto" && !o.memoryLimit)
    fail("--recompute", "auto looks for what fits a limit; give --memory-limit BYTES, or one of none, blocks, every=N, first=N, segments=N");
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
  app.add_option("model", o.model, "the ONNX file")->required()->type_name("FILE");
  app.add_option("-o,--output", o.output, "what to write (default: the model's name without .onnx)")->type_name("PATH");
  app.add_option("--emit", t.emit, "executable | object | shared | plan | mlir")->type_name("KIND");
  app.add_option("--dim", t.dims, "the sizes of symbolic dimensions; the batch counts the samples of one rank in one micro-batch")
      ->delimiter(',')->type_name("NAME=N");
  app.add_option("--global-batch", o.globalBatch, "samples of one step over all ranks; the batch of a rank and micro-batch follows from it")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))->type_name("N");
  app.add_option("--batch-dim", o.batchDim, "the symbol that counts samples (default: dimension 0 of the inputs)")
      ->type_name("NAME");
  app.add_option("--mesh", t.mesh, "axes of the device mesh, slowest first")->delimiter(',')->type_name("AXIS=N");
  app.add_option("--micro-batches", o.microBatches, "micro-batches accumulated in one step")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20))->type_name("N");

  app.add_option("--precision", o.precision, "types to keep and reduce in: f32 | bf16 | fp16, or by part: param=,reduce=,buffer=")
      ->type_name("TYPE|PART=TYPE");

  app.add_option("--init", o.init, "a rule gives the first values of parameters; the file's values need not be there. PATTERN is a glob: the first\n"
                 "that matches counts, and a rule without one is for all others. KIND is one of normal(mean=0,std=1) |\n"
                 "uniform(a=0,b=1) | kaiming_normal, kaiming_uniform(a=0,mode=fan_in,nonlinearity=leaky_relu) |\n"
                 "xavier_normal, xavier_uniform(gain=1) | zeros | ones | constant(val); the program's --seed is the seed")
      ->allow_extra_args(false)->type_name("[PATTERN=]KIND(...)");

  const char *training = "Training";
  app.add_flag("--train", o.train, "compile a training step")->group(training);
  app.add_option("--loss-output", o.lossOutput, "the graph output that is the loss")->group(training)->type_name("NAME");
  app.add_option("--loss", o.loss, "add a loss to a graph without one")
      ->check(CLI::IsMember({"cross-entropy", "nll", "mse"}))->group(training)->type_name("KIND");
  t.lossIgnoreIndex = app.add_option("--loss-ignore-index", t.ignoredLabel, "the label that --loss cross-entropy and nll do not count, as ignore_index in PyTorch; none: every label is a class")
      ->group(training)->type_name("N|none")->capture_default_str();
  app.add_option("--optimizer", o.optimizer, optimizerHelp())
      ->group(training)->type_name("KIND[,k=v]")->capture_default_str();
  app.add_option("--param-group", o.paramGroups, "own lr_scale and weight_decay for parameters by name (globs); the first that matches counts")
      ->group(training)->type_name("PATTERN:k=v");
  app.add_option("--freeze", o.freeze, "parameters that stay as they are: names or globs, separated by commas")
      ->delimiter(',')->group(training)->type_name("PATTERN");
  app.add_option("--buffers", o.buffers, "initializers that are state and not trained: names or globs, separated by commas\n"
                 "(files of torch.onnx.export(dynamo=True) mark them already)")
      ->delimiter(',')->group(training)->type_name("PATTERN");
  app.add_option("--tie", o.tie, "join two parameters of equal (or transposed) values under the name of the first; compile reports such pairs")
      ->group(training)->type_name("KEPT=TIED");
  app.add_option("--loss-average", o.lossAverage, "global: the average over the global batch; rank: the mean of the ranks' averages, as in PyTorch DDP")
      ->check(CLI::IsMember({"global", "rank"}))->group(training)->capture_default_str();
  app.add_option("--batch-norm", o.batchNorm, "local: statistics of a rank's samples; sync: of all ranks' samples; frozen: the running statistics, which do not\n"
                 "change (batch norm in eval() while the rest is trained). local-deferred | sync-deferred: as local and sync, but running\n"
                 "statistics are updated once a step, from all its micro-batches, and not in every micro-batch")
      ->check(CLI::IsMember({"local", "sync", "frozen", "local-deferred", "sync-deferred"}))->group(training)->capture_default_str();
  app.add_option("--loss-scale", o.lossScale, "for fp16: dynamic[,init=N,growth=N,backoff=N,interval=N] | N | none (default: dynamic)")
      ->group(training)->type_name("KIND");
  app.add_option("--dp-sync", o.dpSync, "all-reduce: every rank of the axis dp updates parameters; parameter-server: only the first rank has the optimizer\n"
                 "state and updates parameters. Gradients are reduced to it, and it broadcasts the parameters")
      ->check(CLI::IsMember({"all-reduce", "parameter-server"}))->group(training)->type_name("HOW")->capture_default_str();
  app.add_option("--bucket-size", t.bucketSize, "cap of a gradient bucket (default 25MiB; with zero-2 at most an eighth of the parameters)")->group(training)->type_name("BYTES");

  app.add_option("--recompute", o.recompute, "what is computed again for the backward pass: never (nothing) | none (what is cheap) | blocks | every=N (every N-th block) | first=N |\n"
                 "segments=N (N blocks at a time) | auto (the cheapest that fits --memory-limit)")
      ->group(training)->type_name("WHAT")->capture_default_str();
  app.add_option("--recompute-when", o.recomputeWhen, "micro-batches of a pipeline that recompute: always | except-last (the last one of a step keeps its values) | never")
      ->group(training)->type_name("WHEN")->capture_default_str();
  app.add_flag("--save-async", o.saveAsync, "plan memory for a copy of the state, so that checkpoints are written in the background")
      ->group(training);

  app.add_option("--attention", o.attention, "plain: product, softmax and product, with all scores in memory; fused: one kernel that computes scores\n"
                 "block by block and keeps none, where the graph has attention without dropout (form-attention says where)")
      ->check(CLI::IsMember({"plain", "fused"}))->type_name("HOW")->capture_default_str();
  app.add_option("--offload", o.offload,
                 "what is kept in host memory while it is not used: params, grads, optimizer, activations, or several, separated by commas")
      ->type_name("KINDS");
  const char *sharding = "Sharded state (axis fsdp)";
  t.fsdpStrategy = app.add_option("--fsdp-strategy", o.fsdpStrategy, "what is split over the ranks of the axis fsdp: parameters, gradients, optimizer state, or less of it:\n"
                                  "full-shard (or zero-3) | shard-grad-op | zero-2 | zero-1 | no-shard")
      ->group(sharding)->type_name("NAME")->capture_default_str();
  t.fsdpUnits = app.add_option("--fsdp-units", o.fsdpUnits, "parameters gathered together: auto (by block, use and size) | size=BYTES | pattern=P[|P]")
      ->group(sharding)->type_name("POLICY")->capture_default_str();
  t.prefetch = {
      app.add_option("--forward-prefetch", t.forwardPrefetch, "gather the next unit before this one is computed")
          ->check(CLI::IsMember({"on", "off"}))->group(sharding)->capture_default_str(),
      app.add_option("--backward-prefetch", o.backwardPrefetch, "pre: gather the next unit before this one's backward; post: after it")
          ->check(CLI::IsMember({"pre", "post", "none"}))->group(sharding)->capture_default_str(),
      app.add_option("--gathers-in-flight", o.gathersInFlight, "gathered units in memory at a time: the one in use and those ahead (default: 2; 1 where 2 would need more than whole parameters)")
          ->check(CLI::Range(int64_t(1), int64_t(1) << 16))->group(sharding)->type_name("N")};
  app.add_option("--grad-sync", o.gradSync, "reduce gradients in every micro-batch, or in the last one only (default: every, where gradients are split). Over the\n"
                 "axis dp, split gradients are reduced once a step in any case")
      ->check(CLI::IsMember({"every", "last"}))->group(sharding)->type_name("WHEN");

  const char *stages = "Stages of a pipeline (axis pp)";
  t.schedule = app.add_option("--schedule", o.schedule, "order of micro-batches on each stage: naive | gpipe | 1f1b | eager-1f1b | interleaved-1f1b[,chunks=N] |\nzb-h1 | zb-h2 | dualpipe-v | file=PATH")
      ->group(stages)->type_name("NAME")->capture_default_str();
  t.stageSplit = app.add_option("--stage-split", o.stageSplit, "where to cut: auto (equal time) | uniform (equal numbers of operations) | parameters (equal bytes) |\npattern=P[|P] (equal numbers of operations or parameters of such names) | at=NAME[|NAME] (each further stage begins there)")
      ->group(stages)->type_name("HOW")->capture_default_str();

  const char *target = "Target";
  app.add_option("--target", o.target, "host[:avx2|:avx512|:generic][,threads=N] | cuda:sm_80 | cuda:sm_90")->group(target)->capture_default_str();
  app.add_option("--memory-limit", t.memoryLimit, "the most bytes that the plan of one rank may need")->group(target)->type_name("BYTES");

  app.add_option("--budget", o.budget, "multiplies the limits on what compilation may make of the file: nodes, constants, copies")
      ->check(CLI::Range(uint64_t(1), uint64_t(1) << 20))->group(target)->type_name("N")->capture_default_str();

  const char *inside = "Looking inside";
  app.add_option("--stop-after", t.stopAfter, "stop after a phase and write its MLIR to the output")->group(inside)->type_name("PHASE");
  app.add_option("--dump-phases", o.dumpPhases, "write numbered MLIR files, one a phase")->group(inside)->type_name("DIR");
  app.add_option("--load-pass-plugin", o.passPlugins, "a shared library with passes, operators or optimizers of your own")->group(inside)->type_name("FILE");
  app.add_option("--insert", t.inserts, "run a pass pipeline when a phase is done")->group(inside)->type_name("PHASE=PIPELINE");
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
    fail("--global-batch", "it derives the batch dimension; leave --dim " + (o.batchDim.empty() ? "batch" : o.batchDim) + " away");
  parseInserts(o, t);
  o.ignoredLabel = parseIgnoredLabel(t.ignoredLabel);
  checkTraining(o);
  checkIgnoredLabel(o, t);
  checkTrainingOptions(app, o);
}

} // namespace cleave

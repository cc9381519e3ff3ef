// Reads the texts of `cleave compile`'s options, and checks which options do not fit together. CLI11 reports errors by
// exceptions. This file is compiled with exceptions (CommandLine.cpp catches them).
#include "tools/cleave/CompileArguments.h"

#include "compiler/Import/ONNX/Support.h"
#include "compiler/Sharding/Offload.h"
#include "compiler/Sharding/StateStorage.h"
#include "compiler/Support/Bytes.h"
#include "compiler/Training/Residuals/Recompute.h"
#include "compiler/Training/TrainingOptions.h"
#include "runtime/base/NearestName.h"

#include <CLI/CLI.hpp>

namespace cleave {
namespace {

[[noreturn]] void fail(const std::string &option, const std::string &message) {
  throw CLI::ValidationError(option, message);
}

// Parses "name=value" with a positive integer of at most `most`. `form` says what was expected, with an example.
std::pair<std::string, int64_t> parseBinding(const std::string &option, const std::string &text,
                                             const std::string &form, int64_t most) {
  size_t equals = text.find('=');
  if (equals != std::string::npos) {
    llvm::StringRef name = llvm::StringRef(text).take_front(equals),
                    value = llvm::StringRef(text).drop_front(equals + 1);
    if (name != name.trim() || value != value.trim())
      fail(option, "write it without spaces, as " + (name.trim() + "=" + value.trim()).str() + "; got: '" + text + "'");
  }
  char *end = nullptr;
  // strtoll returns the largest number if the text is out of range.
  long long value = equals == std::string::npos ? 0 : std::strtoll(text.c_str() + equals + 1, &end, 10);
  if (equals == 0 || !end || *end || end == text.c_str() + equals + 1 || value <= 0)
    fail(option, "expected " + form + "; got: " + text);
  std::string name = text.substr(0, equals);
  if (value > most)
    fail(option, text + " is too large; at most " + name + "=" + std::to_string(most));
  return {name, value};
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

// A loss that is an output of the graph has its own class dimension and ignored label.
void checkClassOptions(const CompileOptions &o, const CompileTexts &t) {
  if (!o.train || o.loss == "cross-entropy" || o.loss == "nll")
    return;
  if (t.lossClassDim->count())
    fail("--loss-class-dim", "it is about the classes of --loss cross-entropy and nll; leave out the option");
  if (t.lossIgnoreIndex->count() == 0)
    return;
  fail(
      "--loss-ignore-index",
      o.loss.empty()
          ? "it is about the labels of --loss cross-entropy and nll. A loss that is an output of the graph has its own "
            "ignore_index: set it in the module (F.cross_entropy(..., ignore_index=N)), and export it again"
          : "the targets of --loss " + o.loss + " are numbers, and all of them count; leave out the option");
}

Emit parseEmit(const std::string &text) {
  static const std::map<std::string, Emit> kinds = {{"executable", Emit::Executable},
                                                    {"object", Emit::Object},
                                                    {"shared", Emit::Shared},
                                                    {"plan", Emit::Plan},
                                                    {"mlir", Emit::Mlir}};
  auto found = kinds.find(text);
  if (found == kinds.end())
    fail("--emit", rt::expectedOneOf(text, {"executable", "object", "shared", "plan", "mlir"}));
  return found->second;
}

std::vector<std::string> phasesTo(Phase last) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(last); ++i)
    names.push_back(phaseName(static_cast<Phase>(i)));
  return names;
}

Phase parsePhaseOption(const std::string &option, const std::string &text, Phase last = Phase::Link) {
  if (auto phase = parsePhase(text))
    return *phase;
  fail(option, "expected a phase (" + phaseNames(last) + "); got: " + text + rt::didYouMean(text, phasesTo(last)));
}

// Decides what is written to the output. --emit and --stop-after may both be given if they agree.
void parseOutputKind(const CLI::App &app, CompileOptions &o, const CompileTexts &t) {
  o.emit = parseEmit(t.emit);
  o.stopAfter = parsePhaseOption("--stop-after", t.stopAfter);
  if (o.stopAfter == Phase::Link) { // the last phase: --emit alone decides
    o.stopAfter = o.emit == Emit::Mlir ? Phase::Plan : Phase::Link;
    return;
  }
  bool isObject = o.stopAfter == Phase::Emit;
  Emit made = isObject ? Emit::Object : Emit::Mlir;
  if (app.count("--emit") != 0 && o.emit != made)
    fail("--stop-after", "after '" + t.stopAfter + "' " + (isObject ? "an object" : "the phase's MLIR") +
                             " is written to the output, and --emit says " + t.emit + "; leave one of the two out");
  o.emit = made;
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

// For inference, only parameters can be offloaded.
void checkOffload(const CompileOptions &o) {
  auto offload = parseOffload(o.offload);
  if (!offload)
    fail("--offload", llvm::toString(offload.takeError()));
  if (!o.train && (offload->grads || offload->optimizer || offload->activations))
    fail("--offload", "grads, optimizer and activations belong to training; give --train too, or params alone");
}

// Refuses options that a pipeline does not support.
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

// Refuses options of sharding that contradict each other.
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
    auto [name, value] =
        parseBinding("--dim", text, "NAME=N with N a positive integer, as in batch=8", onnx_import::kMaxElements);
    if (!o.dims.emplace(name, value).second)
      fail("--dim", "dimension '" + name + "' is given twice; give it one size");
  }
  static const std::vector<std::string> axes = {"dp", "fsdp", "pp"};
  constexpr int64_t kMaxRanks = 1 << 20;
  for (const std::string &text : t.mesh) {
    auto axis = parseBinding("--mesh", text,
                             "AXIS=N with N a positive integer, as in dp=2 (two data-parallel ranks) or dp=2,fsdp=2",
                             kMaxRanks);
    if (std::find(axes.begin(), axes.end(), axis.first) == axes.end())
      fail("--mesh", "axis '" + axis.first + "' is not available; this version has: dp, fsdp, pp" +
                         rt::didYouMean(axis.first, axes));
    for (const auto &other : o.mesh)
      if (other.first == axis.first)
        fail("--mesh", "axis '" + axis.first + "' is given twice");
    o.mesh.push_back(axis);
  }
  int64_t room = kMaxRanks; // counted down, because the product itself could overflow
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
    Phase phase = parsePhaseOption("--insert", text.substr(0, equals), Phase::Plan);
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

// Refuses options of training without --train, because nothing would read them.
void checkTrainingOptions(const CLI::App &app, const CompileOptions &o) {
  for (const CLI::Option *option : app.get_options())
    if (!o.train && option->count() > 0 && option->get_group() == "Training" && option->get_name() != "--loss-output" &&
        option->get_name() != "--loss")
      fail(option->get_name(), "belongs to training; give --train too");
}

} // namespace

std::string phaseNames(Phase last) { return rt::joinNames(phasesTo(last)); }

void finishCompileOptions(const CLI::App &app, CompileOptions &o, const CompileTexts &t) {
  parseShapes(o, t);
  checkSharding(o, t);
  checkPipeline(o, t);
  checkOffload(o);
  o.forwardPrefetch = t.forwardPrefetch == "on";
  parseOutputKind(app, o, t);
  if (!t.bucketSize.empty())
    o.bucketBytes = parseBytes("--bucket-size", t.bucketSize);
  if (!t.memoryLimit.empty())
    o.memoryLimit = parseBytes("--memory-limit", t.memoryLimit);
  parseInserts(o, t);
  o.ignoredLabel = parseIgnoredLabel(t.ignoredLabel);
  checkTraining(o);
  checkClassOptions(o, t);
  checkTrainingOptions(app, o);
}

} // namespace cleave

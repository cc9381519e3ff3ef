#include "compiler/Driver/Memory/MemoryLimit.h"

#include "compiler/Driver/Lowering.h"
#include "compiler/Driver/Memory/PlanTrial.h"
#include "compiler/Driver/Memory/StageFit.h"
#include "compiler/Sharding/Offload.h"
#include "compiler/Sharding/StateStorage.h"
#include "compiler/Support/StatusError.h"
#include "compiler/Target/Target.h"
#include "compiler/Training/Residuals/Recompute.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "runtime/base/HumanUnits.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/bit.h"

using namespace cleave;

namespace {

uint64_t bytesOf(const std::map<std::string, uint64_t> &table, llvm::StringRef name) {
  auto found = table.find(name.str());
  return found == table.end() ? 0 : found->second;
}

// Returns the bytes on the device of states with this role.
uint64_t deviceBytesOf(const rt::PlanSummary &summary, llvm::StringRef role) {
  return bytesOf(summary.bytesByRole, role) - bytesOf(summary.hostByRole, role);
}

// Returns the three largest parts of the device's memory: states by role, everything else by kind of region.
std::string largestParts(const rt::PlanSummary &summary) {
  std::vector<std::pair<uint64_t, std::string>> parts;
  for (const auto &[kind, bytes] : summary.bytesByKind)
    if (kind != "persistent")
      parts.emplace_back(bytes, kind);
  for (const auto &[role, bytes] : summary.bytesByRole)
    parts.emplace_back(deviceBytesOf(summary, role), role);
  llvm::sort(parts, std::greater<>());
  std::string text;
  for (size_t i = 0; i < parts.size() && i < 3; ++i)
    text += (i ? ", " : "") + parts[i].second + " " + rt::bytesText(parts[i].first);
  return text;
}

// Returns the number of ranks over which parameters, gradients and optimizer state must be split so that the plan fits,
// or 0 if splitting cannot help.
uint64_t shardsThatFit(const rt::PlanSummary &summary, const CompileOptions &options, uint64_t limit) {
  uint64_t state = 0;
  for (llvm::StringRef role : {"parameter", "gradient", "optimizer"})
    state += deviceBytesOf(summary, role);
  uint64_t rest = summary.totalBytes - std::min(state, summary.totalBytes);
  // In addition to its shards, a rank has gathered units, and gradients that are not reduced yet. They are at most all
  // parameters once.
  uint64_t gathered = bytesOf(summary.bytesByRole, "parameter");
  for (uint64_t ranks = 2; options.train && ranks <= 1024; ranks *= 2)
    if (rest + gathered + state / ranks <= limit)
      return ranks;
  return 0;
}

// Returns the value of --offload with the missing kinds added, or an empty string if none is missing.
std::string moreOffload(const CompileOptions &options) {
  Offload now = llvm::cantFail(parseOffload(options.offload)); // read by lowerToKernels
  std::string text = options.offload;
  auto add = [&](bool isWanted, const char *kind) {
    if (isWanted)
      text += (text.empty() ? "" : ",") + std::string(kind);
  };
  add(!now.optimizer, "optimizer");
  add(!now.grads, "grads");
  add(!now.activations && options.recompute == "none", "activations");
  return text == options.offload ? "" : text;
}

// Returns the largest number of bytes that values of a kind take at the same time in any program.
uint64_t peakOf(const rt::PlanSummary &summary, const char *kind) {
  uint64_t most = 0;
  for (const rt::ProgramSummary &program : summary.programs)
    most = std::max(most, bytesOf(program.peaks, kind));
  return most;
}

// Finds options that make the plan smaller. Options that can be tried are tried, and named only if their plan needs at
// least one percent less.
class Remedies {
public:
  // `offloads`: true if --offload is a remedy. On a host it would move values within the same memory.
  Remedies(const rt::PlanSummary &summary, const CompileOptions &options, uint64_t limit, bool offloads,
           TryOptions tryOptions)
      : summary(summary), options(options), limit(limit), offloads(offloads), tryOptions(tryOptions) {}

  std::string text() {
    if (options.train)
      findForTraining();
    else if (offloads && options.offload.empty())
      nameIfSmaller("--offload params", [](CompileOptions &changed) { changed.offload = "params"; });
    findBatch();
    std::string text = ways.empty() ? "" : "; these make it smaller: ";
    for (size_t i = 0; i < ways.size(); ++i)
      text += (i == 0 ? "" : i + 1 < ways.size() ? ", " : " or ") + ways[i];
    return text;
  }

private:
  using Change = llvm::function_ref<void(CompileOptions &)>;

  // Returns nullopt if the changed options cannot be combined with the others.
  std::optional<rt::PlanSummary> planWith(Change change) {
    CompileOptions changed = options;
    change(changed);
    llvm::Expected<rt::PlanSummary> tried = tryOptions(changed);
    if (!tried) {
      llvm::consumeError(tried.takeError());
      return std::nullopt;
    }
    return rt::largestKind(*tried);
  }

  bool isSmaller(const std::optional<rt::PlanSummary> &tried) const {
    return tried && 100 * tried->totalBytes <= 99 * summary.totalBytes;
  }

  void nameIfSmaller(const std::string &name, Change change) {
    if (isSmaller(planWith(change)))
      ways.push_back(name);
  }

  void findForTraining() {
    if (options.recompute == "none" || options.recompute == "never")
      nameIfSmaller("--recompute auto", [](CompileOptions &changed) { changed.recompute = "auto"; });
    bool isSharded = options.axisSize("fsdp") > 1;
    FsdpStrategy strategy = llvm::cantFail(parseFsdpStrategy(options.fsdpStrategy)); // read by lowerToKernels
    if (isSharded && strategy != FsdpStrategy::FullShard)
      nameIfSmaller("--fsdp-strategy full-shard", [](CompileOptions &changed) { changed.fsdpStrategy = "full-shard"; });
    if (isSharded && strategy != FsdpStrategy::NoShard)
      ways.push_back("more ranks on the axis fsdp");
    if (uint64_t ranks = isSharded ? 0 : shardsThatFit(summary, options, limit))
      ways.push_back(
          "--mesh fsdp=" + std::to_string(ranks) +
          (llvm::cantFail(parseDpSync(options.dpSync)) == DpSync::AllReduce ? "" : " with --dp-sync all-reduce"));
    if (std::string kinds = moreOffload(options); offloads && !kinds.empty())
      findOffload(kinds);
    if (uint64_t fetched = peakOf(summary, kStaging))
      nameBucket("", fetched, [](CompileOptions &) {});
  }

  // A bucket of offloaded states is copied to the device for its use. If one bucket contains the whole model, nothing
  // is saved, and smaller buckets are tried.
  void findOffload(const std::string &kinds) {
    auto offload = [&](CompileOptions &changed) { changed.offload = kinds; };
    std::optional<rt::PlanSummary> tried = planWith(offload);
    if (isSmaller(tried))
      ways.push_back("--offload " + kinds);
    else if (uint64_t fetched = tried ? peakOf(*tried, kStaging) : 0)
      nameBucket("--offload " + kinds + " with ", fetched, offload);
  }

  // Tries smaller buckets. At present, the buckets on the device at a time need `fetched` bytes.
  void nameBucket(const std::string &before, uint64_t fetched, Change change) {
    constexpr uint64_t kLeast = 64 << 10, kParts = 8;
    uint64_t bytes = llvm::bit_floor(std::max(fetched / kParts, kLeast));
    bool hasUnits =
        options.axisSize("fsdp") > 1 && splitsParameters(llvm::cantFail(parseFsdpStrategy(options.fsdpStrategy)));
    bool isWhole = bytes % (1 << 20) == 0;
    std::string size = isWhole ? std::to_string(bytes >> 20) + "MiB" : std::to_string(bytes >> 10) + "KiB";
    nameIfSmaller(before + (hasUnits ? "--fsdp-units size=" : "--bucket-size ") + size, [&](CompileOptions &changed) {
      change(changed);
      if (hasUnits)
        changed.fsdpUnits = "size=" + size;
      else
        changed.bucketBytes = static_cast<int64_t>(bytes);
    });
  }

  // Estimates the gain of a smaller batch, because a trial would need another import. It reduces neither states, nor
  // values fetched from host memory or from other ranks, and it hardly reduces the memory of libraries. In training,
  // the inputs of a step have all micro-batches.
  void findBatch() {
    auto batch = options.dims.find(options.batchDim.empty() ? "batch" : options.batchDim);
    if (batch != options.dims.end() && batch->second <= 1)
      return;
    uint64_t transient = bytesOf(summary.bytesByKind, "transient");
    uint64_t fixed = std::max(peakOf(summary, kStaging), peakOf(summary, "gathered"));
    uint64_t bytes = transient - std::min(transient, fixed) + bytesOf(summary.bytesByKind, "residual");
    for (const char *kind : {"input", "output"})
      bytes += options.train ? 0 : bytesOf(summary.bytesByKind, kind);
    if (100 * bytes >= summary.totalBytes)
      ways.push_back(options.train ? "a smaller batch with more --micro-batches" : "a smaller batch");
  }

  static constexpr const char *kStaging = "staging"; // key of ProgramSummary::peaks

  const rt::PlanSummary &summary;
  const CompileOptions &options;
  uint64_t limit;
  bool offloads;
  TryOptions tryOptions;
  std::vector<std::string> ways;
};

// Plans a copy with a value of --recompute.
class Trials {
public:
  Trials(mlir::ModuleOp kernels, const CompileOptions &options, const plan::PlanningOptions &planning)
      : kernels(kernels), options(options), planning(planning), limit(*options.memoryLimit) {}

  // True if the plan fits. Errors are kept for later.
  bool fits(const Recompute &choice) {
    llvm::Expected<uint64_t> bytes = plan(choice);
    if (!bytes) {
      error = llvm::joinErrors(std::move(error), bytes.takeError());
      return false;
    }
    lastBytes = *bytes;
    if (*bytes < leastBytes) {
      leastBytes = *bytes;
      least = choice;
    }
    return *bytes <= limit;
  }

  llvm::Error takeError() { return std::move(error); }

  uint64_t lastBytes = 0, leastBytes = UINT64_MAX;
  Recompute least;

private:
  llvm::Expected<uint64_t> plan(const Recompute &choice) {
    options.recompute = printRecompute(choice);
    auto summary = tryPlan(kernels, options, planning);
    if (!summary)
      return summary.takeError();
    return rt::largestKind(*summary).totalBytes;
  }

  mlir::ModuleOp kernels;
  CompileOptions options;
  plan::PlanningOptions planning;
  uint64_t limit;
  llvm::Error error = llvm::Error::success();
};

// Returns the value whose plan fits, or the one that needs least.
Recompute search(Trials &trials, int64_t blocks) {
  if (trials.fits({}) || blocks == 0)
    return {};
  // The last block's backward pass starts soon after its forward pass. Recomputing it often needs more memory than
  // keeping it.
  int64_t enough = 0;
  for (int64_t count : {blocks - 1, blocks})
    if (count > 0 && enough == 0 && trials.fits({RecomputeKind::First, count}))
      enough = count;
  if (enough > 0) {
    int64_t tooFew = 0;
    while (enough - tooFew > 1) {
      int64_t middle = tooFew + (enough - tooFew) / 2;
      (trials.fits({RecomputeKind::First, middle}) ? enough : tooFew) = middle;
    }
    return {RecomputeKind::First, enough};
  }
  uint64_t before = UINT64_MAX;
  for (int64_t length = 2; 2 * length <= blocks && trials.lastBytes < before; ++length) {
    before = trials.lastBytes;
    if (trials.fits({RecomputeKind::Segments, length}))
      return {RecomputeKind::Segments, length};
  }
  return trials.least;
}

} // namespace

// Lists the other kinds of ranks that do not fit, and by how much.
static std::string othersTooLarge(const rt::PlanSummary &plan, const rt::PlanSummary &largest, uint64_t limit) {
  std::string text;
  auto add = [&](const rt::PlanSummary &kind) {
    if (&kind != &largest && kind.totalBytes > limit)
      text += "; " + kind.kind + " needs " + rt::exactBytesText(kind.totalBytes) + ", " +
              rt::bytesText(kind.totalBytes - limit) + " too much";
  };
  add(plan);
  for (const rt::PlanSummary &other : plan.others)
    add(other);
  return text;
}

llvm::Error cleave::checkMemoryLimit(const rt::PlanSummary &plan, const CompileOptions &options,
                                     TryOptions tryOptions) {
  const rt::PlanSummary &summary = rt::largestKind(plan);
  if (!options.memoryLimit || summary.totalBytes <= static_cast<uint64_t>(*options.memoryLimit))
    return llvm::Error::success();
  auto limit = static_cast<uint64_t>(*options.memoryLimit);
  auto target = parseTarget(options.target);
  if (!target)
    return target.takeError();
  return makeError(
      "--memory-limit allows " + rt::exactBytesText(limit) + ", the plan needs " +
      rt::exactBytesText(summary.totalBytes) +
      (summary.kind.empty()
           ? " on each rank"
           : " on each " + summary.kind + ", " + rt::bytesText(summary.totalBytes - limit) + " too much") +
      " (largest: " + largestParts(summary) + ")" + othersTooLarge(plan, summary, limit) +
      (searchesCut(options) ? "; no other cut into stages that was tried needs less on its largest stage" : "") +
      Remedies(summary, options, limit, (*target)->hasOwnMemory(), tryOptions).text());
}

llvm::Expected<rt::PlanSummary> cleave::tryOptions(mlir::ModuleOp imported, CompileOptions options,
                                                   plan::PlanningOptions planning) {
  leaveNoTrace(options, planning);
  // Messages about the options of a trial are suppressed, because the user has not given these options.
  mlir::ScopedDiagnosticHandler silent(imported.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  mlir::OwningOpRef<mlir::ModuleOp> copy = imported.clone();
  auto lowered = lowerToKernels(*copy, options, llvm::nulls());
  if (!lowered)
    return lowered.takeError();
  auto recompute = chooseRecompute(*copy, options, planning, llvm::nulls());
  if (!recompute)
    return recompute.takeError();
  options.recompute = *recompute;
  return tryPlan(*copy, std::move(options), std::move(planning));
}

llvm::Expected<std::string> cleave::chooseRecompute(mlir::ModuleOp kernels, const CompileOptions &options,
                                                    const plan::PlanningOptions &planning, llvm::raw_ostream &log) {
  if (options.recompute != "auto")
    return options.recompute;
  auto blocks = kernels->getAttrOfType<mlir::IntegerAttr>(kBlocksAttr);
  Trials trials(kernels, options, planning);
  std::string chosen = printRecompute(search(trials, blocks ? blocks.getInt() : 0));
  if (llvm::Error error = trials.takeError())
    return error;
  log << "recompute: " << chosen << " (auto";
  if (blocks)
    log << ", the model has " << blocks.getInt() << " blocks";
  log << ")\n";
  return chosen;
}

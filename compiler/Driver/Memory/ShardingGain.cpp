#include "compiler/Driver/Memory/ShardingGain.h"

#include "compiler/Driver/Memory/PlanTrial.h"
#include "compiler/Sharding/StateStorage.h"
#include "runtime/base/HumanUnits.h"

using namespace cleave;

namespace {

std::string sizeText(uint64_t bytes) { return rt::bytesText(bytes, 2); } // two decimals, because sizes are compared

uint64_t bytesOf(const std::map<std::string, uint64_t> &table, const char *name) {
  auto found = table.find(name);
  return found == table.end() ? 0 : found->second;
}

// Returns the bytes of states that a rank does not store because other ranks do.
uint64_t savedBytes(const rt::PlanSummary &summary) {
  uint64_t saved = 0;
  for (const auto &[role, whole] : summary.wholeByRole)
    saved += whole - std::min(whole, bytesOf(summary.bytesByRole, role.c_str()));
  return saved;
}

// Returns the bytes that only splitting needs: gathered parameters, and gradients that wait to be reduced. Without
// splitting, these are states. The ring's buffers are needed in both cases.
uint64_t spentBytes(const rt::PlanSummary &summary) {
  uint64_t spent = 0;
  for (const rt::ProgramSummary &program : summary.programs)
    spent = std::max(spent, bytesOf(program.peaks, "gathered") + bytesOf(program.peaks, "unreduced"));
  return spent + bytesOf(summary.bytesByKind, "communication");
}

// Activations differ slightly between the two plans, so a quarter of the saved bytes is left as a margin.
bool isDoubtful(const rt::PlanSummary &summary) { return 4 * spentBytes(summary) > 3 * savedBytes(summary); }

std::string rest(uint64_t saved, uint64_t split, uint64_t whole) {
  return "splitting takes " + sizeText(saved) + " of states off each rank, and adds " +
         sizeText(saved + split - std::min(whole, saved + split)) +
         " of gathered parameters, gradients before they are reduced, and padding";
}

} // namespace

bool cleave::splitsStates(const CompileOptions &options) {
  auto strategy = parseFsdpStrategy(options.fsdpStrategy);
  if (!strategy) // lowerToKernels() will report it
    return llvm::consumeError(strategy.takeError()), false;
  return options.train && options.axisSize("fsdp") > 1 && splitsOptimizer(*strategy);
}

llvm::Expected<unsigned> cleave::chooseGathersInFlight(const rt::PlanSummary &summary, mlir::ModuleOp imported,
                                                       mlir::ModuleOp kernels, const CompileOptions &options,
                                                       const plan::PlanningOptions &planning, llvm::raw_ostream &log) {
  unsigned inFlight = planning.prefetch.inFlight;
  if (!isDoubtful(summary))
    return inFlight;
  CompileOptions unsplit = options;
  unsplit.fsdpStrategy = "no-shard";
  unsplit.fsdpUnits = "auto";
  auto whole = tryCompile(imported, unsplit, planning);
  if (!whole)
    return whole.takeError();
  uint64_t split = summary.totalBytes;
  if (split <= whole->totalBytes)
    return inFlight;
  bool isFree = !options.gathersInFlight && splitsParameters(llvm::cantFail(parseFsdpStrategy(options.fsdpStrategy)));
  if (isFree) {
    plan::PlanningOptions narrow = planning;
    narrow.prefetch.inFlight = 1;
    auto tried = tryPlan(kernels, options, narrow);
    if (!tried)
      return tried.takeError();
    if (tried->totalBytes < split) {
      log << "note: units are gathered when they are needed and not ahead, as by --gathers-in-flight 1: with two at a "
             "time a rank would need "
          << sizeText(split) << ", and " << sizeText(whole->totalBytes) << " without splitting\n";
      split = tried->totalBytes;
      inFlight = 1;
    }
  }
  if (split > whole->totalBytes)
    log << "note: with --fsdp-strategy " << options.fsdpStrategy << " a rank needs " << sizeText(split)
        << ", with whole states (no-shard, or the axis dp) " << sizeText(whole->totalBytes) << ": "
        << rest(savedBytes(summary), split, whole->totalBytes) << "\n";
  return inFlight;
}

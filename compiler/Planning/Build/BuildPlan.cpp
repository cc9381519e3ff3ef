#include "compiler/Planning/Build/BuildPlan.h"
#include "compiler/Planning/Build/DraftBuilder.h"
#include "compiler/Planning/Build/InitProgram.h"
#include "compiler/Planning/Build/OffloadSavings.h"
#include "compiler/Planning/Build/Snapshot.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "compiler/Planning/Draft/Allocator.h"
#include "compiler/Planning/Draft/StreamOrder.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Planning/Verify/Model/ValueMeaning.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "runtime/base/HumanUnits.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_BUILDPLAN
#include "compiler/Planning/Passes.h.inc"

namespace {

// One unreduced buffer is filled while another is reduced; one is copied out while another is computed.
constexpr unsigned kReductionsInFlight = 2, kCopiesOutInFlight = 2;

std::vector<char> isFree(const AllocationTable &allocations) {
  std::vector<char> result(allocations.size(), 0);
  for (unsigned allocation = 0; allocation < allocations.size(); ++allocation)
    result[allocation] = !allocations[allocation].fixed && !allocations[allocation].mergedInto;
  return result;
}

// The name of a use in the plan's peaks.
const char *nameOf(MemoryUse use) {
  switch (use) {
  case MemoryUse::Activation:
    return "activation";
  case MemoryUse::Staging:
    return "staging";
  case MemoryUse::Unreduced:
    return "unreduced";
  case MemoryUse::Gathered:
    return "gathered";
  }
  return nullptr; // all uses are above
}

// Measures the most bytes that the allocations of each use need at the same time. For allocations that are filled from
// host memory, this is what the allocator needs for them: on the copy stream, one may take over another's bytes
// although their positions in the list overlap.
void measurePeaks(ProgramDraft &draft, const std::vector<char> &free, const std::vector<std::optional<Span>> &spans) {
  std::map<std::string, std::map<size_t, int64_t>> changes; // name of use -> position -> bytes that come or go
  std::vector<AllocationRequest> staged;
  for (unsigned number = 0; number < draft.allocations.size(); ++number) {
    const Allocation &allocation = draft.allocations[number];
    if (!free[number] || !spans[number] || allocation.isHost)
      continue;
    if (allocation.use == MemoryUse::Staging) {
      staged.push_back({allocation.bytes, kBufferAlignment, *spans[number]});
      continue;
    }
    auto bytes = static_cast<int64_t>(llvm::alignTo(allocation.bytes, kBufferAlignment));
    changes[nameOf(allocation.use)][spans[number]->first] += bytes;
    changes[nameOf(allocation.use)][spans[number]->last + 1] -= bytes;
  }
  for (const auto &[name, list] : changes) {
    int64_t now = 0, most = 0;
    for (auto [position, change] : list)
      most = std::max(most, now += change);
    draft.peaks[name] = static_cast<uint64_t>(most);
  }
  if (!staged.empty())
    draft.peaks[nameOf(MemoryUse::Staging)] = allocate(staged).peak;
}

// Decides the addresses of allocations, and returns how many bytes they take together.
uint64_t assignAddresses(ProgramDraft &draft, const std::vector<unsigned> &allocations,
                         const std::vector<std::optional<Span>> &spans) {
  std::vector<AllocationRequest> requests;
  for (unsigned allocation : allocations)
    requests.push_back({draft.allocations[allocation].bytes, kBufferAlignment, *spans[allocation]});
  MemoryLayout layout = allocate(requests);
  for (size_t i = 0; i < allocations.size(); ++i)
    draft.allocations[allocations[i]].fixed = layout.offsets[i];
  return layout.peak;
}

// Decides order and addresses.
void schedule(ProgramDraft &draft, ModulePlan &plan, OffloadSavings &savings) {
  std::vector<char> free = isFree(draft.allocations);
  hoistEarly(draft.instructions);
  prefetchGathers(draft.instructions, draft.gathers, plan.getOptions().prefetch);
  boundReductions(draft.instructions, free, kReductionsInFlight);
  boundCopiesOut(draft.instructions, kCopiesOutInFlight);
  if (!draft.isTransfer)
    draft.events = synchronize(draft.instructions, kStreams);
  for (const DraftInstruction &instruction : draft.instructions)
    plan.needStream(instruction.stream);
  std::vector<std::optional<Span>> spans = liveSpans(draft.instructions, draft.allocations.size());
  measurePeaks(draft, free, spans);
  std::vector<unsigned> ofDevice, ofHost;
  for (unsigned allocation = 0; allocation < draft.allocations.size(); ++allocation)
    if (free[allocation] && spans[allocation])
      (draft.allocations[allocation].isHost ? ofHost : ofDevice).push_back(allocation);
  uint64_t needed = assignAddresses(draft, ofDevice, spans);
  // By positions in the list, or laid out alone, the values of one kind may take more bytes than all values together
  // take, whose layout uses the order of streams.
  for (auto &[kind, bytes] : draft.peaks)
    bytes = std::min(bytes, llvm::alignTo(needed, kBufferAlignment));
  savings.add(draft, spans, ofDevice, ofHost, needed);
  plan.needRegion(RegionKind::Transient, needed);
  plan.needRegion(RegionKind::Residual, assignAddresses(draft, ofHost, spans), /*isHost=*/true);
}

// Writes a scheduled draft as a plan.program.
class ProgramEmitter {
public:
  ProgramEmitter(OpBuilder &builder, Location loc, const ProgramDraft &draft, const EntryMeaning &meaning)
      : builder(builder), loc(loc), draft(draft), meaning(meaning) {}

  void emit() {
    llvm::SmallVector<NamedAttribute> peaks;
    for (const auto &[kind, bytes] : draft.peaks)
      peaks.push_back(builder.getNamedAttr(kind, builder.getI64IntegerAttr(bytes)));
    llvm::SmallVector<int32_t> expressions(meaning.expressions.begin(), meaning.expressions.end());
    auto program = ProgramOp::create(
        builder, loc, draft.name, draft.entry, draft.events,
        peaks.empty() ? DictionaryAttr() : builder.getDictionaryAttr(peaks), meaningAttr(builder, meaning.meaning),
        expressions.empty() ? DenseI32ArrayAttr() : builder.getDenseI32ArrayAttr(expressions));
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&program.getBody());
    for (const PortDraft &port : draft.ports)
      emitPort(port);
    for (const DraftInstruction &instruction : draft.instructions)
      emitInstruction(instruction);
  }

private:
  void emitPort(const PortDraft &port) {
    auto type = cast<RankedTensorType>(port.type);
    RegionKind kind = port.isInput ? RegionKind::Input : RegionKind::Output;
    StringAttr region = port.isAbsent ? StringAttr() : builder.getStringAttr(regionName(kind));
    if (port.isInput)
      InputOp::create(builder, loc, port.name, type, region, port.offset, port.batchDim, port.splitAxes);
    else
      OutputOp::create(builder, loc, port.name, type, region, port.offset, port.batchDim, port.splitAxes);
  }

  Attribute bufferOf(const MemoryAccess &touched) {
    const Allocation &allocation = draft.allocations[touched.allocation];
    Access access = !touched.writes ? Access::Read : touched.reads ? Access::ReadWrite : Access::Write;
    std::string region = allocation.frames ? stageBufferRegionName(allocation.frames, allocation.isHost)
                                           : regionName(allocation.kind, allocation.isHost);
    return BufferAttr::get(
        builder.getContext(), builder.getStringAttr(region), *allocation.fixed + touched.offset, touched.bytes, access,
        touched.share ? draft.groups[touched.share.group - 1] : FlatSymbolRefAttr(), touched.share.stride, /*frame=*/0);
  }

  void emitInstruction(const DraftInstruction &instruction) {
    if (instruction.kind == InstructionKind::Record)
      return (void)RecordOp::create(builder, loc, instruction.event, kStreamNames[instruction.stream]);
    if (instruction.kind == InstructionKind::Wait)
      return (void)WaitOp::create(builder, loc, instruction.event, kStreamNames[instruction.stream]);
    const InstructionPayload &payload = draft.payloads[instruction.payload];
    OperationState state(loc, ("plan." + payload.mnemonic));
    state.attributes = payload.fields;
    const InstructionDef &def = *findInstruction(payload.mnemonic);
    llvm::SmallVector<Attribute> buffers;
    for (const MemoryAccess &touched : instruction.uses)
      buffers.push_back(bufferOf(touched));
    if (def.anyBuffers)
      state.addAttribute(def.buffers.back(), builder.getArrayAttr(buffers));
    else
      for (auto [name, buffer] : llvm::zip(def.buffers, buffers))
        state.addAttribute(name, buffer);
    state.addAttribute("stream", builder.getStringAttr(kStreamNames[instruction.stream]));
    if (!payload.note.empty())
      state.addAttribute("note", builder.getStringAttr(payload.note));
    if (payload.reason)
      state.addAttribute("reason", payload.reason);
    builder.create(state);
  }

  OpBuilder &builder;
  Location loc;
  const ProgramDraft &draft;
  const EntryMeaning &meaning;
};

struct BuildPlan : impl::BuildPlanBase<BuildPlan> {
  using BuildPlanBase::BuildPlanBase;
  explicit BuildPlan(const PlanningOptions &planning) : planning(planning) {
    target = planning.target;
    threads = planning.threads;
    snapshot = planning.snapshot;
    forwardPrefetch = planning.prefetch.forward;
    backwardPrefetch = planning.prefetch.backward;
    gathersInFlight = planning.prefetch.inFlight;
  }

  void runOnOperation() override {
    planning.target = target;
    planning.threads = threads;
    planning.prefetch = {forwardPrefetch, backwardPrefetch, gathersInFlight};
    if (gathersInFlight == 0) {
      getOperation().emitError("expected at least one gather in flight; got: 0");
      return signalPassFailure();
    }
    if (failed(checkAttributes(getOperation(), Level::Programs)))
      return signalPassFailure();
    // Further kinds come first, because the first kind's module contains them.
    std::vector<Kind> kinds;
    for (ModuleOp kind : getOperation().getOps<ModuleOp>())
      kinds.emplace_back(kind, planning);
    kinds.emplace_back(getOperation(), planning);
    for (Kind &kind : kinds)
      if (failed(checkCalls(kind.module)) || failed(draft(kind)))
        return signalPassFailure();
    if (failed(draftInits(kinds)) || failed(state(kinds)))
      return signalPassFailure();
    explainSavings(kinds);
    for (unsigned stream = 0; stream < kStreams; ++stream) // with the same numbers on all kinds
      if (llvm::any_of(kinds, [&](const Kind &kind) { return kind.plan->hasStream(stream); }))
        for (Kind &kind : kinds)
          kind.plan->needStream(stream);
    for (Kind &kind : kinds)
      emit(kind);
    Block &body = *getOperation().getBody(); // further kinds come after its tables and programs
    for (ModuleOp kind : llvm::to_vector(getOperation().getOps<ModuleOp>()))
      kind->moveBefore(&body, body.end());
  }

  // The plan of one kind of ranks, while it is built.
  struct Kind {
    Kind(ModuleOp module, const PlanningOptions &planning)
        : module(module), plan(std::make_unique<ModulePlan>(module, planning)) {}
    ModuleOp module;
    std::unique_ptr<ModulePlan> plan;
    std::vector<std::pair<Location, ProgramDraft>> drafts;
    std::map<std::string, EntryMeaning> meanings; // by program
    OffloadSavings savings;
  };

  // Tells a user of --offload that it saves nothing, which would otherwise show only in a comparison of memory reports.
  void explainSavings(const std::vector<Kind> &kinds) {
    uint64_t stored = 0;
    for (const Kind &kind : kinds)
      stored = std::max(stored, kind.savings.getStored());
    bool saveNothing = llvm::all_of(
        kinds, [](const Kind &kind) { return kind.savings.getStored() == 0 || kind.savings.saveNothing(); });
    if (stored != 0 && saveNothing)
      getOperation().emitRemark("--offload activations stores ")
          << rt::exactBytesText(stored) << " in host memory, but saves no device memory: at the peak, these values "
          << "are in use or not yet computed; leave activations out";
  }

  // Decides order and addresses. Functions stay as they are.
  LogicalResult draft(Kind &kind) {
    if (failed(kind.plan->layOutStates()))
      return failure();
    for (func::FuncOp function : kind.module.getOps<func::FuncOp>())
      if (failed(keep(kind, function.getLoc(), DraftBuilder(*kind.plan, function).build())))
        return failure();
    return success();
  }

  static LogicalResult keep(Kind &kind, Location loc, FailureOr<ProgramDraft> draft) {
    if (failed(draft))
      return failure();
    schedule(*draft, *kind.plan, kind.savings);
    kind.drafts.emplace_back(loc, std::move(*draft));
    return success();
  }

  static bool hasPacked(const std::vector<Kind> &kinds) {
    return llvm::any_of(kinds, [](const Kind &kind) { return !kind.plan->getPackedStates().empty(); });
  }

  // Either all kinds have the program, or none.
  LogicalResult draftInits(std::vector<Kind> &kinds) {
    if (hasPacked(kinds))
      for (Kind &kind : kinds)
        if (failed(keep(kind, kind.module.getLoc(), draftInit(*kind.plan, kind.module.getLoc()))))
          return failure();
    return success();
  }

  // Computes what the programs mean. `verify-plan` compares this with the plan.
  LogicalResult state(std::vector<Kind> &kinds) {
    std::vector<std::pair<ModuleOp, ModulePlan *>> modules;
    for (Kind &kind : kinds)
      modules.emplace_back(kind.module, kind.plan.get());
    auto meanings = meaningOfValues(modules);
    if (failed(meanings))
      return failure();
    for (auto [kind, ofKind] : llvm::zip_equal(kinds, *meanings)) {
      kind.meanings = std::move(ofKind);
      if (hasPacked(kinds))
        kind.meanings["init"] = meaningOfInit(kind.module, *kind.plan);
    }
    return success();
  }

  void emit(Kind &kind) {
    eraseOtherDialects(kind.module);
    OpBuilder builder = OpBuilder::atBlockEnd(kind.module.getBody());
    for (const auto &[loc, draft] : kind.drafts)
      ProgramEmitter(builder, loc, draft, kind.meanings[draft.name]).emit();
    if (snapshot)
      emitSnapshot(builder, kind.module, *kind.plan);
    kind.plan->emitTables();
    eraseAttributes(kind.module);
  }

  static void eraseOtherDialects(ModuleOp module) {
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (!isa<PlanDialect>(op.getDialect()) && !isa<ModuleOp>(op))
        op.erase();
  }
  // Erases the attributes that the levels above have left on the module.
  static void eraseAttributes(ModuleOp module) {
    llvm::SmallVector<StringAttr> names;
    for (NamedAttribute attribute : module->getDiscardableAttrs())
      if (attribute.getName().getValue().starts_with("cleave."))
        names.push_back(attribute.getName());
    for (StringAttr name : names)
      module->removeDiscardableAttr(name);
  }

  PlanningOptions planning;
};

} // namespace

std::unique_ptr<Pass> createBuildPlanWith(const PlanningOptions &options) {
  return std::make_unique<BuildPlan>(options);
}

} // namespace cleave::plan

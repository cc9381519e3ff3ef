#include "compiler/Planning/BuildPlan.h"
#include "compiler/Planning/Allocator.h"
#include "compiler/Planning/DraftBuilder.h"
#include "compiler/Planning/InitProgram.h"
#include "compiler/Planning/Passes.h"
#include "compiler/Planning/Schedule.h"
#include "compiler/Planning/Snapshot.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_BUILDPLAN
#include "compiler/Planning/Passes.h.inc"

namespace {

// One unreduced buffer is filled while another is reduced.
constexpr unsigned kReductionsInFlight = 2;

std::vector<char> isFree(const RootTable &roots) {
  std::vector<char> result(roots.size(), 0);
  for (unsigned root = 0; root < roots.size(); ++root)
    result[root] = !roots[root].fixed && !roots[root].mergedInto;
  return result;
}

// The most bytes that the roots of each kind have in use at the same time.
void measurePeaks(ProgramDraft &draft, const std::vector<char> &free, const std::vector<std::optional<Span>> &spans) {
  std::vector<const char *> kind(draft.roots.size(), "activation");
  for (unsigned root : draft.unreduced)
    kind[root] = "unreduced";
  for (unsigned root : draft.gathered)
    kind[root] = "gathered";
  std::map<std::string, std::map<size_t, int64_t>> changes; // kind -> position -> bytes that come or go
  for (unsigned root = 0; root < draft.roots.size(); ++root)
    if (free[root] && spans[root]) {
      auto bytes = static_cast<int64_t>(llvm::alignTo(draft.roots[root].bytes, kBufferAlignment));
      changes[kind[root]][spans[root]->first] += bytes;
      changes[kind[root]][spans[root]->last + 1] -= bytes;
    }
  for (const auto &[name, list] : changes) {
    int64_t now = 0, most = 0;
    for (auto [position, change] : list)
      most = std::max(most, now += change);
    draft.peaks[name] = static_cast<uint64_t>(most);
  }
}

// Decides order and addresses, and returns the bytes of transient memory that this takes.
uint64_t schedule(ProgramDraft &draft, const PrefetchOptions &prefetch) {
  std::vector<char> free = isFree(draft.roots);
  hoistSteps(draft.steps);
  prefetchGathers(draft.steps, draft.gathers, prefetch);
  boundReductions(draft.steps, free, kReductionsInFlight);
  draft.events = synchronize(draft.steps, kStreams);
  std::vector<std::optional<Span>> spans = liveSpans(draft.steps, draft.roots.size());
  measurePeaks(draft, free, spans);
  std::vector<AllocationRequest> requests;
  std::vector<unsigned> requested;
  for (unsigned root = 0; root < draft.roots.size(); ++root)
    if (free[root] && spans[root]) {
      requests.push_back({draft.roots[root].bytes, kBufferAlignment, *spans[root]});
      requested.push_back(root);
    }
  Allocation allocation = allocate(requests);
  for (size_t i = 0; i < requested.size(); ++i)
    draft.roots[requested[i]].fixed = allocation.offsets[i];
  return allocation.peak;
}

// Writes a scheduled draft as a plan.program.
class ProgramEmitter {
public:
  ProgramEmitter(OpBuilder &builder, Location loc, const ProgramDraft &draft)
      : builder(builder), loc(loc), draft(draft) {}

  void emit() {
    llvm::SmallVector<NamedAttribute> peaks;
    for (const auto &[kind, bytes] : draft.peaks)
      peaks.push_back(builder.getNamedAttr(kind, builder.getI64IntegerAttr(bytes)));
    auto program = ProgramOp::create(builder, loc, draft.name, draft.entry, draft.events,
                                     peaks.empty() ? DictionaryAttr() : builder.getDictionaryAttr(peaks));
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&program.getBody());
    for (const PortDraft &port : draft.ports)
      emitPort(port);
    for (const Step &step : draft.steps)
      emitStep(step);
  }

private:
  void emitPort(const PortDraft &port) {
    auto type = cast<RankedTensorType>(port.type);
    StringRef region = regionName(port.isInput ? RegionKind::Input : RegionKind::Output);
    if (port.isInput)
      InputOp::create(builder, loc, port.name, type, region, port.offset, port.batchDim, port.splitAxes);
    else
      OutputOp::create(builder, loc, port.name, type, region, port.offset, port.batchDim, port.splitAxes);
  }

  Attribute bufferOf(const RootUse &touched) {
    const Root &root = draft.roots[touched.root];
    Access access = !touched.writes ? Access::Read : touched.reads ? Access::ReadWrite : Access::Write;
    return BufferAttr::get(
        builder.getContext(), builder.getStringAttr(regionName(root.kind)), *root.fixed + touched.offset, touched.bytes,
        access, touched.share ? draft.groups[touched.share.group - 1] : FlatSymbolRefAttr(), touched.share.stride);
  }

  void emitStep(const Step &step) {
    if (step.kind == StepKind::Record)
      return (void)RecordOp::create(builder, loc, step.event, kStreamNames[step.stream], StringAttr());
    if (step.kind == StepKind::Wait)
      return (void)WaitOp::create(builder, loc, step.event, kStreamNames[step.stream], StringAttr());
    const InstructionDraft &instruction = draft.instructions[step.payload];
    OperationState state(loc, ("plan." + instruction.mnemonic));
    state.attributes = instruction.fields;
    const InstructionDef &def = *findInstruction(instruction.mnemonic);
    llvm::SmallVector<Attribute> buffers;
    for (const RootUse &touched : step.uses)
      buffers.push_back(bufferOf(touched));
    if (def.anyBuffers)
      state.addAttribute(def.buffers.back(), builder.getArrayAttr(buffers));
    else
      for (auto [name, buffer] : llvm::zip(def.buffers, buffers))
        state.addAttribute(name, buffer);
    state.addAttribute("stream", builder.getStringAttr(kStreamNames[step.stream]));
    if (!instruction.note.empty())
      state.addAttribute("note", builder.getStringAttr(instruction.note));
    builder.create(state);
  }

  OpBuilder &builder;
  Location loc;
  const ProgramDraft &draft;
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
    // Modules of further kinds first: the first kind's module holds them.
    for (ModuleOp kind : getOperation().getOps<ModuleOp>())
      if (failed(build(kind)))
        return signalPassFailure();
    if (failed(build(getOperation())))
      signalPassFailure();
    Block &body = *getOperation().getBody(); // and behind its own tables and programs
    for (ModuleOp kind : llvm::to_vector(getOperation().getOps<ModuleOp>()))
      kind->moveBefore(&body, body.end());
  }

  LogicalResult build(ModuleOp module) {
    ModulePlan plan(module, planning);
    if (failed(plan.layOutStates()))
      return failure();
    std::vector<std::pair<Location, ProgramDraft>> drafts;
    for (func::FuncOp function : module.getOps<func::FuncOp>()) {
      FailureOr<ProgramDraft> draft = DraftBuilder(plan, function).build();
      if (failed(draft))
        return failure();
      plan.needRegion(RegionKind::Transient, schedule(*draft, planning.prefetch));
      drafts.emplace_back(function.getLoc(), std::move(*draft));
    }
    if (!plan.getPackedStates().empty()) {
      FailureOr<ProgramDraft> init = draftInit(plan, module.getLoc());
      if (failed(init))
        return failure();
      plan.needRegion(RegionKind::Transient, schedule(*init, planning.prefetch));
      drafts.emplace_back(module.getLoc(), std::move(*init));
    }
    eraseOtherDialects(module);
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    for (const auto &[loc, draft] : drafts)
      ProgramEmitter(builder, loc, draft).emit();
    if (snapshot)
      emitSnapshot(builder, module, plan);
    plan.emitTables();
    eraseAttributes(module);
    return success();
  }

  static void eraseOtherDialects(ModuleOp module) {
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (!isa<PlanDialect>(op.getDialect()) && !isa<ModuleOp>(op))
        op.erase();
  }
  // What the levels above left on the module.
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

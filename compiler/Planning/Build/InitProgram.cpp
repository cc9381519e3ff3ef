#include "compiler/Planning/Build/InitProgram.h"

using namespace mlir;

namespace cleave::plan {

namespace {

class InitDrafter {
public:
  InitDrafter(ModulePlan &plan, Location loc) : plan(plan), loc(loc) {
    draft.name = "init";
    draft.entry = true;
    scratchRoot = draft.roots.add(RegionKind::Workspace, 0, /*fixed=*/0);
  }

  LogicalResult add(StringRef name) {
    const PackedState &packed = plan.getPackedStates().find(name)->second;
    ModulePlan::StatePlace state = *plan.findState(name);
    FailureOr<ModulePlan::LibraryKernel> kernel = plan.packKernel(packed, state.bytes, loc);
    if (failed(kernel))
      return failure();
    uint64_t scratch = kernel->scratch.value_or(0);
    plan.needRegion(RegionKind::Workspace, std::max<uint64_t>(scratch, 1)); // it must exist
    unsigned root = draft.roots.add(RegionKind::Persistent, state.bytes, state.offset, state.isHost);
    // What the host stores comes to the device to be rewritten.
    unsigned device = state.isHost ? draft.roots.add(RegionKind::Transient, state.bytes) : root;
    if (state.isHost)
      addCopy(device, root, state.bytes);
    NamedAttrList fields;
    fields.set("kernel", kernel->symbol);
    addStep({"launch", std::move(fields), name.str()},
            {{device, 0, state.bytes, true, true, false}, {scratchRoot, 0, scratch, false, true, true}});
    if (state.isHost)
      addCopy(root, device, state.bytes).isCopyOut = true;
    return success();
  }

  ProgramDraft take() { return std::move(draft); }

private:
  Step &addStep(InstructionDraft instruction, std::vector<RootUse> uses) {
    draft.instructions.push_back(std::move(instruction));
    Step step;
    step.uses = std::move(uses);
    step.payload = draft.instructions.size() - 1;
    draft.steps.push_back(std::move(step));
    return draft.steps.back();
  }

  Step &addCopy(unsigned target, unsigned source, uint64_t bytes) {
    Step &step = addStep({"copy", {}, ""}, {{target, 0, bytes, false, true}, {source, 0, bytes, true, false}});
    step.stream = kCopyStream;
    plan.needStream(kCopyStream);
    return step;
  }

  ModulePlan &plan;
  Location loc;
  ProgramDraft draft;
  unsigned scratchRoot = 0;
};

} // namespace

FailureOr<ProgramDraft> draftInit(ModulePlan &plan, Location loc) {
  // By address, so that a plan does not depend on how names hash.
  std::map<std::pair<bool, uint64_t>, StringRef> ordered;
  for (const auto &entry : plan.getPackedStates()) {
    ModulePlan::StatePlace place = *plan.findState(entry.getKey());
    ordered[{place.isHost, place.offset}] = entry.getKey();
  }
  InitDrafter init(plan, loc);
  for (const auto &[place, name] : ordered)
    if (failed(init.add(name)))
      return failure();
  return init.take();
}

} // namespace cleave::plan

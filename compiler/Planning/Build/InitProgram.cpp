#include "compiler/Planning/Build/InitProgram.h"
#include "compiler/Planning/Draft/Issue.h"

using namespace mlir;

namespace cleave::plan {

namespace {

class InitDrafter {
public:
  InitDrafter(ModulePlan &plan, Location loc) : plan(plan), loc(loc) {
    draft.name = "init";
    draft.entry = true;
    scratchAllocation = draft.allocations.add(RegionKind::Workspace, 0, /*fixed=*/0);
  }

  LogicalResult add(StringRef name) {
    const PackedState &packed = plan.getPackedStates().find(name)->second;
    ModulePlan::StateAddress state = *plan.findState(name);
    FailureOr<ModulePlan::LibraryKernel> kernel = plan.packKernel(packed, state.bytes, loc);
    if (failed(kernel))
      return failure();
    uint64_t scratch = kernel->scratch.value_or(0);
    plan.needRegion(RegionKind::Workspace, std::max<uint64_t>(scratch, 1)); // the region must exist
    unsigned allocation = draft.allocations.add(RegionKind::Persistent, state.bytes, state.offset, state.isHost);
    // A state in host memory is copied to the device to be packed.
    unsigned device = state.isHost ? draft.allocations.add(RegionKind::Transient, state.bytes) : allocation;
    if (state.isHost)
      addCopy(device, allocation, state.bytes, Purpose::CopyIn);
    NamedAttrList fields;
    fields.set("kernel", kernel->symbol);
    addInstruction({"launch", std::move(fields), name.str()},
                   {{device, 0, state.bytes, true, true, false}, {scratchAllocation, 0, scratch, false, true, true}});
    if (state.isHost)
      addCopy(allocation, device, state.bytes, Purpose::CopyOut);
    return success();
  }

  ProgramDraft take() {
    issue(draft.instructions, draft.gathers);
    return std::move(draft);
  }

private:
  void addInstruction(InstructionPayload payload, std::vector<MemoryAccess> uses, Purpose purpose = Purpose::Compute) {
    draft.payloads.push_back(std::move(payload));
    DraftInstruction instruction;
    instruction.purpose = purpose;
    instruction.uses = std::move(uses);
    instruction.payload = draft.payloads.size() - 1;
    draft.instructions.push_back(std::move(instruction));
  }

  void addCopy(unsigned target, unsigned source, uint64_t bytes, Purpose purpose) {
    addInstruction({"copy", {}, ""}, {{target, 0, bytes, false, true}, {source, 0, bytes, true, false}}, purpose);
  }

  ModulePlan &plan;
  Location loc;
  ProgramDraft draft;
  unsigned scratchAllocation = 0;
};

} // namespace

FailureOr<ProgramDraft> draftInit(ModulePlan &plan, Location loc) {
  // Ordered by address, so that a plan does not depend on how names hash.
  std::map<std::pair<bool, uint64_t>, StringRef> ordered;
  for (const auto &entry : plan.getPackedStates()) {
    ModulePlan::StateAddress address = *plan.findState(entry.getKey());
    ordered[{address.isHost, address.offset}] = entry.getKey();
  }
  InitDrafter init(plan, loc);
  for (const auto &[address, name] : ordered)
    if (failed(init.add(name)))
      return failure();
  return init.take();
}

} // namespace cleave::plan

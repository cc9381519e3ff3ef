#include "compiler/Planning/InitProgram.h"

using namespace mlir;

namespace cleave::plan {

FailureOr<ProgramDraft> draftInit(ModulePlan &plan, Location loc) {
  ProgramDraft draft;
  draft.name = "init";
  draft.entry = true;
  // By address, so that a plan does not depend on how names hash.
  std::map<uint64_t, StringRef> ordered;
  for (const auto &entry : plan.getPackedStates())
    ordered[plan.findState(entry.getKey())->offset] = entry.getKey();
  unsigned scratchRoot = draft.roots.add(RegionKind::Workspace, 0, /*fixed=*/0);
  for (const auto &[offset, name] : ordered) {
    const PackedState &state = plan.getPackedStates().find(name)->second;
    uint64_t bytes = plan.findState(name)->bytes;
    FailureOr<ModulePlan::LibraryKernel> kernel = plan.packKernel(state, bytes, loc);
    if (failed(kernel))
      return failure();
    uint64_t scratch = kernel->scratch.value_or(0);
    plan.needRegion(RegionKind::Workspace, std::max<uint64_t>(scratch, 1)); // it must exist
    unsigned root = draft.roots.add(RegionKind::Persistent, bytes, offset);
    NamedAttrList fields;
    fields.set("kernel", kernel->symbol);
    draft.instructions.push_back({"launch", std::move(fields), name.str()});
    Step step;
    step.uses = {{root, 0, bytes, true, true, false}, {scratchRoot, 0, scratch, false, true, true}};
    step.payload = draft.instructions.size() - 1;
    draft.steps.push_back(std::move(step));
  }
  return draft;
}

} // namespace cleave::plan

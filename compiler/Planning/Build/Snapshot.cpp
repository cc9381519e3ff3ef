#include "compiler/Planning/Build/Snapshot.h"

#include "compiler/Planning/Verify/Model/ValueMeaning.h"
#include "runtime/plan/SavedState.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cleave::plan {

bool isSaved(StateOp state) {
  bool isPartial = state.getPartialAxes() && !state.getPartialAxes()->empty();
  bool hasSlot = state.getSlot() && !state.getSlot()->empty();
  return rt::isSaved(static_cast<rt::fb::Role>(state.getRole()), isPartial, hasSlot);
}

void emitSnapshot(OpBuilder &builder, ModuleOp module, ModulePlan &plan) {
  Location loc = module.getLoc();
  DictionaryAttr meaning = meaningAttr(builder, meaningOfNothing()); // it changes no state
  auto program = ProgramOp::create(builder, loc, "snapshot", /*entry=*/true, /*events=*/0, /*peaks=*/DictionaryAttr(),
                                   meaning, /*expressions=*/DenseI32ArrayAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&program.getBody());
  MLIRContext *context = builder.getContext();
  uint64_t ends[2] = {0, 0}; // of the copies on the device; of those on the host, of states that are there
  for (auto state : module.getOps<StateOp>()) {
    auto place = plan.findState(state.getSymName());
    if (!isSaved(state) || place->bytes == 0)
      continue;
    uint64_t &end = ends[place->isHost];
    auto buffer = [&](RegionKind kind, uint64_t offset, Access access) {
      return BufferAttr::get(context, builder.getStringAttr(regionName(kind, place->isHost)), offset, place->bytes,
                             access,
                             /*group=*/FlatSymbolRefAttr(), /*stride=*/0, /*frame=*/0);
    };
    OperationState copy(loc, CopyOp::getOperationName());
    copy.addAttribute("target", buffer(RegionKind::Snapshot, end, Access::Write));
    copy.addAttribute("source", buffer(RegionKind::Persistent, place->offset, Access::Read));
    copy.addAttribute("stream", builder.getStringAttr("compute"));
    copy.addAttribute("note", builder.getStringAttr(state.getSymName()));
    builder.create(copy);
    end = llvm::alignTo(end + place->bytes, kBufferAlignment);
  }
  plan.needRegion(RegionKind::Snapshot, ends[0]);
  plan.needRegion(RegionKind::Snapshot, ends[1], /*isHost=*/true);
}

} // namespace cleave::plan

#include "runtime/plan/Snapshot.h"

#include "runtime/plan/InstructionView.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

// Each rank has other bytes of a share, and a buffer gives only the position of the first rank's.
static bool isSameOnAllRanks(const fb::Buffer &buffer) { return buffer.share_of() == 0; }

const fb::Buffer *snapshotOf(const fb::Plan &plan, const fb::Program &snapshot, const fb::State &state) {
  uint64_t bytes = stateShardBytes(plan, state);
  for (size_t i = 0; i < lengthOf(snapshot.instructions()); ++i) {
    InstructionView view(*snapshot.instructions()->Get(i));
    if (view.opcode() != Opcode::Copy)
      continue;
    const fb::Buffer &target = view.buffer(0), &source = view.buffer(1);
    bool isState = source.region() == state.region() && source.offset() == state.offset() && source.bytes() == bytes;
    if (isState && isSameOnAllRanks(source) && isSameOnAllRanks(target) &&
        plan.regions()->Get(target.region())->kind() == fb::RegionKind::snapshot)
      return &target;
  }
  return nullptr;
}

} // namespace cleave::rt

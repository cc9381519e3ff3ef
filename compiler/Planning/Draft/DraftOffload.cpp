// DraftBuilder's host memory: where values that are stored there come to the device, and go back.
//
// A value's place may be in host memory: what is read from an offloaded state, what `offload-values` stores there, and
// views of both. An op that works on it is given a copy of just the bytes that it uses, in a root of its own; all that
// one op is given is one unit of prefetch (Prefetch.h). What is written to a host state, or offloaded, is copied out
// right behind the step that makes it.
//
//   %m = cleave.read @w.momentum                 place: host.persistent
//   %n, %v = cleave.kernel(%m, %g, %w)           fetch: copy t0 <- host.persistent; launch t0=rw ...
//   cleave.write %n, @w.momentum                 copy host.persistent <- t0
//
// Copies are used again only while they are among the last few (`copies`): the device holds no more of the host's
// memory than is in flight, whatever a program uses.
#include "compiler/Planning/Build/StagePrograms.h"
#include "compiler/Planning/Draft/DraftBuilder.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave::plan {

FailureOr<Place> DraftBuilder::devicePlaceOf(Value value, Operation *op) {
  FailureOr<Place> place = placeOf(value);
  if (failed(place) || !draft.roots.isHost(*place))
    return place;
  return fetch(op, *place, bytesOf(value.getType()));
}

Place DraftBuilder::fetch(Operation *op, Place from, uint64_t bytes) {
  uint64_t window = std::max(2u, plan.getOptions().prefetch.inFlight) - 1;
  for (const DeviceCopy &copy : llvm::reverse(copies))
    if (transfers - copy.number < window && copy.host.root == from.root && copy.host.share == from.share &&
        copy.host.offset <= from.offset && from.offset + bytes <= copy.host.offset + copy.bytes) {
      Place known = draft.roots.resolve(copy.device);
      known.offset += from.offset - copy.host.offset;
      return known;
    }
  unsigned number = fetchNumber(op);
  Place device = addFresh(bytes);
  Step &step = addCopy(op, device, from, bytes);
  step.gather = number;
  draft.staged.push_back(device.root);
  copies.push_back({from, device, bytes, transfers});
  return device;
}

unsigned DraftBuilder::fetchNumber(Operation *op) {
  if (fetchingFor != op) {
    draft.gathers.push_back({op->hasAttr("cleave.backward"), /*isCopy=*/true});
    ++transfers;
    fetchingFor = op;
  }
  return draft.gathers.size() - 1;
}

LogicalResult DraftBuilder::visitOffload(OffloadOp op) {
  FailureOr<Place> place = placeOf(op.getOperand());
  if (failed(place))
    return failure();
  if (draft.roots.isHost(*place)) {
    put(op.getResult(), *place);
    return success();
  }
  uint64_t bytes = bytesOf(op.getOperand().getType());
  std::vector<Place> slots = hostSlotsOf(op);
  if (slots.empty())
    slots.push_back({draft.roots.add(RegionKind::Residual, bytes, std::nullopt, /*isHost=*/true), 0});
  Place host = slots.front();
  put(op.getResult(), host);
  bool isEarly = isMadeEarly(*place);
  for (Place slot : slots)
    addCopy(op, slot, *place, bytes);
  if (isEarly)
    return success();
  ++transfers;
  fetchingFor = nullptr;
  copies.push_back({host, *place, bytes, transfers});
  return success();
}

// Where it is left for other bodies, in host memory: as it is, or another view of all its bytes.
std::vector<Place> DraftBuilder::hostSlotsOf(OffloadOp op) {
  std::vector<Place> slots;
  for (OpOperand &returned : function.getBody().front().getTerminator()->getOpOperands()) {
    Value value = returned.get();
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getOperand();
    if (value == op.getResult() && function.getResultAttr(returned.getOperandNumber(), kSlotHostAttr))
      slots.push_back(slotPlace(function.getResultAttrDict(returned.getOperandNumber()), returned.get().getType()));
  }
  return slots;
}

// Whether what made the value moves up (a reduction), its copy out with it. What uses the value does not: were it given
// the device's bytes, these would be held until then.
bool DraftBuilder::isMadeEarly(Place place) const {
  for (const Step &step : llvm::reverse(draft.steps))
    for (const RootUse &touched : step.uses)
      if (touched.writes && draft.roots.resolve({touched.root, 0, {}}).root == place.root)
        return step.early;
  return false;
}

// Bytes at `changed` become something else: on the device, or of the state that lies there.
void DraftBuilder::forgetCopies(Place changed) {
  unsigned root = draft.roots.resolve(changed).root;
  llvm::erase_if(copies, [&](const DeviceCopy &copy) {
    return copy.host.root == root || draft.roots.resolve(copy.device).root == root;
  });
}

// A value that was used again before it left the device was stored for nothing.
void DraftBuilder::dropUnreadCopies() {
  llvm::DenseSet<unsigned> read;
  for (const Step &step : draft.steps)
    for (const RootUse &touched : step.uses)
      if (touched.reads)
        read.insert(touched.root);
  llvm::erase_if(draft.steps, [&](const Step &step) {
    return step.isCopyOut && !draft.roots[step.uses.front().root].fixed && !read.contains(step.uses.front().root);
  });
}

} // namespace cleave::plan

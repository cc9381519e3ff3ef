// Part of DraftBuilder: host memory. Decides where values that are stored there come to the device, and go back.
//
// A value's address may be in host memory. This holds for values read from an offloaded state, for values that
// `offload-values` stores there, and for views of both. An op that works on such a value gets a copy of just the bytes
// that it uses, in an allocation of its own. All copies that one op gets are one unit of prefetch (Prefetch.h). A value
// that is written to a host state, or is offloaded, is copied out directly after the instruction that makes it.
//
//   %m = cleave.read @w.momentum                 address: host.persistent
//   %n, %v = cleave.kernel(%m, %g, %w)           fetch: copy t0 <- host.persistent; launch t0=rw ...
//   cleave.write %n, @w.momentum                 copy host.persistent <- t0
//
// A copy is used again only while it is among the last few (`copies`). So the device holds no more of the host's memory
// than is in flight, however much a program uses.
#include "compiler/Planning/Build/StagePrograms.h"
#include "compiler/Planning/Build/DraftBuilder.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave::plan {

FailureOr<Address> DraftBuilder::deviceAddressOf(Value value, Operation *op) {
  FailureOr<Address> address = addressOf(value);
  if (failed(address) || !draft.allocations.isHost(*address))
    return address;
  return fetch(op, *address, bytesOf(value.getType()));
}

Address DraftBuilder::fetch(Operation *op, Address from, uint64_t bytes) {
  uint64_t window = std::max(2u, plan.getOptions().prefetch.inFlight) - 1;
  for (const DeviceCopy &copy : llvm::reverse(copies))
    if (transfers - copy.number < window && copy.host.allocation == from.allocation && copy.host.share == from.share &&
        copy.host.offset <= from.offset && from.offset + bytes <= copy.host.offset + copy.bytes) {
      Address known = draft.allocations.resolve(copy.device);
      known.offset += from.offset - copy.host.offset;
      return known;
    }
  unsigned number = fetchNumber(op);
  Address device = addFresh(bytes);
  DraftInstruction &instruction = addCopy(op, device, from, bytes);
  instruction.gather = number;
  draft.staged.push_back(device.allocation);
  copies.push_back({from, device, bytes, transfers});
  return device;
}

unsigned DraftBuilder::fetchNumber(Operation *op) {
  if (fetchingFor != op) {
    draft.gathers.push_back({op->hasAttr(kBackwardAttr), /*isCopy=*/true});
    ++transfers;
    fetchingFor = op;
  }
  return draft.gathers.size() - 1;
}

LogicalResult DraftBuilder::visitOffload(OffloadOp op) {
  FailureOr<Address> address = addressOf(op.getOperand());
  if (failed(address))
    return failure();
  if (draft.allocations.isHost(*address)) {
    put(op.getResult(), *address);
    return success();
  }
  uint64_t bytes = bytesOf(op.getOperand().getType());
  std::vector<Address> stageBuffers = hostStageBuffersOf(op);
  if (stageBuffers.empty())
    stageBuffers.push_back({draft.allocations.add(RegionKind::Residual, bytes, std::nullopt, /*isHost=*/true), 0});
  Address host = stageBuffers.front();
  put(op.getResult(), host);
  bool isEarly = isMadeEarly(*address);
  for (Address stageBuffer : stageBuffers)
    addCopy(op, stageBuffer, *address, bytes);
  if (isEarly)
    return success();
  ++transfers;
  fetchingFor = nullptr;
  copies.push_back({host, *address, bytes, transfers});
  return success();
}

// Returns the stage buffers in host memory in which other bodies find the value, as it is or as another view of all its
// bytes.
std::vector<Address> DraftBuilder::hostStageBuffersOf(OffloadOp op) {
  std::vector<Address> stageBuffers;
  for (OpOperand &returned : function.getBody().front().getTerminator()->getOpOperands()) {
    Value value = returned.get();
    while (auto reshape = value.getDefiningOp<ReshapeOp>())
      value = reshape.getOperand();
    if (value == op.getResult() && function.getResultAttr(returned.getOperandNumber(), kStageBufferHostAttr))
      stageBuffers.push_back(
          stageBufferAddress(function.getResultAttrDict(returned.getOperandNumber()), returned.get().getType()));
  }
  return stageBuffers;
}

// True if the instruction that made the value moves up (a reduction), and its copy out with it. The users of the value
// do not move up. If they used the bytes on the device, these would be held until then.
bool DraftBuilder::isMadeEarly(Address address) const {
  for (const DraftInstruction &instruction : llvm::reverse(draft.instructions))
    for (const MemoryAccess &touched : instruction.uses)
      if (touched.writes && draft.allocations.resolve({touched.allocation, 0, {}}).allocation == address.allocation)
        return movesUp(instruction.purpose);
  return false;
}

// Forgets the copies that become stale because the bytes at `changed` change, on the device or in the state there.
void DraftBuilder::forgetCopies(Address changed) {
  unsigned allocation = draft.allocations.resolve(changed).allocation;
  llvm::erase_if(copies, [&](const DeviceCopy &copy) {
    return copy.host.allocation == allocation || draft.allocations.resolve(copy.device).allocation == allocation;
  });
}

// Drops copies out that nobody reads: the value was used again before it left the device.
void DraftBuilder::dropUnreadCopies() {
  llvm::DenseSet<unsigned> read;
  for (const DraftInstruction &instruction : draft.instructions)
    for (const MemoryAccess &touched : instruction.uses)
      if (touched.reads)
        read.insert(touched.allocation);
  llvm::erase_if(draft.instructions, [&](const DraftInstruction &instruction) {
    return instruction.purpose == Purpose::CopyOut && !draft.allocations[instruction.uses.front().allocation].fixed &&
           !read.contains(instruction.uses.front().allocation);
  });
}

} // namespace cleave::plan

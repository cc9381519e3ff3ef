#include "compiler/Planning/Build/ValueAddresses.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace cleave::plan {

ValueAddresses::ValueAddresses(ModulePlan &plan, ProgramDraft &draft, InstructionMaker &maker, Block &block)
    : plan(plan), draft(draft), maker(maker), families(block),
      copies(draft.allocations, std::max(2u, plan.getOptions().prefetch.inFlight) - 1) {}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

unsigned ValueAddresses::stateAllocation(StringRef name) {
  auto [known, isNew] = stateAllocations.try_emplace(name, 0);
  if (isNew) {
    ModulePlan::StateAddress state = *plan.findState(name);
    known->second = draft.allocations.add(RegionKind::Persistent, state.bytes, state.offset, state.isHost);
  }
  return known->second;
}

std::optional<unsigned> ValueAddresses::knownStateAllocation(StringRef name) const {
  auto known = stateAllocations.find(name);
  return known == stateAllocations.end() ? std::nullopt : std::optional<unsigned>(known->second);
}

unsigned ValueAddresses::poolAllocation(RegionKind kind, uint64_t bytes) {
  auto known = poolAllocations.find(kind);
  if (known == poolAllocations.end())
    known = poolAllocations.emplace(kind, draft.allocations.add(kind, bytes, /*fixed=*/0)).first;
  plan.needRegion(kind, std::max<uint64_t>(bytes, 1)); // the region must exist
  return known->second;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

FailureOr<Address> ValueAddresses::find(Value value) {
  auto known = addresses.find(value);
  if (known != addresses.end())
    return draft.allocations.resolve(known->second);
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return emitError(value.getLoc(), "expected a value that is defined before it is used in the planned program");
  FailureOr<Address> address = materialize(constant);
  if (succeeded(address))
    put(value, *address);
  return address;
}

std::optional<unsigned> ValueAddresses::allocationOf(Value value) const {
  auto known = addresses.find(value);
  if (known == addresses.end())
    return std::nullopt;
  return draft.allocations.resolve(known->second).allocation;
}

FailureOr<Address> ValueAddresses::materialize(ConstantOp constant) {
  auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!value)
    return constant.emitOpError("expected a dense constant outside of kernels");
  if (value.isSplat()) {
    Address address = addFresh(bytesOf(value.getType()));
    maker.addFill(constant, address, value);
    return address;
  }
  FailureOr<ModulePlan::StateAddress> state = plan.addConstant(value, constant.getLoc());
  if (failed(state))
    return failure();
  return Address{draft.allocations.add(RegionKind::Persistent, state->bytes, state->offset), 0};
}

FailureOr<Address> ValueAddresses::findOnDevice(Value value, Operation *op) {
  FailureOr<Address> address = find(value);
  if (failed(address) || !draft.allocations.isHost(*address))
    return address;
  return fetch(op, *address, bytesOf(value.getType()));
}

Address ValueAddresses::fetch(Operation *op, Address from, uint64_t bytes) {
  if (std::optional<Address> known = copies.find(from, bytes))
    return *known;
  if (lastFetch.op != op) {
    lastFetch = {op, maker.addCopies(op->hasAttr(kBackwardAttr))};
    copies.beginTransfer();
  }
  Address device = addFresh(bytes);
  maker.addCopy(op, device, from, bytes).gather = lastFetch.gather;
  draft.allocations.noteMemoryUse(device.allocation, MemoryUse::Staging);
  copies.add(from, device, bytes);
  return device;
}

void ValueAddresses::noteStored(Address host, Address device, uint64_t bytes) {
  copies.beginTransfer();
  copies.add(host, device, bytes);
  lastFetch.op = nullptr;
}

//===----------------------------------------------------------------------===//
// Sharing bytes
//===----------------------------------------------------------------------===//

bool ValueAddresses::isLastUseOf(unsigned allocation, Operation *op) const {
  llvm::SmallVector<unsigned> open = {allocation};
  while (!open.empty()) {
    unsigned part = open.pop_back_val();
    llvm::append_range(open, draft.allocations[part].merged);
    auto found = valuesIn.find(part);
    for (Value value : found == valuesIn.end() ? ArrayRef<Value>() : ArrayRef<Value>(found->second))
      if (value.getDefiningOp() != op && families.lastOwnUse(value) > families.position(op) &&
          allocationOf(value) == allocation)
        return false;
  }
  return true;
}

bool ValueAddresses::isReducedPart(Value value) const {
  value = throughReshapes(value);
  while (auto offload = value.getDefiningOp<OffloadOp>())
    value = throughReshapes(offload.getOperand());
  if (!isa_and_nonnull<shard::ReduceScatterOp, shard::AllReduceOp>(value.getDefiningOp()))
    return false;
  auto address = addresses.find(value);
  return address != addresses.end() && draft.allocations.resolve(address->second).share;
}

// Tries the cheapest way first. A splat is filled at the target. A value that is already there stays. A value that has
// a whole allocation of its own is made in the target's bytes, if these are fresh, or if nothing has used them since
// the first use of that allocation. Any other value is copied.
LogicalResult ValueAddresses::moveTo(Value value, Address target, Operation *op, bool isJoined) {
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat() && !draft.allocations.isHost(target)) {
    maker.addFill(op, target, constant);
    return success();
  }
  FailureOr<Address> address = find(value);
  if (failed(address))
    return failure();
  uint64_t bytes = bytesOf(value.getType());
  Address from = draft.allocations.resolve(*address), to = draft.allocations.resolve(target);
  if (from.allocation == to.allocation && from.offset == to.offset && from.share == to.share)
    return success();
  bool free = draft.allocations.isFreshWhole(from, bytes) && from.allocation != to.allocation &&
              draft.allocations.canMerge(from, to);
  if (free && (draft.allocations.isFresh(to) || !draft.allocations.isUsedSince(to.allocation, from.allocation))) {
    draft.allocations.merge(from, to);
    return success();
  }
  // A reduced part is copied where it is reduced, so that the unreduced bytes around it are free soon. A copy into
  // another bucket moves up, so that a bucket that is reduced in place waits only for the copy of its value.
  Purpose purpose = isJoined ? Purpose::Relocate : Purpose::Compute;
  if (isReducedPart(value))
    purpose = Purpose::Reduce;
  bool crossesMemories = draft.allocations.isHost(from) || draft.allocations.isHost(to);
  DraftInstruction &copy = maker.addCopy(op, to, from, bytes, purpose);
  if (auto broadcast = value.getDefiningOp<shard::BroadcastOp>(); broadcast && crossesMemories)
    if (const DraftInstruction *sent = maker.findMaker(broadcast)) // before it, the state differs between ranks
      copy.after.push_back(sent->payload);
  return success();
}

} // namespace cleave::plan

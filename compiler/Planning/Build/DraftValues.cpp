// Part of DraftBuilder: values and instructions, and the addresses of states, constants and pools.
#include "compiler/Planning/Build/DraftBuilder.h"
#include "dialects/Cleave/IR/Messages.h"

using namespace mlir;

namespace cleave::plan {

DraftInstruction &DraftBuilder::addInstruction(Operation *op, StringRef mnemonic, std::vector<MemoryAccess> uses,
                                               NamedAttrList fields) {
  draft.payloads.push_back({mnemonic.str(), std::move(fields), nodeNameOf(op->getLoc())});
  DraftInstruction instruction;
  instruction.uses = std::move(uses);
  instruction.payload = draft.payloads.size() - 1;
  for (const MemoryAccess &touched : instruction.uses)
    draft.allocations.noteUse(touched.allocation, draft.instructions.size());
  draft.instructions.push_back(std::move(instruction));
  return draft.instructions.back();
}

DraftInstruction &DraftBuilder::addCopy(Operation *op, Address target, Address source, uint64_t bytes) {
  DraftInstruction &instruction =
      addInstruction(op, "copy", {use(target, bytes, false, true), use(source, bytes, true, false)});
  bool isOut = draft.allocations.isHost(target);
  if (!isOut && !draft.allocations.isHost(source))
    return instruction;
  instruction.purpose = isOut ? Purpose::CopyOut : Purpose::CopyIn;
  plan.needStream(kCopyStream);
  return instruction;
}

DraftInstruction &DraftBuilder::addFill(Operation *op, Address target, uint64_t bytes, int64_t pattern, int64_t width) {
  NamedAttrList fields;
  fields.set("pattern", builder.getI64IntegerAttr(pattern));
  fields.set("width", builder.getI64IntegerAttr(width));
  return addInstruction(op, "fill", {use(target, bytes, false, true)}, fields);
}

unsigned DraftBuilder::stateAllocation(StringRef name) {
  auto [known, isNew] = stateAllocations.try_emplace(name, 0);
  if (isNew) {
    ModulePlan::StateAddress state = *plan.findState(name);
    known->second = draft.allocations.add(RegionKind::Persistent, state.bytes, state.offset, state.isHost);
  }
  return known->second;
}

unsigned DraftBuilder::poolAllocation(RegionKind kind, uint64_t bytes) {
  auto known = poolAllocations.find(kind);
  if (known == poolAllocations.end())
    known = poolAllocations.emplace(kind, draft.allocations.add(kind, bytes, /*fixed=*/0)).first;
  plan.needRegion(kind, std::max<uint64_t>(bytes, 1)); // the region must exist
  return known->second;
}

FailureOr<Address> DraftBuilder::addressOf(Value value) {
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

uint64_t splatBits(DenseElementsAttr value) {
  if (isa<FloatType>(value.getElementType()))
    return value.getSplatValue<APFloat>().bitcastToAPInt().getZExtValue();
  return value.getSplatValue<APInt>().getZExtValue();
}

void DraftBuilder::fillWith(DenseElementsAttr splat, Address target, Operation *op) {
  addFill(op, target, bytesOf(splat.getType()), static_cast<int64_t>(splatBits(splat)),
          elementBytes(splat.getElementType()));
}

FailureOr<Address> DraftBuilder::materialize(ConstantOp constant) {
  auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!value)
    return constant.emitOpError("expected a dense constant outside of kernels");
  if (value.isSplat()) {
    Address address = addFresh(bytesOf(value.getType()));
    fillWith(value, address, constant);
    return address;
  }
  FailureOr<ModulePlan::StateAddress> state = plan.addConstant(value, constant.getLoc());
  if (failed(state))
    return failure();
  return Address{draft.allocations.add(RegionKind::Persistent, state->bytes, state->offset), 0};
}

} // namespace cleave::plan

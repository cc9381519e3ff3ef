#include "compiler/Planning/Build/InstructionMaker.h"
#include "compiler/Planning/Build/ModulePlan.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Messages.h"
#include "dialects/Plan/IR/Plan.h"
#include "runtime/plan/Opcode.h"

using namespace mlir;

namespace cleave::plan {

// Returns the reason of an exchange. Copies and fills that are made for the same op have none.
static DictionaryAttr reasonFor(StringRef mnemonic, Operation *op) {
  auto opcode = static_cast<rt::Opcode>(findInstruction(mnemonic)->opcode);
  bool isExchange = rt::isCollective(opcode) || rt::isTransfer(opcode);
  return isExchange ? op->getAttrOfType<DictionaryAttr>(kReasonAttr) : DictionaryAttr();
}

DraftInstruction &InstructionMaker::add(Operation *op, StringRef mnemonic, Purpose purpose,
                                        std::vector<MemoryAccess> uses, NamedAttrList fields) {
  draft.payloads.push_back({mnemonic.str(), std::move(fields), nodeNameOf(op->getLoc()), reasonFor(mnemonic, op)});
  DraftInstruction instruction;
  instruction.purpose = purpose;
  instruction.uses = std::move(uses);
  instruction.payload = draft.payloads.size() - 1;
  for (const MemoryAccess &touched : instruction.uses)
    draft.allocations.noteUse(touched.allocation, draft.instructions.size());
  draft.instructions.push_back(std::move(instruction));
  return draft.instructions.back();
}

// A copy between device and host memory runs on the copy stream, whatever it is for. A part that is gathered is copied
// from host memory directly to its place.
static Purpose purposeOfCopy(Purpose onDevice, bool isFromHost, bool isToHost) {
  if (isToHost)
    return Purpose::CopyOut;
  if (isFromHost)
    return onDevice == Purpose::Gather ? Purpose::GatherFromHost : Purpose::CopyIn;
  return onDevice;
}

DraftInstruction &InstructionMaker::addCopy(Operation *op, Address target, Address source, uint64_t bytes,
                                            Purpose purpose) {
  purpose = purposeOfCopy(purpose, draft.allocations.isHost(source), draft.allocations.isHost(target));
  return add(op, "copy", purpose, {accessTo(target, bytes, false, true), accessTo(source, bytes, true, false)});
}

DraftInstruction &InstructionMaker::addFill(Operation *op, Address target, uint64_t bytes, int64_t pattern,
                                            int64_t width, Purpose purpose) {
  NamedAttrList fields;
  fields.set("pattern", builder.getI64IntegerAttr(pattern));
  fields.set("width", builder.getI64IntegerAttr(width));
  return add(op, "fill", purpose, {accessTo(target, bytes, false, true)}, fields);
}

uint64_t splatBits(DenseElementsAttr value) {
  if (isa<FloatType>(value.getElementType()))
    return value.getSplatValue<APFloat>().bitcastToAPInt().getZExtValue();
  return value.getSplatValue<APInt>().getZExtValue();
}

void InstructionMaker::addFill(Operation *op, Address target, DenseElementsAttr splat) {
  addFill(op, target, bytesOf(splat.getType()), static_cast<int64_t>(splatBits(splat)),
          elementBytes(splat.getElementType()));
}

DraftInstruction *InstructionMaker::findMaker(Operation *op) {
  auto found = makers.find(op);
  return found == makers.end() ? nullptr : &draft.instructions[found->second];
}

unsigned InstructionMaker::addGather(bool isBackward, unsigned allocation) {
  draft.gathers.push_back({isBackward});
  gathered.push_back(allocation);
  return draft.gathers.size() - 1;
}

unsigned InstructionMaker::addCopies(bool isBackward) {
  draft.gathers.push_back({isBackward, /*isCopy=*/true});
  gathered.push_back(std::nullopt);
  return draft.gathers.size() - 1;
}

void InstructionMaker::resolveMergedAllocations() {
  for (DraftInstruction &instruction : draft.instructions)
    for (MemoryAccess &touched : instruction.uses) {
      Address address = draft.allocations.resolve({touched.allocation, touched.offset, touched.share});
      touched.allocation = address.allocation;
      touched.offset = address.offset;
      touched.share = address.share;
    }
  for (auto [gather, allocation] : llvm::zip_equal(draft.gathers, gathered))
    if (allocation)
      gather.fillsState =
          draft.allocations[draft.allocations.resolve({*allocation, 0, {}}).allocation].fixed.has_value();
}

} // namespace cleave::plan

#include "compiler/Planning/Build/TransferDrafter.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "dialects/Cleave/IR/Algebra.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave::plan {

LogicalResult TransferDrafter::prepare() {
  return failure(failed(readTransferStream()) || failed(checkStageBuffers()));
}

// Checks what stageBufferAddress and addSharedEvents rely on.
LogicalResult TransferDrafter::checkStageBuffers() {
  llvm::StringSet<> stageBuffers;
  for (bool isResult : {false, true})
    for (unsigned i = 0; i < (isResult ? function.getNumResults() : function.getNumArguments()); ++i) {
      DictionaryAttr port = isResult ? function.getResultAttrDict(i) : function.getArgAttrDict(i);
      auto stageBuffer = port ? port.getAs<StringAttr>(kStageBufferAttr) : StringAttr();
      if (!stageBuffer)
        continue;
      if (!port.contains(kFramesAttr))
        return function->emitOpError("expected ")
               << kFramesAttr << " with " << kStageBufferAttr << "; got: none with " << stageBuffer;
      stageBuffers.insert(stageBuffer.getValue());
    }
  for (StringRef name : {kWaitsAttr, kRecordsAttr})
    if (auto list = function->getAttrOfType<ArrayAttr>(name))
      for (auto entry : list.getAsRange<DictionaryAttr>())
        if (auto stageBuffer = entry.getAs<StringAttr>("stage_buffer"); !stageBuffers.contains(stageBuffer.getValue()))
          return function->emitOpError("expected stage buffers of its arguments and results in ")
                 << name << "; got: " << stageBuffer;
  return success();
}

Address TransferDrafter::stageBufferAddress(DictionaryAttr port, Type type) {
  StringRef stageBuffer = port.getAs<StringAttr>(kStageBufferAttr).getValue();
  int64_t frames = port.getAs<IntegerAttr>(kFramesAttr).getInt();
  uint64_t bytes = bytesOf(type);
  bool isHost = port.contains(kStageBufferHostAttr);
  unsigned allocation = draft.allocations.add(RegionKind::Residual, bytes,
                                              plan.stageBufferOffset(stageBuffer, frames, bytes, isHost), isHost);
  draft.allocations[allocation].frames = frames;
  stageBufferAllocations[stageBuffer] = allocation;
  return {allocation, 0, {}};
}

FailureOr<NamedAttrList> TransferDrafter::transferFields(Operation *op, ArrayRef<int16_t> gridAxes,
                                                         std::optional<ArrayRef<int64_t>> peer, Type type) {
  auto channel = op->getAttrOfType<IntegerAttr>(kChannelAttr);
  if (!plan.getMesh() || gridAxes.size() != 1 || !peer || peer->size() != 1 || !channel)
    return op->emitOpError("expected one axis, the peer's coordinate on it, and cleave.channel");
  StringRef axis = plan.getMesh().getNames()[gridAxes.front()].getValue();
  auto [begin, end] = plan.getKind().getRange(axis);
  if (end - begin != 1)
    return op->emitOpError("expected ranks of one coordinate on axis ")
           << axis << "; got: [" << begin << ", " << end << ")";
  NamedAttrList fields;
  fields.set("axis", builder.getStringAttr(axis));
  fields.set("offset", builder.getI64IntegerAttr(peer->front() - begin));
  fields.set("channel", channel);
  fields.set("dtype", TypeAttr::get(getElementTypeOrSelf(type)));
  fields.set("count", builder.getI64IntegerAttr(cast<RankedTensorType>(type).getNumElements()));
  return fields;
}

LogicalResult TransferDrafter::readTransferStream() {
  auto transfer = function->getAttrOfType<StringAttr>(kTransferAttr);
  if (!transfer)
    return success();
  const auto *name = llvm::find(kStreamNames, transfer.getValue());
  auto stream = static_cast<unsigned>(std::distance(kStreamNames.begin(), name));
  if (stream < kSendStream || stream == kStreams)
    return function->emitOpError("expected ")
           << kTransferAttr << " to name a stream of sends or receives; got: " << transfer;
  transferStream = stream;
  return success();
}

void TransferDrafter::addTransfer(Operation *op, StringRef mnemonic, MemoryAccess use, NamedAttrList fields,
                                  unsigned stream) {
  stream = transferStream.value_or(stream);
  maker.add(op, mnemonic, Purpose::Transfer, {use}, std::move(fields)).stream = stream;
}

LogicalResult TransferDrafter::visit(shard::SendOp op) {
  Type type = op.getInput().getType();
  FailureOr<Address> address = values.findOnDevice(op.getInput(), op);
  FailureOr<NamedAttrList> fields = transferFields(op, op.getGridAxes(), op.getDestination(), type);
  if (failed(address) || failed(fields))
    return failure();
  addTransfer(op, "send", accessTo(*address, bytesOf(type), true, false), *fields, kSendStream);
  return success();
}

LogicalResult TransferDrafter::visit(shard::RecvOp op) {
  Type type = op.getResult().getType();
  FailureOr<NamedAttrList> fields = transferFields(op, op.getGridAxes(), op.getSource(), type);
  if (failed(fields))
    return failure();
  Address address = values.addFresh(bytesOf(type));
  values.put(op.getResult(), address);
  addTransfer(op, "recv", accessTo(address, bytesOf(type), false, true), *fields, kReceiveStream);
  return success();
}

std::vector<Address> TransferDrafter::hostStageBuffersOf(Value value) {
  std::vector<Address> stageBuffers;
  for (OpOperand &returned : function.getBody().front().getTerminator()->getOpOperands()) {
    if (throughReshapes(returned.get()) == value &&
        function.getResultAttr(returned.getOperandNumber(), kStageBufferHostAttr))
      stageBuffers.push_back(
          stageBufferAddress(function.getResultAttrDict(returned.getOperandNumber()), returned.get().getType()));
  }
  return stageBuffers;
}

// An event counts as a write of the stage buffer, so that its users stay on their side of it on any stream.
DraftInstruction TransferDrafter::makeEvent(StringRef mnemonic, DictionaryAttr entry) {
  unsigned allocation = stageBufferAllocations.lookup(entry.getAs<StringAttr>("stage_buffer").getValue());
  NamedAttrList fields;
  fields.set("event",
             plan.event(entry.getAs<StringAttr>("event").getValue(), entry.getAs<IntegerAttr>("frames").getInt()));
  fields.set("frame", entry.get("frame"));
  draft.payloads.push_back({mnemonic.str(), std::move(fields), ""});
  DraftInstruction instruction;
  instruction.purpose = Purpose::Transfer;
  instruction.stream = transferStream.value_or(kComputeStream);
  instruction.uses = {accessTo({allocation, 0, {}}, draft.allocations[allocation].bytes, true, true)};
  instruction.payload = draft.payloads.size() - 1;
  return instruction;
}

// Waits come before everything else, and records directly after the last use.
void TransferDrafter::addSharedEvents() {
  auto entriesOf = [&](StringRef name) {
    auto list = function->getAttrOfType<ArrayAttr>(name);
    return list ? llvm::to_vector(list.getAsRange<DictionaryAttr>()) : SmallVector<DictionaryAttr>();
  };
  std::vector<DraftInstruction> waits;
  for (DictionaryAttr entry : entriesOf(kWaitsAttr))
    waits.push_back(makeEvent("wait", entry));
  draft.instructions.insert(draft.instructions.begin(), waits.begin(), waits.end());
  for (DictionaryAttr entry : entriesOf(kRecordsAttr)) {
    DraftInstruction record = makeEvent("record", entry);
    auto isUsed = [&](const DraftInstruction &instruction) {
      return llvm::any_of(instruction.uses, [&](const MemoryAccess &touched) {
        return touched.allocation == record.uses.front().allocation;
      });
    };
    auto last = std::find_if(draft.instructions.rbegin(), draft.instructions.rend(), isUsed);
    draft.instructions.insert(last.base(), std::move(record));
  }
}

} // namespace cleave::plan

#include "compiler/Planning/Build/DraftBuilder.h"

#include "compiler/Planning/Build/InPlace.h"
#include "compiler/Planning/Build/StagePrograms.h"
#include "compiler/Planning/Draft/Issue.h"
#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cleave::plan {

DraftBuilder::DraftBuilder(ModulePlan &plan, func::FuncOp function)
    : plan(plan), function(function), builder(function.getContext()), maker(draft, function.getContext()),
      values(plan, draft, maker, function.getBody().front()), families(values.getFamilies()),
      collectives(plan, draft, maker, values, function.getContext()), transfers(plan, draft, maker, values, function) {}

// Visits the ops once, in order. After each op:
//
//   - every value so far has an address: in a state, a port, a stage buffer, or in an allocation of its own
//   - the instructions so far, in their order, leave at these addresses the values that the ops compute
//
// Allocations may still be merged (moveTo), so instructions name the original ones, and are resolved at the end.
//
//   %g = kernel ...           fresh a0                       launch a0=w
//   %b = concat %g, %h        fresh a2; a0, a1 merged into it, as its parts: nothing is copied
//   write %b, @bucket         a2 merged into @bucket's bytes, if nobody reads these any more; else a copy
FailureOr<ProgramDraft> DraftBuilder::build() {
  draft.name = function.getSymName().str();
  draft.entry = function->hasAttr(kEntryAttr);
  draft.isTransfer = function->hasAttr(kTransferAttr);
  if (failed(transfers.prepare()))
    return failure();
  addInputs();
  if (auto calls = function->getAttrOfType<ArrayAttr>(kCallsAttr))
    addCalls(calls);
  for (Operation &op : function.getBody().front())
    if (failed(visit(&op)))
      return failure();
  maker.resolveMergedAllocations();
  dropUnreadCopies(draft);
  issue(draft.instructions, draft.gathers);
  transfers.addSharedEvents();
  return std::move(draft);
}

LogicalResult DraftBuilder::visit(Operation *op) {
  if (isa<ConstantOp>(op))
    return success(); // filled at its uses
  if (auto offload = dyn_cast<OffloadOp>(op))
    return visitOffload(offload);
  if (llvm::SmallVector<ByteView> views = byteViews(op); !views.empty())
    return visitViews(op, views);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ReadOp read) { return visitRead(read); })
      .Case([&](WriteOp write) { return visitWrite(write); })
      .Case([&](cleave::KernelOp kernel) { return visitKernel(kernel); })
      .Case<shard::AllReduceOp, shard::ReduceScatterOp, shard::AllGatherOp, shard::AllSliceOp, shard::ReduceOp,
            shard::BroadcastOp>([&](auto collective) { return collectives.visit(collective); })
      .Case<shard::SendOp, shard::RecvOp>([&](auto transfer) { return transfers.visit(transfer); })
      .Case([&](ub::PoisonOp) { return success(); }) // a value that a kind lacks and gets by a broadcast
      .Case([&](func::ReturnOp ret) { return visitReturn(ret); })
      .Default([&](Operation *other) -> LogicalResult {
        auto compute = dyn_cast<ComputeOpInterface>(other);
        if (compute && compute.getComputeKind() == ComputeKind::Kernel)
          return visitLibrary(other);
        return other->emitOpError(
            "cannot be planned; expected the kernels form (kernels, library calls, contiguous views, "
            "read, write, and the collectives all_reduce, reduce_scatter, all_gather, all_slice, reduce, broadcast, "
            "send, recv)");
      });
}

void DraftBuilder::addInputs() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (function.getArgAttr(index, kStageBufferAttr)) {
      values.put(argument, transfers.stageBufferAddress(function.getArgAttrDict(index), argument.getType()));
      continue;
    }
    auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr);
    std::string text = name ? name.str() : "arg" + std::to_string(index);
    bool isAbsent = function.getArgAttr(index, kAbsentAttr) != nullptr;
    uint64_t offset = isAbsent ? 0 : plan.inputOffset(text, argument.getType());
    if (!isAbsent)
      values.put(argument, {draft.allocations.add(RegionKind::Input, bytesOf(argument.getType()), offset), 0});
    if (draft.entry)
      addPort({true, text, argument.getType(), offset, -1, nullptr, isAbsent}, function.getArgAttrDict(index));
  }
}

// Adds the port, with its batch dimension and the axes that split it, if its attributes name one.
void DraftBuilder::addPort(PortDraft port, DictionaryAttr attributes) {
  auto batchDim = attributes ? attributes.getAs<IntegerAttr>(kBatchDimAttr) : IntegerAttr();
  auto sharding = attributes ? attributes.getAs<ShardingAttr>(kShardingAttr) : ShardingAttr();
  if (batchDim)
    port.batchDim = batchDim.getInt();
  if (batchDim && sharding && !sharding.getDimAxes(port.batchDim).empty())
    port.splitAxes = builder.getStrArrayAttr(sharding.getDimAxes(port.batchDim));
  draft.ports.push_back(std::move(port));
}

void DraftBuilder::addCalls(ArrayAttr calls) {
  for (auto call : calls.getAsRange<DictionaryAttr>()) {
    NamedAttrList fields;
    fields.set("program", FlatSymbolRefAttr::get(call.getAs<StringAttr>("program")));
    fields.set("times", call.get("times"));
    fields.set("first_frame", call.get("first_frame"));
    Attribute skip = call.get("skip");
    fields.set("skip", skip ? skip : Attribute(builder.getI64IntegerAttr(0)));
    fields.set("counter", CounterAttr::get(function.getContext(), Counter::MicroBatch));
    maker.add(function, "call", Purpose::Compute, {}, fields).kind = InstructionKind::Barrier;
  }
}

// A read adds no instruction: the value has the state's bytes. It is copied if it is used after the state is written.
LogicalResult DraftBuilder::visitRead(ReadOp read) {
  std::optional<ModulePlan::StateAddress> state = plan.findState(read.getState());
  if (!state || state->bytes != bytesOf(read.getResult().getType()))
    return read.emitOpError("expected a state of as many bytes as its value; got: @")
           << read.getState() << " as " << read.getResult().getType();
  Address address{values.stateAllocation(read.getState()), 0};
  if (families.outlives(read.getResult(), read.getState(), read)) {
    Address copy = values.addFresh(state->bytes);
    maker.addCopy(read, copy, address, state->bytes);
    address = copy;
  }
  values.put(read.getResult(), address);
  return success();
}

// The value is made in the state's bytes if possible (moveTo). Copies of the state on the device become stale.
LogicalResult DraftBuilder::visitWrite(WriteOp write) {
  std::optional<ModulePlan::StateAddress> state = plan.findState(write.getState());
  if (!state || state->bytes != bytesOf(write.getValue().getType()))
    return write.emitOpError("expected a state of as many bytes as its value; got: @")
           << write.getState() << " for " << write.getValue().getType();
  Address target{values.stateAllocation(write.getState()), 0};
  values.noteChange(target);
  if (!families.outlives(write.getValue(), write.getState(), write))
    return values.moveTo(write.getValue(), target, write);
  FailureOr<Address> address = values.find(write.getValue());
  if (succeeded(address))
    maker.addCopy(write, target, *address, state->bytes);
  return address;
}

// A part of a whole has an offset in it. visitJoined handles a whole that is made of parts.
LogicalResult DraftBuilder::visitViews(Operation *op, ArrayRef<ByteView> views) {
  if (views.front().whole.getDefiningOp() == op)
    return visitJoined(op, views);
  FailureOr<Address> whole = values.find(views.front().whole);
  if (failed(whole))
    return failure();
  values.put(views.front().part, {whole->allocation, whole->offset + views.front().offset, whole->share});
  return success();
}

// Handles a concat and the like: each operand is made at its place in the result, if possible. The new value of a state
// (sums of gradients) is put into the state part by part, after the last read of the old value. A separate bucket would
// be as large as the state, and complete only with its last part.
LogicalResult DraftBuilder::visitJoined(Operation *op, ArrayRef<ByteView> views) {
  Value result = op->getResult(0);
  std::optional<unsigned> state = stateToFill(op);
  Address whole = state ? Address{*state, 0} : values.addFresh(bytesOf(result.getType()));
  values.put(result, whole);
  for (const ByteView &view : views)
    if (failed(values.moveTo(view.part, {whole.allocation, view.offset}, op, /*isJoined=*/true)))
      return failure();
  return success();
}

// Returns the state to which the concat's result is written, if the result can be made in it at once. The state must be
// in device memory, and the program must have read it. Between the concat and the write nobody may read it, and it must
// not hold an operand already.
std::optional<unsigned> DraftBuilder::stateToFill(Operation *concat) const {
  Value result = concat->getResult(0);
  auto write = result.hasOneUse() ? dyn_cast<WriteOp>(*result.user_begin()) : nullptr;
  std::optional<unsigned> allocation = write ? values.knownStateAllocation(write.getState()) : std::nullopt;
  if (!allocation || draft.allocations.isHost({*allocation, 0, {}}) || !values.isLastUseOf(*allocation, concat) ||
      families.outlives(result, write.getState(), write))
    return std::nullopt;
  if (families.isReadBetween(write.getState(), concat, write))
    return std::nullopt;
  for (Value part : concat->getOperands())
    if (values.allocationOf(part) == allocation)
      return std::nullopt;
  return allocation;
}

// A tied result must lie where its input lies, because the kernel updates it there. If others still need the input, the
// kernel gets a copy of it.
LogicalResult DraftBuilder::visitKernel(cleave::KernelOp kernel) {
  FailureOr<FlatSymbolRefAttr> symbol = plan.generatedKernel(kernel);
  llvm::SmallVector<Address> inputs, results;
  for (Value input : kernel.getInputs()) {
    FailureOr<Address> address = values.findOnDevice(input, kernel);
    if (failed(address) || failed(symbol))
      return failure();
    inputs.push_back(*address);
  }
  if (failed(symbol))
    return failure();
  std::optional<ArrayRef<int64_t>> ties = kernel.getTied();
  for (auto [index, result] : llvm::enumerate(kernel.getResults())) {
    int64_t tie = ties ? (*ties)[index] : -1;
    if (tie >= 0 && canFollowTie(kernel, tie, index, inputs)) {
      results.push_back(inputs[tie]);
    } else {
      results.push_back(values.addFresh(bytesOf(result.getType())));
      if (tie >= 0) { // the code updates its input: give it a copy
        maker.addCopy(kernel, results.back(), inputs[tie], bytesOf(result.getType()));
        inputs[tie] = results.back();
      }
    }
    values.put(result, results.back());
    values.noteChange(results.back());
  }
  std::vector<MemoryAccess> uses;
  for (auto [address, value] : llvm::zip(inputs, kernel.getInputs()))
    uses.push_back(accessTo(address, bytesOf(value.getType()), true, false));
  for (auto [address, value] : llvm::zip(results, kernel.getResults()))
    uses.push_back(accessTo(address, bytesOf(value.getType()), false, true));
  NamedAttrList fields;
  fields.set("kernel", *symbol);
  maker.add(kernel, "launch", accumulatesReduced(kernel) ? Purpose::Reduce : Purpose::Compute, std::move(uses), fields);
  maker.setMaker(kernel);
  return success();
}

// True if the kernel only adds reduced parts to gradients. It then runs on the reduce stream. On the compute stream it
// would hold up the next instructions, or, if it came late, keep the unreduced buffer until then.
bool DraftBuilder::accumulatesReduced(cleave::KernelOp kernel) const {
  auto isAccumulated = [&](Value result) {
    return llvm::all_of(result.getUsers(), [&](Operation *user) {
      auto write = dyn_cast<WriteOp>(user);
      return write && plan.roleOf(write.getState()) == Role::Gradient;
    });
  };
  return llvm::any_of(kernel.getInputs(), [&](Value input) { return values.isReducedPart(input); }) &&
         llvm::all_of(kernel.getResults(), isAccumulated);
}

// True if the result may be made in the input's bytes: nobody reads the input later, and no other operand overlaps it.
bool DraftBuilder::canFollowTie(cleave::KernelOp kernel, unsigned input, unsigned result, ArrayRef<Address> inputs) {
  if (!mayTakeOver(kernel, kernel.getInputs()[input], kernel.getResults()[result], families))
    return false;
  Address address = draft.allocations.resolve(inputs[input]);
  uint64_t bytes = bytesOf(kernel.getInputs()[input].getType());
  MemoryAccess taken = accessTo(address, bytes, true, true);
  for (unsigned other = 0; other < inputs.size(); ++other) {
    Address at = draft.allocations.resolve(inputs[other]);
    if (other != input && taken.conflictsWith(accessTo(at, bytesOf(kernel.getInputs()[other].getType()), true, false)))
      return false;
  }
  // Fixed bytes may be overwritten only if they are the state that the result is written to.
  return draft.allocations.isFresh(address) || findStateRead(kernel.getInputs()[input]);
}

// A library kernel may work in place (`over`), but need not. All kernels share one pool of scratch, because they run
// one after the other.
LogicalResult DraftBuilder::visitLibrary(Operation *op) {
  FailureOr<ModulePlan::LibraryKernel> kernel = plan.libraryKernel(op);
  if (failed(kernel))
    return failure();
  std::vector<MemoryAccess> uses;
  llvm::SmallVector<Address> inputs;
  for (Value operand : op->getOperands()) {
    FailureOr<Address> address = values.findOnDevice(operand, op);
    if (failed(address))
      return failure();
    inputs.push_back(*address);
    uses.push_back(accessTo(*address, bytesOf(operand.getType()), true, false));
  }
  for (Value result : op->getResults()) {
    std::optional<size_t> inPlace = kernel->overOf(uses.size());
    bool takesOver = inPlace && draft.allocations.isFresh(inputs[*inPlace]) &&
                     llvm::count(op->getOperands(), op->getOperand(*inPlace)) == 1 &&
                     mayTakeOver(op, op->getOperand(*inPlace), result, families);
    Address address = takesOver ? inputs[*inPlace] : values.addFresh(bytesOf(result.getType()));
    values.put(result, address);
    values.noteChange(address);
    uses.push_back(accessTo(address, bytesOf(result.getType()), false, true));
  }
  if (kernel->scratch) {
    uses.push_back(
        accessTo({values.poolAllocation(RegionKind::Workspace, *kernel->scratch), 0}, *kernel->scratch, false, true));
    uses.back().scratch = true;
  }
  NamedAttrList fields;
  fields.set("kernel", kernel->symbol);
  maker.add(op, "launch", Purpose::Compute, std::move(uses), fields);
  return success();
}

// The value is copied to each place in host memory where it is read.
LogicalResult DraftBuilder::visitOffload(OffloadOp op) {
  FailureOr<Address> address = values.find(op.getOperand());
  if (failed(address))
    return failure();
  if (draft.allocations.isHost(*address)) {
    values.put(op.getResult(), *address);
    return success();
  }
  uint64_t bytes = bytesOf(op.getOperand().getType());
  std::vector<Address> stageBuffers = transfers.hostStageBuffersOf(op.getResult());
  if (stageBuffers.empty())
    stageBuffers.push_back({draft.allocations.add(RegionKind::Residual, bytes, std::nullopt, /*isHost=*/true), 0});
  values.put(op.getResult(), stageBuffers.front());
  bool isEarly = isMadeEarly(draft, *address);
  for (Address stageBuffer : stageBuffers)
    maker.addCopy(op, stageBuffer, *address, bytes);
  if (!isEarly)
    values.noteStored(stageBuffers.front(), *address, bytes);
  return success();
}

// Outputs are placed one after the other in their region, after those of earlier programs: the host may take an output
// after another program has run. Values that cross bodies are placed in their stage buffers.
LogicalResult DraftBuilder::visitReturn(func::ReturnOp op) {
  uint64_t offset = plan.neededBytes(RegionKind::Output);
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    if (function.getResultAttr(index, kStageBufferHostAttr))
      continue; // visitOffload has copied it there
    if (function.getResultAttr(index, kStageBufferAttr)) {
      if (failed(values.moveTo(value, transfers.stageBufferAddress(function.getResultAttrDict(index), value.getType()),
                               op)))
        return failure();
      continue;
    }
    auto name = function.getResultAttrOfType<StringAttr>(index, kNameAttr);
    std::string text = name ? name.str() : "result" + std::to_string(index);
    uint64_t bytes = bytesOf(value.getType());
    addPort({false, text, value.getType(), offset, -1, nullptr}, function.getResultAttrDict(index));
    if (bytes > 0 && failed(values.moveTo(value, {draft.allocations.add(RegionKind::Output, bytes, offset), 0}, op)))
      return failure();
    offset = llvm::alignTo(offset + std::max<uint64_t>(bytes, 1), kBufferAlignment); // an empty one has an address, too
  }
  plan.needRegion(RegionKind::Output, offset);
  return success();
}

} // namespace cleave::plan

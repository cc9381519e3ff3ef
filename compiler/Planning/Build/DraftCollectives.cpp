// Part of DraftBuilder: collectives. Decides where their data lie, with padding, and on which streams they and the
// instructions after them run.
//
//   all_gather      the own part is put at its address in the whole, and the others come around it
//   reduce_scatter  in place if the unreduced value is not used again; the result is this rank's share of its bytes
//   all_slice       no instruction at all: the result is the rank's share of the operand's bytes
//
// A part's address in the whole depends on the rank's coordinates. It is written as a share (Draft.h), so coordinates
// affect only addresses. The bytes of a part must be contiguous, as they are along the outermost dimension (flat
// buckets). Other dimensions are an error, which names the dimension.
#include "compiler/Planning/Build/DraftBuilder.h"
#include "dialects/Cleave/IR/Attributes.h"

using namespace mlir;

namespace cleave::plan {

static FailureOr<Reduction> convertReduction(Operation *op, shard::ReductionKind kind) {
  switch (kind) {
  case shard::ReductionKind::Sum:
    return Reduction::Sum;
  case shard::ReductionKind::Max:
    return Reduction::Max;
  case shard::ReductionKind::Min:
    return Reduction::Min;
  default:
    return op->emitOpError("expected a reduction by sum, max or min; got: ") << shard::stringifyReductionKind(kind);
  }
}

// True if the parts of a tensor along `dim` are contiguous.
static bool isOutermost(RankedTensorType type, int64_t dim) {
  return llvm::all_of(type.getShape().take_front(dim), [](int64_t size) { return size == 1; });
}

// The ring cuts the data into as many equal shares as there are ranks. So the data, for example a scalar, is padded
// with zeros to a multiple of that number.
namespace {
struct RingData {
  RingData(Type tensor, int64_t ranks) {
    auto type = cast<RankedTensorType>(tensor);
    element = type.getElementType();
    count = llvm::alignTo(std::max<int64_t>(type.getNumElements(), 1), ranks);
    bytes = bytesOf(type);
    padded = count * elementBytes(element);
  }

  Type element;
  int64_t count;          // padding included
  uint64_t bytes, padded; // without padding, and with it
};
} // namespace

FailureOr<DraftBuilder::Extent> DraftBuilder::extentOf(Operation *op, ArrayRef<int16_t> gridAxes, Value whole,
                                                       Value part, int64_t dim) {
  Extent extent;
  for (int16_t axis : gridAxes) {
    if (!plan.getMesh() || axis < 0 || axis >= static_cast<int64_t>(plan.getMesh().getNames().size()))
      return op->emitOpError("expected axes of cleave.mesh; got: ") << axis;
    extent.axes.push_back(plan.getMesh().getNames()[axis].getValue());
  }
  extent.ranks = plan.ranksOn(extent.axes);
  auto wholeType = dyn_cast<RankedTensorType>(whole.getType()), partType = dyn_cast<RankedTensorType>(part.getType());
  if (!wholeType || !partType || wholeType.getElementType() != partType.getElementType())
    return op->emitOpError("expected ranked tensors of one element type; got: ")
           << whole.getType() << " and " << part.getType();
  extent.whole = bytesOf(wholeType);
  extent.part = bytesOf(partType);
  if (dim >= 0 && extent.part * extent.ranks != extent.whole)
    return op->emitOpError("expected parts that ")
           << extent.ranks << " ranks have evenly; got: " << partType << " of " << wholeType;
  if (dim >= 0 && (dim >= wholeType.getRank() || !isOutermost(wholeType, dim)))
    return op->emitOpError("expected parts whose bytes lie together, along the outermost dimension; got: dimension ")
           << dim << " of " << wholeType;
  if (extent.ranks == 1)
    return extent;
  FlatSymbolRefAttr symbol = plan.group(extent.axes);
  auto known = llvm::find(draft.groups, symbol);
  if (known == draft.groups.end())
    known = draft.groups.insert(known, symbol);
  extent.group = known - draft.groups.begin() + 1;
  return extent;
}

// On one rank, a collective returns its operand. The result needs bytes of its own only if the operand is used again.
void DraftBuilder::passThrough(Operation *op, Address address) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  if (families.lastUse(operand) != families.position(op)) {
    Address copy = addFresh(bytesOf(result.getType()));
    addCopy(op, copy, address, bytesOf(result.getType()));
    address = copy;
  }
  put(result, address);
}

NamedAttrList DraftBuilder::ringFields(Operation *op, const Extent &extent, Type element, int64_t count) {
  NamedAttrList fields;
  fields.set("group", draft.groups[extent.group - 1]);
  fields.set("dtype", TypeAttr::get(element));
  fields.set("algorithm", AlgorithmAttr::get(op->getContext(), Algorithm::Ring));
  fields.set("count", builder.getI64IntegerAttr(count));
  return fields;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

// True if no value that is in the allocation by now, except the results of `op`, is used after `op`. This is exact
// where families are not: two buckets that share a gradient are one family (residual branches that end in batch norms
// have one bias gradient).
bool DraftBuilder::isLastUseOf(unsigned allocation, Operation *op) const {
  llvm::SmallVector<unsigned> open = {allocation};
  while (!open.empty()) {
    unsigned part = open.pop_back_val();
    llvm::append_range(open, draft.allocations[part].merged);
    auto found = valuesIn.find(part);
    for (Value value : found == valuesIn.end() ? ArrayRef<Value>() : ArrayRef<Value>(found->second))
      if (value.getDefiningOp() != op && families.lastOwnUse(value) > families.position(op) &&
          draft.allocations.resolve(addresses.lookup(value)).allocation == allocation)
        return false;
  }
  return true;
}

bool DraftBuilder::canReduceInPlace(Operation *op, Address address, uint64_t bytes, uint64_t padded) {
  if (!isLastUseOf(draft.allocations.resolve(address).allocation, op))
    return false;
  if (draft.allocations.isFresh(address))
    return bytes == padded || draft.allocations.isFreshWhole(address, bytes);
  // A state's own bytes can be used if no program reads the unreduced value again (gradients: the next step begins with
  // a write).
  auto read = op->getOperand(0).getDefiningOp<ReadOp>();
  if (!read || bytes != padded || plan.survives(read.getState()))
    return false;
  return !families.isReadBetween(read.getState(), op, nullptr);
}

// Returns where the value is reduced: in its own bytes, or in a copy. Adds padding with zeros.
Address DraftBuilder::reducible(Operation *op, Address address, uint64_t bytes, uint64_t padded) {
  Address data = address;
  if (!canReduceInPlace(op, data, bytes, padded)) {
    data = addFresh(padded);
    addCopy(op, data, address, bytes).purpose = Purpose::Relocate;
  } else if (bytes != padded) {
    draft.allocations[data.allocation].bytes = padded;
  }
  if (bytes != padded)
    addFill(op, {data.allocation, data.offset + bytes, {}}, padded - bytes, 0,
            elementBytes(cast<RankedTensorType>(op->getOperand(0).getType()).getElementType()))
        .purpose = Purpose::Relocate;
  return data;
}

LogicalResult DraftBuilder::addReduction(Operation *op, StringRef mnemonic, shard::ReductionKind kind,
                                         const Extent &extent, Address data, uint64_t bytes, Type element,
                                         std::optional<int64_t> root) {
  FailureOr<Reduction> reduction = convertReduction(op, kind);
  if (failed(reduction))
    return failure();
  NamedAttrList fields = ringFields(op, extent, element, bytes / elementBytes(element));
  fields.set("reduction", ReductionAttr::get(op->getContext(), *reduction));
  if (root)
    fields.set("root", builder.getI64IntegerAttr(*root));
  uint64_t share = bytes / extent.ranks;
  MemoryAccess staging = use({poolAllocation(RegionKind::Communication, share), 0, {}}, share, false, true);
  staging.scratch = true;
  DraftInstruction &instruction = addInstruction(op, mnemonic, {use(data, bytes, true, true), staging}, fields);
  instruction.purpose = Purpose::Reduce;
  plan.needStream(kReduceStream);
  draft.unreduced.push_back(data.allocation);
  forgetCopies(data);
  return success();
}

LogicalResult DraftBuilder::visitAllReduce(shard::AllReduceOp op) {
  FailureOr<Address> address = deviceAddressOf(op.getInput(), op);
  FailureOr<Extent> extent = extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), -1);
  if (failed(address) || failed(extent))
    return failure();
  if (op.getInput().getType() != op.getResult().getType())
    return op.emitOpError("expected to keep the type; got: ")
           << op.getInput().getType() << " and " << op.getResult().getType();
  if (extent->ranks == 1)
    return passThrough(op, *address), success();
  RingData ring(op.getResult().getType(), extent->ranks);
  Address data = reducible(op, *address, ring.bytes, ring.padded);
  put(op.getResult(), data);
  return addReduction(op, "all_reduce", op.getReduction(), *extent, data, ring.padded, ring.element);
}

LogicalResult DraftBuilder::visitReduceScatter(shard::ReduceScatterOp op) {
  FailureOr<Address> address = deviceAddressOf(op.getInput(), op);
  FailureOr<Extent> extent =
      extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), op.getScatterAxis().getSExtValue());
  if (failed(address) || failed(extent))
    return failure();
  if (extent->ranks == 1)
    return passThrough(op, *address), success();
  Share share{extent->group, static_cast<unsigned>(extent->ranks), extent->part};
  Address data = reducible(op, *address, extent->whole, extent->whole);
  std::optional<Address> part = draft.allocations.cut(data, share);
  if (!part) { // a share of a share has no address
    data = addFresh(extent->whole);
    addCopy(op, data, *address, extent->whole).purpose = Purpose::Relocate;
    part = draft.allocations.cut(data, share);
  }
  put(op.getResult(), *part);
  return addReduction(op, "reduce_scatter", op.getReduction(), *extent, data, extent->whole,
                      cast<RankedTensorType>(op.getInput().getType()).getElementType());
}

// Ranks of one kind do the same. A kind that has the root and other ranks is not split far enough, which is an error.
FailureOr<DraftBuilder::CollectiveRoot> DraftBuilder::rootOf(Operation *op, const Extent &extent,
                                                             ArrayRef<int64_t> coordinates) {
  if (coordinates.size() != extent.axes.size())
    return op->emitOpError("expected a root with a coordinate on each of its axes; got: ") << coordinates.size();
  CollectiveRoot root{0, true};
  for (auto [axis, coordinate] : llvm::zip_equal(extent.axes, coordinates))
    root.index = root.index * plan.ranksOn(axis) + coordinate;
  std::optional<bool> isHere = plan.getKind().isAt(extent.axes, coordinates);
  if (!isHere && extent.ranks > 1)
    return op->emitOpError("expected its root to be a kind of ranks of its own; run split-kinds, with the kinds in ")
           << kKindsAttr;
  root.isHere = isHere.value_or(true);
  return root;
}

LogicalResult DraftBuilder::visitReduce(shard::ReduceOp op) {
  FailureOr<Address> address = deviceAddressOf(op.getInput(), op);
  FailureOr<Extent> extent = extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), -1);
  if (failed(address) || failed(extent))
    return failure();
  FailureOr<CollectiveRoot> root = rootOf(op, *extent, op.getRoot());
  if (failed(root))
    return failure();
  if (extent->ranks == 1)
    return passThrough(op, *address), success();
  RingData ring(op.getResult().getType(), extent->ranks);
  Address data = reducible(op, *address, ring.bytes, ring.padded);
  put(op.getResult(), data);
  return addReduction(op, "reduce", op.getReduction(), *extent, data, ring.padded, ring.element, root->index);
}

// On the root, the broadcast uses the value's own bytes, or a padded copy. On other ranks it fills a new allocation,
// which a later write merges into the state. A broadcast stays in program order and does not move up: an owner
// broadcasts after its reductions, and all kinds must issue collectives in one order.
LogicalResult DraftBuilder::visitBroadcast(shard::BroadcastOp op) {
  FailureOr<Extent> extent = extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), -1);
  if (failed(extent))
    return failure();
  FailureOr<CollectiveRoot> root = rootOf(op, *extent, op.getRoot());
  if (failed(root))
    return failure();
  FailureOr<Address> address = Address{};
  if (root->isHere)
    address = deviceAddressOf(op.getInput(), op);
  if (failed(address))
    return failure();
  if (extent->ranks == 1)
    return passThrough(op, *address), success();
  RingData ring(op.getResult().getType(), extent->ranks);
  Address data = *address;
  if (!root->isHere || ring.bytes != ring.padded) {
    data = addFresh(ring.padded);
    if (root->isHere) {
      addCopy(op, data, *address, ring.bytes);
      addFill(op, {data.allocation, data.offset + ring.bytes, {}}, ring.padded - ring.bytes, 0,
              elementBytes(ring.element));
    }
  }
  put(op.getResult(), data);
  NamedAttrList fields = ringFields(op, *extent, ring.element, ring.count);
  fields.set("root", builder.getI64IntegerAttr(root->index));
  addInstruction(op, "broadcast", {use(data, ring.padded, root->isHere, !root->isHere)}, fields).purpose =
      Purpose::Broadcast;
  kernelInstructions[op] = draft.instructions.size() - 1;
  plan.needStream(kGatherStream);
  return success();
}

// True if the value is a share of bytes that a collective of the reduce stream has reduced.
bool DraftBuilder::isReducedPart(Value value) const {
  while (isa_and_nonnull<ReshapeOp, OffloadOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  if (!isa_and_nonnull<shard::ReduceScatterOp, shard::AllReduceOp>(value.getDefiningOp()))
    return false;
  auto address = addresses.find(value);
  return address != addresses.end() && draft.allocations.resolve(address->second).share;
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
  return llvm::any_of(kernel.getInputs(), [&](Value input) { return isReducedPart(input); }) &&
         llvm::all_of(kernel.getResults(), isAccumulated);
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

// True if the whole may be gathered around the part, at the part's present address: nothing else in that allocation is
// used again, and if it is a state, the whole is written to this state.
bool DraftBuilder::canGatherInPlace(shard::AllGatherOp op, Address part, Share share, uint64_t bytes) {
  if (draft.allocations.isHost(part) || !(part.share == share) ||
      part.offset + bytes > draft.allocations[part.allocation].bytes || !isLastUseOf(part.allocation, op))
    return false;
  if (draft.allocations.isFresh(part))
    return true;
  WriteOp write = writeAhead(op.getResult());
  return write && stateAllocation(write.getState()) == part.allocation && part.offset == 0 &&
         draft.allocations[part.allocation].bytes == bytes;
}

// True if the part can be made at any time before it is gathered. It must be a state's, or kernels must make it of such
// parts alone (the cast of a parameter), and for this gather alone. Adds the instructions of these kernels to `makers`.
bool DraftBuilder::isMadeOfStates(Value part, llvm::SmallVectorImpl<size_t> &makers) const {
  llvm::SmallVector<Value> open = {part};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (readBehind(value))
      continue;
    Operation *maker = value.getDefiningOp();
    auto isForOne = [](Value result) { return result.hasOneUse(); };
    if (!maker || maker->getNumOperands() == 0 || !llvm::all_of(maker->getResults(), isForOne))
      return false;
    if (isa<cleave::KernelOp>(maker))
      makers.push_back(kernelInstructions.lookup(maker));
    else if (byteViews(maker).size() != 1)
      return false;
    llvm::append_range(open, maker->getOperands());
  }
  return true;
}

LogicalResult DraftBuilder::visitAllGather(shard::AllGatherOp op) {
  FailureOr<Address> part = addressOf(op.getInput());
  FailureOr<Extent> extent =
      extentOf(op, op.getGridAxes(), op.getResult(), op.getInput(), op.getGatherAxis().getSExtValue());
  if (failed(part) || failed(extent))
    return failure();
  if (extent->ranks == 1)
    return passThrough(op, *part), success();
  Share share{extent->group, static_cast<unsigned>(extent->ranks), extent->part};
  std::optional<unsigned> number; // set if it can be issued at any time before its use
  if (llvm::SmallVector<size_t> makers; isMadeOfStates(op.getInput(), makers)) {
    number = draft.gathers.size();
    draft.gathers.push_back({op->hasAttr(kBackwardAttr)});
    for (size_t maker : makers)
      draft.instructions[maker].gather = number;
  }
  auto finish = [&](DraftInstruction &instruction) {
    // The part is copied from host memory directly to its address.
    instruction.purpose = instruction.purpose == Purpose::CopyIn ? Purpose::GatherFromHost : Purpose::Gather;
    instruction.gather = number;
  };
  Address data{part->allocation, part->offset, {}};
  if (!canGatherInPlace(op, *part, share, extent->whole)) {
    data = addFresh(extent->whole);
    Address own = *draft.allocations.cut(data, share);
    if (draft.allocations.isFreshWhole(*part, extent->part) && draft.allocations.canMerge(*part, own) &&
        isLastUseOf(part->allocation, op))
      draft.allocations.merge(*part, own);
    else
      finish(addCopy(op, own, *part, extent->part));
  }
  put(op.getResult(), data);
  auto element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  finish(addInstruction(op, "all_gather", {use(data, extent->whole, true, true)},
                        ringFields(op, *extent, element, extent->whole / elementBytes(element))));
  plan.needStream(kGatherStream);
  draft.gathered.push_back(data.allocation);
  return success();
}

LogicalResult DraftBuilder::visitAllSlice(shard::AllSliceOp op) {
  FailureOr<Address> whole = addressOf(op.getInput());
  FailureOr<Extent> extent =
      extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), op.getSliceAxis().getSExtValue());
  if (failed(whole) || failed(extent))
    return failure();
  put(op.getResult(), *whole);
  if (extent->ranks == 1)
    return success();
  Share share{extent->group, static_cast<unsigned>(extent->ranks), extent->part};
  std::optional<Address> part = draft.allocations.cut(*whole, share);
  if (!part) { // a share of a share has no address
    Address copy = addFresh(extent->whole);
    addCopy(op, copy, *whole, extent->whole);
    part = draft.allocations.cut(copy, share);
  }
  put(op.getResult(), *part);
  return success();
}

// Updates the lists of allocations after all merges.
void DraftBuilder::settleGathers() {
  auto settle = [&](std::vector<unsigned> &allocations) {
    for (unsigned &allocation : allocations)
      allocation = draft.allocations.resolve({allocation, 0, {}}).allocation;
  };
  settle(draft.gathered);
  settle(draft.unreduced);
  settle(draft.staged);
  for (const DraftInstruction &instruction : draft.instructions) // the last instruction of a gather fills it
    if (instruction.gather && !draft.gathers[*instruction.gather].isCopy)
      draft.gathers[*instruction.gather].fillsState =
          draft.allocations[instruction.uses.front().allocation].fixed.has_value();
}

} // namespace cleave::plan

#include "compiler/Planning/Build/CollectiveDrafter.h"
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

FailureOr<CollectiveDrafter::Extent> CollectiveDrafter::extentOf(Operation *op, ArrayRef<int16_t> gridAxes, Value whole,
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
LogicalResult CollectiveDrafter::passThrough(Operation *op, Address address) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  if (values.getFamilies().lastUse(operand) != values.getFamilies().position(op)) {
    Address copy = values.addFresh(bytesOf(result.getType()));
    maker.addCopy(op, copy, address, bytesOf(result.getType()));
    address = copy;
  }
  values.put(result, address);
  return success();
}

NamedAttrList CollectiveDrafter::ringFields(Operation *op, const Extent &extent, Type element, int64_t count) {
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

bool CollectiveDrafter::canReduceInPlace(Operation *op, Address address, uint64_t bytes, uint64_t padded) {
  if (!values.isLastUseOf(draft.allocations.resolve(address).allocation, op))
    return false;
  if (draft.allocations.isFresh(address))
    return bytes == padded || draft.allocations.isFreshWhole(address, bytes);
  // A state's own bytes can be used if no program reads the unreduced value again (gradients: the next step begins with
  // a write).
  auto read = op->getOperand(0).getDefiningOp<ReadOp>();
  if (!read || bytes != padded || plan.survives(read.getState()))
    return false;
  return !values.getFamilies().isReadBetween(read.getState(), op, nullptr);
}

// Returns where the value is reduced: in its own bytes, or in a copy. Adds padding with zeros.
Address CollectiveDrafter::reducible(Operation *op, Address address, uint64_t bytes, uint64_t padded) {
  Address data = address;
  if (!canReduceInPlace(op, data, bytes, padded)) {
    data = values.addFresh(padded);
    maker.addCopy(op, data, address, bytes, Purpose::Relocate);
  } else if (bytes != padded) {
    draft.allocations[data.allocation].bytes = padded;
  }
  if (bytes != padded)
    maker.addFill(op, {data.allocation, data.offset + bytes, {}}, padded - bytes, 0,
                  elementBytes(cast<RankedTensorType>(op->getOperand(0).getType()).getElementType()),
                  Purpose::Relocate);
  return data;
}

LogicalResult CollectiveDrafter::addReduction(Operation *op, StringRef mnemonic, shard::ReductionKind kind,
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
  MemoryAccess staging = accessTo({values.poolAllocation(RegionKind::Communication, share), 0, {}}, share, false, true);
  staging.scratch = true;
  maker.add(op, mnemonic, Purpose::Reduce, {accessTo(data, bytes, true, true), staging}, fields);
  draft.allocations.noteMemoryUse(data.allocation, MemoryUse::Unreduced);
  values.noteChange(data);
  return success();
}

// Reduces a value of which the result has all bytes.
LogicalResult CollectiveDrafter::reduceWhole(Operation *op, StringRef mnemonic, shard::ReductionKind kind,
                                             const Extent &extent, Address address, std::optional<int64_t> root) {
  RingData ring(op->getResult(0).getType(), extent.ranks);
  Address data = reducible(op, address, ring.bytes, ring.padded);
  values.put(op->getResult(0), data);
  return addReduction(op, mnemonic, kind, extent, data, ring.padded, ring.element, root);
}

LogicalResult CollectiveDrafter::visit(shard::AllReduceOp op) {
  FailureOr<Address> address = values.findOnDevice(op.getInput(), op);
  FailureOr<Extent> extent = extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), -1);
  if (failed(address) || failed(extent))
    return failure();
  if (op.getInput().getType() != op.getResult().getType())
    return op.emitOpError("expected to keep the type; got: ")
           << op.getInput().getType() << " and " << op.getResult().getType();
  if (extent->ranks == 1)
    return passThrough(op, *address);
  return reduceWhole(op, "all_reduce", op.getReduction(), *extent, *address);
}

LogicalResult CollectiveDrafter::visit(shard::ReduceScatterOp op) {
  FailureOr<Address> address = values.findOnDevice(op.getInput(), op);
  FailureOr<Extent> extent =
      extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), op.getScatterAxis().getSExtValue());
  if (failed(address) || failed(extent))
    return failure();
  if (extent->ranks == 1)
    return passThrough(op, *address);
  Address data = reducible(op, *address, extent->whole, extent->whole);
  std::optional<Address> part = draft.allocations.cut(data, extent->share());
  if (!part) { // a share of a share has no address
    data = values.addFresh(extent->whole);
    maker.addCopy(op, data, *address, extent->whole, Purpose::Relocate);
    part = draft.allocations.cut(data, extent->share());
  }
  values.put(op.getResult(), *part);
  return addReduction(op, "reduce_scatter", op.getReduction(), *extent, data, extent->whole,
                      cast<RankedTensorType>(op.getInput().getType()).getElementType());
}

// Ranks of one kind do the same. A kind that has the root and other ranks is not split far enough, which is an error.
FailureOr<CollectiveDrafter::Root> CollectiveDrafter::rootOf(Operation *op, const Extent &extent,
                                                             ArrayRef<int64_t> coordinates) {
  if (coordinates.size() != extent.axes.size())
    return op->emitOpError("expected a root with a coordinate on each of its axes; got: ") << coordinates.size();
  Root root{0, true};
  for (auto [axis, coordinate] : llvm::zip_equal(extent.axes, coordinates))
    root.index = root.index * plan.ranksOn(axis) + coordinate;
  std::optional<bool> isHere = plan.getKind().isAt(extent.axes, coordinates);
  if (!isHere && extent.ranks > 1)
    return op->emitOpError("expected its root to be a kind of ranks of its own; run split-kinds, with the kinds in ")
           << kKindsAttr;
  root.isHere = isHere.value_or(true);
  return root;
}

LogicalResult CollectiveDrafter::visit(shard::ReduceOp op) {
  FailureOr<Address> address = values.findOnDevice(op.getInput(), op);
  FailureOr<Extent> extent = extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), -1);
  if (failed(address) || failed(extent))
    return failure();
  FailureOr<Root> root = rootOf(op, *extent, op.getRoot());
  if (failed(root))
    return failure();
  if (extent->ranks == 1)
    return passThrough(op, *address);
  return reduceWhole(op, "reduce", op.getReduction(), *extent, *address, root->index);
}

// On the root, the broadcast uses the value's own bytes, or a padded copy. On other ranks it fills a new allocation,
// which a later write merges into the state. A broadcast stays in program order and does not move up: an owner
// broadcasts after its reductions, and all kinds must issue collectives in one order.
LogicalResult CollectiveDrafter::visit(shard::BroadcastOp op) {
  FailureOr<Extent> extent = extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), -1);
  if (failed(extent))
    return failure();
  FailureOr<Root> root = rootOf(op, *extent, op.getRoot());
  if (failed(root))
    return failure();
  FailureOr<Address> address = Address{};
  if (root->isHere)
    address = values.findOnDevice(op.getInput(), op);
  if (failed(address))
    return failure();
  if (extent->ranks == 1)
    return passThrough(op, *address);
  RingData ring(op.getResult().getType(), extent->ranks);
  Address data = *address;
  if (!root->isHere || ring.bytes != ring.padded) {
    data = values.addFresh(ring.padded);
    if (root->isHere) {
      maker.addCopy(op, data, *address, ring.bytes);
      maker.addFill(op, {data.allocation, data.offset + ring.bytes, {}}, ring.padded - ring.bytes, 0,
                    elementBytes(ring.element));
    }
  }
  values.put(op.getResult(), data);
  NamedAttrList fields = ringFields(op, *extent, ring.element, ring.count);
  fields.set("root", builder.getI64IntegerAttr(root->index));
  maker.add(op, "broadcast", Purpose::Broadcast, {accessTo(data, ring.padded, root->isHere, !root->isHere)}, fields);
  maker.setMaker(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

// True if the whole may be gathered around the part, at the part's present address: nothing else in that allocation is
// used again, and if it is a state, the whole is written to this state.
bool CollectiveDrafter::canGatherInPlace(shard::AllGatherOp op, Address part, Share share, uint64_t bytes) {
  if (draft.allocations.isHost(part) || !(part.share == share) ||
      part.offset + bytes > draft.allocations[part.allocation].bytes || !values.isLastUseOf(part.allocation, op))
    return false;
  if (draft.allocations.isFresh(part))
    return true;
  WriteOp write = findStateWrite(op.getResult());
  return write && values.stateAllocation(write.getState()) == part.allocation && part.offset == 0 &&
         draft.allocations[part.allocation].bytes == bytes;
}

// True if the part can be made at any time before it is gathered. It must be a state's, or kernels must make it of such
// parts alone (the cast of a parameter), and for this gather alone. Adds the instructions of these kernels to `makers`.
bool CollectiveDrafter::isMadeOfStates(Value part, llvm::SmallVectorImpl<DraftInstruction *> &makers) const {
  llvm::SmallVector<Value> open = {part};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (findStateRead(value))
      continue;
    Operation *maker = value.getDefiningOp();
    auto isForOne = [](Value result) { return result.hasOneUse(); };
    if (!maker || maker->getNumOperands() == 0 || !llvm::all_of(maker->getResults(), isForOne))
      return false;
    if (isa<cleave::KernelOp>(maker))
      makers.push_back(this->maker.findMaker(maker));
    else if (byteViews(maker).size() != 1)
      return false;
    llvm::append_range(open, maker->getOperands());
  }
  return true;
}

LogicalResult CollectiveDrafter::visit(shard::AllGatherOp op) {
  FailureOr<Address> part = values.find(op.getInput());
  FailureOr<Extent> extent =
      extentOf(op, op.getGridAxes(), op.getResult(), op.getInput(), op.getGatherAxis().getSExtValue());
  if (failed(part) || failed(extent))
    return failure();
  if (extent->ranks == 1)
    return passThrough(op, *part);
  Address data{part->allocation, part->offset, {}}, own = *part;
  bool isInPlace = canGatherInPlace(op, *part, extent->share(), extent->whole);
  if (!isInPlace) {
    data = values.addFresh(extent->whole);
    own = *draft.allocations.cut(data, extent->share());
  }
  std::optional<unsigned> number; // set if it can be issued at any time before its use
  if (llvm::SmallVector<DraftInstruction *> makers; isMadeOfStates(op.getInput(), makers)) {
    number = maker.addGather(op->hasAttr(kBackwardAttr), data.allocation);
    for (DraftInstruction *made : makers)
      made->gather = number;
  }
  bool canMerge = draft.allocations.isFreshWhole(*part, extent->part) && draft.allocations.canMerge(*part, own) &&
                  values.isLastUseOf(part->allocation, op);
  if (!isInPlace && canMerge)
    draft.allocations.merge(*part, own);
  else if (!isInPlace)
    maker.addCopy(op, own, *part, extent->part, Purpose::Gather).gather = number;
  values.put(op.getResult(), data);
  auto element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  maker
      .add(op, "all_gather", Purpose::Gather, {accessTo(data, extent->whole, true, true)},
           ringFields(op, *extent, element, extent->whole / elementBytes(element)))
      .gather = number;
  draft.allocations.noteMemoryUse(data.allocation, MemoryUse::Gathered);
  return success();
}

LogicalResult CollectiveDrafter::visit(shard::AllSliceOp op) {
  FailureOr<Address> whole = values.find(op.getInput());
  FailureOr<Extent> extent =
      extentOf(op, op.getGridAxes(), op.getInput(), op.getResult(), op.getSliceAxis().getSExtValue());
  if (failed(whole) || failed(extent))
    return failure();
  values.put(op.getResult(), *whole);
  if (extent->ranks == 1)
    return success();
  std::optional<Address> part = draft.allocations.cut(*whole, extent->share());
  if (!part) { // a share of a share has no address
    Address copy = values.addFresh(extent->whole);
    maker.addCopy(op, copy, *whole, extent->whole);
    part = draft.allocations.cut(copy, extent->share());
  }
  values.put(op.getResult(), *part);
  return success();
}

} // namespace cleave::plan

// DraftBuilder's values and steps: places of states, constants and pools; collectives with their padding.
#include "compiler/Planning/DraftBuilder.h"

using namespace mlir;

namespace cleave::plan {

// The model's name for an op, from the innermost name in its location.
static std::string noteOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string note = noteOf(part); !note.empty())
        return note;
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return noteOf(call.getCallee());
  return "";
}

Step &DraftBuilder::addStep(Operation *op, StringRef mnemonic, std::vector<RootUse> uses, NamedAttrList fields) {
  draft.instructions.push_back({mnemonic.str(), std::move(fields), noteOf(op->getLoc())});
  Step step;
  step.uses = std::move(uses);
  step.payload = draft.instructions.size() - 1;
  draft.steps.push_back(std::move(step));
  return draft.steps.back();
}

Step &DraftBuilder::addCopy(Operation *op, Place target, Place source, uint64_t bytes) {
  return addStep(op, "copy", {use(target, bytes, false, true), use(source, bytes, true, false)});
}

Step &DraftBuilder::addFill(Operation *op, Place target, uint64_t bytes, int64_t pattern, int64_t width) {
  NamedAttrList fields;
  fields.set("pattern", builder.getI64IntegerAttr(pattern));
  fields.set("width", builder.getI64IntegerAttr(width));
  return addStep(op, "fill", {use(target, bytes, false, true)}, fields);
}

unsigned DraftBuilder::stateRoot(StringRef name) {
  auto [known, isNew] = stateRoots.try_emplace(name, 0);
  if (isNew) {
    ModulePlan::StatePlace state = *plan.findState(name);
    known->second = draft.roots.add(RegionKind::Persistent, state.bytes, state.offset);
  }
  return known->second;
}

unsigned DraftBuilder::poolRoot(RegionKind kind, uint64_t bytes) {
  auto known = poolRoots.find(kind);
  if (known == poolRoots.end())
    known = poolRoots.emplace(kind, draft.roots.add(kind, bytes, /*fixed=*/0)).first;
  plan.needRegion(kind, std::max<uint64_t>(bytes, 1)); // it must exist
  return known->second;
}

FailureOr<Place> DraftBuilder::placeOf(Value value) {
  auto known = places.find(value);
  if (known != places.end())
    return draft.roots.resolve(known->second);
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return emitError(value.getLoc(), "expected a value that is defined before it is used in the planned program");
  FailureOr<Place> place = materialize(constant);
  if (succeeded(place))
    places[value] = *place;
  return place;
}

static uint64_t splatBits(DenseElementsAttr value) {
  if (isa<FloatType>(value.getElementType()))
    return value.getSplatValue<APFloat>().bitcastToAPInt().getZExtValue();
  return value.getSplatValue<APInt>().getZExtValue();
}

FailureOr<Place> DraftBuilder::materialize(ConstantOp constant) {
  auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!value)
    return constant.emitOpError("expected a dense constant outside of kernels");
  uint64_t bytes = bytesOf(value.getType());
  if (value.isSplat()) {
    Place place = addFresh(bytes);
    addFill(constant, place, bytes, static_cast<int64_t>(splatBits(value)), elementBytes(value.getElementType()));
    return place;
  }
  FailureOr<ModulePlan::StatePlace> state = plan.addConstant(value, constant.getLoc());
  if (failed(state))
    return failure();
  return Place{draft.roots.add(RegionKind::Persistent, state->bytes, state->offset), 0};
}

static FailureOr<Reduction> convertReduction(shard::AllReduceOp op) {
  switch (op.getReduction()) {
  case shard::ReductionKind::Sum:
    return Reduction::Sum;
  case shard::ReductionKind::Max:
    return Reduction::Max;
  case shard::ReductionKind::Min:
    return Reduction::Min;
  default:
    return op.emitOpError("expected a reduction by sum, max or min; got: ")
           << shard::stringifyReductionKind(op.getReduction());
  }
}

// Whether no value that lies in the root by now, results of `op` aside, is used behind `op`. Exact where families are
// not: two buckets that share a gradient (residual branches that end in batch norms have one bias gradient) are one
// family.
bool DraftBuilder::isLastUseOf(unsigned root, Operation *op) const {
  for (const auto &[value, place] : places)
    if (value.getDefiningOp() != op && draft.roots.resolve(place).root == root)
      for (Operation *user : value.getUsers())
        if (user->getBlock() == op->getBlock() && op->isBeforeInBlock(user))
          return false;
  return true;
}

bool DraftBuilder::canReduceInPlace(shard::AllReduceOp op, Place place, uint64_t bytes, uint64_t padded) {
  if (!isLastUseOf(draft.roots.resolve(place).root, op))
    return false;
  if (draft.roots.isFresh(place))
    return bytes == padded || draft.roots.isFreshWhole(place, bytes);
  // A state's own bytes, when no program reads the unreduced value again (gradients: the next step begins with a
  // write).
  auto read = op.getInput().getDefiningOp<ReadOp>();
  if (!read || bytes != padded || plan.survives(read.getState()))
    return false;
  for (Operation *later = op->getNextNode(); later; later = later->getNextNode())
    if (auto again = dyn_cast<ReadOp>(later); again && again.getState() == read.getState())
      return false;
  return true;
}

// The ring cuts the data into as many equal shares as there are ranks: a scalar is padded with zeros up to that.
LogicalResult DraftBuilder::visitAllReduce(shard::AllReduceOp op) {
  FailureOr<Place> place = placeOf(op.getInput());
  FailureOr<Reduction> reduction = convertReduction(op);
  auto type = dyn_cast<RankedTensorType>(op.getResult().getType());
  if (failed(place) || failed(reduction) || !type)
    return failure();
  if (op.getInput().getType() != type)
    return op.emitOpError("expected to keep the type; got: ") << op.getInput().getType() << " and " << type;
  llvm::SmallVector<StringRef> axes;
  for (int16_t axis : op.getGridAxes()) {
    if (!plan.getMesh() || axis < 0 || axis >= static_cast<int64_t>(plan.getMesh().getNames().size()))
      return op.emitOpError("expected axes of cleave.mesh; got: ") << axis;
    axes.push_back(plan.getMesh().getNames()[axis].getValue());
  }
  int64_t ranks = plan.ranksOn(axes), count = llvm::alignTo(std::max<int64_t>(type.getNumElements(), 1), ranks);
  places[op.getResult()] = *place;
  if (ranks == 1) {
    // The same value twice: it needs bytes of its own only where the operand is used again.
    if (families.lastUse(op.getInput()) != families.position(op)) {
      places[op.getResult()] = addFresh(bytesOf(type));
      addCopy(op, places[op.getResult()], *place, bytesOf(type));
    }
    return success();
  }
  uint64_t width = elementBytes(type.getElementType()), bytes = bytesOf(type), padded = count * width;
  Place data = *place;
  if (!canReduceInPlace(op, data, bytes, padded)) {
    data = addFresh(padded);
    addCopy(op, data, *place, bytes).early = true;
  } else if (bytes != padded) {
    draft.roots[data.root].bytes = padded;
  }
  if (bytes != padded)
    addFill(op, {data.root, data.offset + bytes}, padded - bytes, 0, width).early = true;
  places[op.getResult()] = data;

  NamedAttrList fields;
  fields.set("group", plan.group(axes));
  fields.set("dtype", TypeAttr::get(type.getElementType()));
  fields.set("reduction", ReductionAttr::get(op.getContext(), *reduction));
  fields.set("algorithm", AlgorithmAttr::get(op.getContext(), Algorithm::Ring));
  fields.set("count", builder.getI64IntegerAttr(count));
  RootUse staging = use({poolRoot(RegionKind::Communication, padded / ranks), 0}, padded / ranks, false, true);
  staging.scratch = true;
  Step &step = addStep(op, "all_reduce", {use(data, padded, true, true), staging}, fields);
  step.stream = kReduceStream;
  plan.needReduceStream();
  step.early = true;
  return success();
}

} // namespace cleave::plan

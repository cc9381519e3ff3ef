// DraftBuilder's values and steps: places of states, constants and pools.
#include "compiler/Planning/Draft/DraftBuilder.h"
#include "dialects/Cleave/IR/Messages.h"

using namespace mlir;

namespace cleave::plan {

Step &DraftBuilder::addStep(Operation *op, StringRef mnemonic, std::vector<RootUse> uses, NamedAttrList fields) {
  draft.instructions.push_back({mnemonic.str(), std::move(fields), nodeNameOf(op->getLoc())});
  Step step;
  step.uses = std::move(uses);
  step.payload = draft.instructions.size() - 1;
  for (const RootUse &touched : step.uses)
    draft.roots.noteStep(touched.root, draft.steps.size());
  draft.steps.push_back(std::move(step));
  return draft.steps.back();
}

Step &DraftBuilder::addCopy(Operation *op, Place target, Place source, uint64_t bytes) {
  Step &step = addStep(op, "copy", {use(target, bytes, false, true), use(source, bytes, true, false)});
  if (!draft.roots.isHost(target) && !draft.roots.isHost(source))
    return step;
  step.stream = kCopyStream;
  plan.needStream(kCopyStream);
  step.isCopyOut = step.early = draft.roots.isHost(target);
  return step;
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
    known->second = draft.roots.add(RegionKind::Persistent, state.bytes, state.offset, state.isHost);
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
    put(value, *place);
  return place;
}

uint64_t splatBits(DenseElementsAttr value) {
  if (isa<FloatType>(value.getElementType()))
    return value.getSplatValue<APFloat>().bitcastToAPInt().getZExtValue();
  return value.getSplatValue<APInt>().getZExtValue();
}

void DraftBuilder::fillWith(DenseElementsAttr splat, Place target, Operation *op) {
  addFill(op, target, bytesOf(splat.getType()), static_cast<int64_t>(splatBits(splat)),
          elementBytes(splat.getElementType()));
}

FailureOr<Place> DraftBuilder::materialize(ConstantOp constant) {
  auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!value)
    return constant.emitOpError("expected a dense constant outside of kernels");
  if (value.isSplat()) {
    Place place = addFresh(bytesOf(value.getType()));
    fillWith(value, place, constant);
    return place;
  }
  FailureOr<ModulePlan::StatePlace> state = plan.addConstant(value, constant.getLoc());
  if (failed(state))
    return failure();
  return Place{draft.roots.add(RegionKind::Persistent, state->bytes, state->offset), 0};
}

} // namespace cleave::plan

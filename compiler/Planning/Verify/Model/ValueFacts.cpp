#include "compiler/Planning/Verify/Model/ValueFacts.h"

#include "compiler/Support/WireType.h"

using namespace mlir;

namespace cleave::plan {

uint64_t dtypeNumber(Type element) { return static_cast<uint64_t>(wireType(element).value_or(rt::fb::DType::f32)); }

AxesFacts axesOf(MeshAttr mesh, ArrayRef<StringRef> names) {
  AxesFacts facts;
  for (StringRef name : names)
    for (auto [index, axis] : llvm::enumerate(mesh ? mesh.getNames() : ArrayRef<StringAttr>()))
      if (axis.getValue() == name)
        facts.add(index, std::string_view(name.data(), name.size()), mesh.getSizes()[index]);
  return facts;
}

AxesFacts axesOf(MeshAttr mesh, std::optional<ArrayAttr> names) {
  llvm::SmallVector<StringRef> list;
  if (names)
    for (auto name : names->getAsRange<StringAttr>())
      list.push_back(name.getValue());
  return axesOf(mesh, ArrayRef<StringRef>(list));
}

StateFacts factsOf(StateOp state, MeshAttr mesh) {
  auto type = cast<RankedTensorType>(state.getType());
  StateFacts facts;
  facts.name = state.getSymName().str();
  facts.slot = state.getSlot().value_or("").str();
  facts.role = static_cast<uint64_t>(state.getRole());
  facts.dtype = dtypeNumber(type.getElementType());
  facts.elements = type.getNumElements();
  facts.split = axesOf(mesh, state.getSplitAxes());
  facts.partial = axesOf(mesh, state.getPartialAxes());
  facts.bytes = facts.elements / facts.split.ranks * elementBytes(type.getElementType());
  for (auto segment : state.getSegments().getAsRange<SegmentAttr>()) {
    StateFacts::Segment entry;
    entry.name = segment.getName().str();
    entry.source = segment.getSource() ? segment.getSource().str() : "";
    entry.shape.assign(segment.getType().getShape().begin(), segment.getType().getShape().end());
    entry.offset = segment.getOffset();
    entry.group = segment.getGroup();
    entry.init = static_cast<uint64_t>(segment.getInit());
    entry.value = segment.getValue() ? segment.getValue().getValueAsDouble() : 0;
    if (segment.getInit() == InitKind::Coordinate && segment.getAxis()) {
      entry.axis = segment.getAxis().str();
      facts.coordinates |= axesOf(mesh, ArrayRef<StringRef>(segment.getAxis().getValue())).axes;
    }
    facts.segments.push_back(std::move(entry));
  }
  return facts;
}

} // namespace cleave::plan

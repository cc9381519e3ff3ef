#include "compiler/Planning/Verify/Facts/PlanFacts.h"

#include "compiler/Planning/Verify/PlanText.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"

namespace cleave::plan {

using namespace rt;

bool isEntry(const fb::Program &program, std::string_view name) {
  return program.entry() && textOf(program.name()) == name;
}

bool hasTrainingStep(const fb::Plan &plan) {
  for (uint32_t i = 0; i < lengthOf(plan.programs()); ++i)
    if (isEntry(*plan.programs()->Get(i), "train_step"))
      return true;
  return false;
}

template <typename Axes> static AxesFacts axesFacts(const fb::Plan &plan, const Axes *axes) {
  AxesFacts facts;
  for (uint32_t i = 0; i < lengthOf(axes); ++i) {
    const fb::Axis &axis = *plan.axes()->Get(axes->Get(i));
    facts.add(axes->Get(i), textOf(axis.name()), axis.size());
  }
  return facts;
}

AxesFacts groupFacts(const fb::Plan &plan, const fb::Group &group) {
  AxesFacts facts;
  for (uint32_t i = 0; i < lengthOf(group.axes()); ++i) {
    uint32_t index = group.axes()->Get(i);
    const fb::Axis &axis = *plan.axes()->Get(index);
    if (const fb::AxisPlaces *places = placesOn(group, index))
      facts.addCoordinates(index, textOf(axis.name()), {places->coordinates()->begin(), places->coordinates()->end()});
    else
      facts.add(index, textOf(axis.name()), axis.size());
  }
  return facts;
}

KindBox boxOf(const fb::Plan &kind) {
  KindBox box;
  for (uint32_t axis = 0; axis < lengthOf(kind.axes()); ++axis) {
    AxisRange range = rangeOf(kind, axis);
    box.ranges.push_back({range.begin, range.end});
  }
  return box;
}

StateFacts stateFacts(const fb::Plan &plan, const fb::State &state) {
  StateFacts facts;
  facts.name = textOf(state.name());
  facts.slot = textOf(state.slot());
  facts.role = static_cast<uint64_t>(state.role());
  facts.dtype = static_cast<uint64_t>(state.dtype());
  facts.elements = state.elements();
  facts.bytes = stateShardBytes(plan, state);
  facts.split = axesFacts(plan, state.split_axes());
  facts.partial = axesFacts(plan, state.partial_axes());
  for (size_t i = 0; i < lengthOf(state.segments()); ++i) {
    const fb::Segment &segment = *state.segments()->Get(i);
    StateFacts::Segment entry;
    entry.name = textOf(segment.name());
    entry.source = textOf(segment.source());
    if (segment.shape())
      entry.shape.assign(segment.shape()->begin(), segment.shape()->end());
    entry.offset = segment.offset();
    entry.group = segment.group();
    entry.init = static_cast<uint64_t>(segment.init());
    entry.value = segment.value();
    if (segment.init() == fb::InitKind::coordinate && segment.axis() < lengthOf(plan.axes())) {
      entry.axis = textOf(plan.axes()->Get(segment.axis())->name());
      facts.coordinates |= AxisMask{1} << segment.axis();
    }
    facts.segments.push_back(std::move(entry));
  }
  return facts;
}

PortFacts portFacts(const fb::Plan &plan, const fb::Port &port) {
  PortFacts facts;
  facts.name = textOf(port.name());
  facts.dtype = static_cast<uint64_t>(port.dtype());
  facts.bytes = portBytes(port);
  if (port.shape())
    facts.shape.assign(port.shape()->begin(), port.shape()->end());
  facts.batchDim = port.batch_dim();
  facts.split = axesFacts(plan, port.split_axes());
  return facts;
}

KernelComputation kernelComputation(const fb::Kernel &kernel) {
  KernelComputation computation;
  computation.kind = static_cast<uint64_t>(kernel.kind());
  computation.name = textOf(kernel.name());
  computation.code = kernel.code();
  if (kernel.params())
    computation.params.assign(kernel.params()->begin(), kernel.params()->end());
  for (size_t i = 0; i < lengthOf(kernel.operands()); ++i) {
    const fb::Operand &operand = *kernel.operands()->Get(static_cast<unsigned>(i));
    computation.operands.push_back(
        {operand.bytes(), reads(operand.access()), writes(operand.access()), operand.over()});
  }
  if (kernel.depends())
    computation.depends.assign(kernel.depends()->begin(), kernel.depends()->end());
  return computation;
}

std::vector<bool> scratchOperands(const fb::Kernel &kernel) {
  std::vector<bool> areScratch;
  std::vector<Operand> operands;
  if (kernel.kind() == fb::KernelKind::generated || !operandsOf(kernel, &operands).isOk()) // openPlan() has read them
    return areScratch;
  for (const Operand &operand : operands)
    areScratch.push_back(operand.name == "scratch");
  return areScratch;
}

TransferFacts transferFacts(const fb::Plan &plan, const InstructionView &view) {
  TransferFacts facts;
  const fb::Axis &axis = *plan.axes()->Get(static_cast<unsigned>(view["axis"]));
  facts.axis.add(static_cast<uint64_t>(view["axis"]), textOf(axis.name()), axis.size());
  int64_t toReceiver = view.opcode() == Opcode::Send ? view["offset"] : -view["offset"];
  facts.offset = (toReceiver + axis.size()) % axis.size();
  facts.channel = view["channel"];
  return facts;
}

} // namespace cleave::plan

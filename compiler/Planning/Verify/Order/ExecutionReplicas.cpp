// The second of Execution's abstract runs: along which axes of the mesh the bytes of a place may differ between ranks.
#include "compiler/Planning/Verify/Facts/CollectiveMeaning.h"
#include "compiler/Planning/Verify/Order/Execution.h"

#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/RankKinds.h"

namespace cleave::plan {

using namespace rt;

AxisMask axisMask(const flatbuffers::Vector<uint32_t> *axes) {
  AxisMask mask = 0;
  for (size_t i = 0; i < lengthOf(axes); ++i)
    mask |= AxisMask{1} << axes->Get(i);
  return mask;
}

AxisMask Execution::axesOf(unsigned group) const { return axisMask(plan_.groups()->Get(group)->axes()); }

// Returns the axes along which ranks have different parts of a state, or different terms of it.
AxisMask axesOfParts(const fb::State &state) { return axisMask(state.split_axes()) | axisMask(state.partial_axes()); }

AxisMask Execution::allAxes() const {
  AxisMask all = 0;
  for (uint32_t axis = 0; axis < lengthOf(plan_.axes()); ++axis)
    if (plan_.axes()->Get(axis)->size() > 1)
      all |= AxisMask{1} << axis;
  return all;
}

// Returns the axes along which the values that an instruction writes may differ: those of the values that it reads. Of
// these, only the buffers count that `depends` names, by their number among the buffers that are read. Collectives are
// different, because they change these axes.
AxisMask Execution::variesAfter(const InstructionView &view, const Frames &frames, uint64_t depends) {
  AxisMask varies = 0;
  unsigned number = 0;
  for (size_t i = 0; i < view.bufferCount(); ++i) {
    const fb::Buffer &buffer = view.buffer(i);
    if (!reads(buffer.access()))
      continue;
    bool counts = number >= 64 || (depends >> number & 1);
    ++number;
    if (!counts || buffer.bytes() == 0)
      continue;
    if (buffer.share_of() != 0)
      varies |= axesOf(buffer.share_of() - 1u);
    auto [first, last] = history(buffer, frames).range(buffer.offset(), bufferEnd(plan_, buffer));
    for (auto cell = first; cell != last; ++cell)
      varies |= variesOf(*cell, neededShare(view, buffer));
  }
  const CollectiveMeaning *meaning = meaningOf(view.opcode());
  if (!meaning)
    return varies;
  // Receivers do not read the root's value, which may differ along any other axis.
  if (meaning->needs == DataPart::OfRoot && !reads(view.buffer(0).access()))
    varies |= allAxes();
  AxisMask group = axesOf(static_cast<unsigned>(view["group"]));
  return meaning->equalizes ? varies & ~group : varies | group;
}

AxisMask Execution::variesOfReceived(InstructionRef ref) const {
  auto found = received_.find({ref.program, ref.index});
  if (found != received_.end())
    return found->second;
  return allAxes();
}

// Returns the axes along which the instruction's results may differ, in the order in which it writes them.
std::vector<AxisMask> Execution::variesOfResults(const InstructionView &view, InstructionRef ref,
                                                 const Frames &frames) {
  if (view.opcode() == Opcode::Recv)
    return {variesOfReceived(ref)};
  const flatbuffers::Vector<uint64_t> *depends = nullptr;
  if (view.opcode() == Opcode::Launch)
    depends = plan_.kernels()->Get(static_cast<unsigned>(view["kernel"]))->depends();
  std::vector<AxisMask> varies;
  for (size_t i = 0; i < view.bufferCount(); ++i)
    if (writes(view.buffer(i).access())) {
      auto number = static_cast<unsigned>(varies.size());
      uint64_t operands = number < lengthOf(depends) ? depends->Get(number) : ~uint64_t{0};
      varies.push_back(leavesNoValue(view, i) ? allAxes() : variesAfter(view, frames, operands));
    }
  return varies;
}

// Ranks that only read what a collective makes equal (the root of a broadcast) now have an equal value, too.
void Execution::recordEqualized(const InstructionView &view, const Frames &frames) {
  const CollectiveMeaning *meaning = meaningOf(view.opcode());
  if (!meaning || !meaning->equalizes || writes(view.buffer(0).access()))
    return;
  const fb::Buffer &data = view.buffer(0);
  auto [first, last] = history(data, frames).range(data.offset(), bufferEnd(plan_, data));
  for (auto cell = first; cell != last; ++cell)
    cell->second.varies &= ~axesOf(static_cast<unsigned>(view["group"]));
}

// Along an axis on which a kind has one coordinate, ranks of other kinds have its replicas. They run other code, which
// this run does not know. Their expressions are compared instead (RankKindComparison.h).
AxisMask Execution::axesOfOtherKinds() const {
  AxisMask axes = 0;
  for (uint32_t axis = 0; axis < lengthOf(plan_.axes()); ++axis)
    if (AxisRange range = rangeOf(plan_, axis); range.end - range.begin == 1)
      axes |= AxisMask{1} << axis;
  return axes;
}

void Execution::expectEqual(const Replica &replica) {
  for (auto &[place, memory] : histories_) {
    if (place.first != replica.region)
      continue;
    auto [first, last] = memory.range(replica.begin, replica.end);
    for (auto cell = first; cell != last; ++cell) {
      AxisMask differs = cell->second.varies & ~(replica.allowed | axesOfOtherKinds());
      if (!cell->second.writer || differs == 0)
        continue;
      uint32_t axis = 0;
      while ((differs >> axis & 1) == 0)
        ++axis;
      find("replica", replica.what + " is the same on all ranks of axis '" + plan_.axes()->Get(axis)->name()->str() +
                          "', but " + text(cell->second.writer->ref) + " may write different values to it");
      return;
    }
  }
}

void Execution::expectReplicasEqual() {
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    expectEqual({"state '" + state.name()->str() + "'", state.region(), state.offset(),
                 state.offset() + stateShardBytes(plan_, state), axesOfParts(state)});
  }
  const fb::Program &entry = *plan_.programs()->Get(entry_);
  for (size_t i = 0; i < lengthOf(entry.outputs()); ++i)
    if (const fb::Port &port = *entry.outputs()->Get(i); !port.absent())
      expectEqual({"output '" + port.name()->str() + "' of " + entry.name()->str(), port.region(), port.offset(),
                   port.offset() + portBytes(port), axisMask(port.split_axes())});
}

} // namespace cleave::plan

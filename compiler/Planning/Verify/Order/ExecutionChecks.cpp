// The rules of Execution for one instruction: what is wrong with it by itself, and what its reads and writes may meet.
#include "compiler/Planning/Verify/Facts/CollectiveMeaning.h"
#include "compiler/Planning/Verify/Order/Execution.h"

#include "runtime/base/Counted.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

// Within a kind, what an instruction does must not depend on the rank.
void Execution::checkRoot(const InstructionView &view, const Moment &moment) {
  if (fieldIndex(view.opcode(), "root") < 0)
    return;
  const fb::Group &group = *plan_.groups()->Get(static_cast<unsigned>(view["group"]));
  if (!isRoot(plan_, group, view["root"]))
    find("kind", text(moment.ref) + ": its root and others are of one kind of ranks");
}

// Checks what is the same in every run of an instruction.
void Execution::checkAlone(const InstructionView &view, const Moment &moment) {
  if (!checkedAlone_.insert({moment.ref.program, moment.ref.index}).second)
    return;
  checkRoot(view, moment);
  checkAccessModes(view, moment);
  checkSpaces(view, moment);
  checkShares(view, moment);
  checkOwnOverlaps(view, moment);
  for (size_t i = 0; i < view.bufferCount(); ++i)
    if (view.buffer(i).bytes() != 0)
      checkInsideState(view.buffer(i), moment);
}

// Returns the access modes that an instruction's meaning demands; empty if any mode is allowed.
std::vector<fb::Access> Execution::expectedAccess(const InstructionView &view) const {
  std::vector<fb::Access> modes;
  if (const CollectiveMeaning *meaning = meaningOf(view.opcode()); meaning && meaning->needs == DataPart::OfRoot)
    return {isRootHere(view) ? fb::Access::read : fb::Access::write};
  if (view.opcode() == Opcode::Launch) {
    std::vector<Operand> operands;
    if (operandsOf(*plan_.kernels()->Get(static_cast<unsigned>(view["kernel"])), &operands).isOk()) // openPlan() knows
      for (const Operand &operand : operands)
        modes.push_back(operand.access);
    return modes;
  }
  for (std::string_view name : view.info().buffers)
    modes.push_back(name == "source" ? fb::Access::read : name == "data" ? fb::Access::read_write : fb::Access::write);
  return modes;
}

void Execution::checkAccessModes(const InstructionView &view, const Moment &moment) {
  std::vector<fb::Access> expected = expectedAccess(view);
  for (size_t i = 0; i < expected.size() && i < view.bufferCount(); ++i) {
    fb::Access got = view.buffer(i).access();
    if (got != expected[i])
      find("access", text(moment.ref) + ": buffer " + std::to_string(i) + " must be " +
                         fb::EnumNameAccess(expected[i]) + "; got: " + fb::EnumNameAccess(got));
  }
}

// Kernels and collectives run on the device. Only copies use host memory.
void Execution::checkSpaces(const InstructionView &view, const Moment &moment) {
  if (view.opcode() == Opcode::Copy)
    return;
  for (size_t i = 0; i < view.bufferCount(); ++i)
    if (plan_.regions()->Get(view.buffer(i).region())->space() == fb::Space::host)
      find("space", text(moment.ref) + ": buffer " + std::to_string(i) + " lies in host memory (" +
                        plan_.regions()->Get(view.buffer(i).region())->name()->str() + "), which only copies reach");
}

// Ranks gather and scatter parts of one range. If the range were a share, no two ranks of another group would have it
// at one place, and what the instruction leaves would have no description.
void Execution::checkShares(const InstructionView &view, const Moment &moment) {
  const CollectiveMeaning *meaning = meaningOf(view.opcode());
  bool hasParts = meaning && (meaning->needs == DataPart::OwnShare || meaning->leaves == DataPart::OwnShare);
  if (hasParts && view.buffer(0).share_of() != 0)
    find("part",
         text(moment.ref) + ": its data is a share; expected the same bytes on all ranks, of which each has a part");
}

// openPlan() has checked where kernels work in place.
void Execution::checkOwnOverlaps(const InstructionView &view, const Moment &moment) {
  if (view.opcode() == Opcode::Launch)
    return;
  for (size_t i = 0; i < view.bufferCount(); ++i)
    for (size_t j = i + 1; j < view.bufferCount(); ++j) {
      const fb::Buffer &a = view.buffer(i), &b = view.buffer(j);
      if (buffersOverlap(plan_, a, b) && (writes(a.access()) || writes(b.access())))
        find("overlap", text(moment.ref) + ": its buffers " + std::to_string(i) + " and " + std::to_string(j) +
                            " overlap in " +
                            describeBytes(plan_, a.region(), std::max(a.offset(), b.offset()),
                                          std::min(bufferEnd(plan_, a), bufferEnd(plan_, b))));
    }
}

void Execution::checkInsideState(const fb::Buffer &buffer, const Moment &moment) {
  if (plan_.regions()->Get(buffer.region())->kind() != fb::RegionKind::persistent)
    return;
  // States share no bytes (checkStateRanges), so only the last state that begins at the buffer's first byte or before
  // it can contain it.
  auto behind = stateEnds_.upper_bound({buffer.region(), buffer.offset()});
  if (behind != stateEnds_.begin() && std::prev(behind)->first.first == buffer.region() &&
      bufferEnd(plan_, buffer) <= std::prev(behind)->second)
    return;
  find("state", text(moment.ref) + " uses " +
                    describeBytes(plan_, buffer.region(), buffer.offset(), bufferEnd(plan_, buffer)) +
                    ", which lies in no single state");
}

void Execution::checkInitialized(const fb::Buffer &buffer, const MemoryHistory::Cells::value_type &cell,
                                 const ShareRange &needed, const Moment &moment) {
  if (cell.second.initialized || covers(cell, needed))
    return;
  const char *what = cell.second.shares.empty() ? ", which nothing has written"
                                                : ", of which only one rank's share is written, and not the one needed";
  find("uninitialized",
       text(moment.ref) + " reads " + describeBytes(plan_, buffer.region(), cell.first, cell.second.end) + what);
}

// Frames share places: the content of a place must belong to the frame that is read.
void Execution::checkFrame(const fb::Buffer &buffer, const MemoryHistory::Cells::value_type &cell, const Moment &moment,
                           const Frames &frames) {
  const fb::Region &region = *plan_.regions()->Get(buffer.region());
  int64_t frame = frameOf(buffer, frames);
  uint32_t fed = std::min(region.frames(), fedFrames_);
  bool isUnfed = region.kind() == fb::RegionKind::input &&
                 (frame < 0 || frame >= int64_t{shortStep_.framesOf(fb::Counter::micro_batch, fed)});
  bool hasFrames = region.frames() > 1 || region.kind() == fb::RegionKind::residual;
  bool isOthers = hasFrames && cell.second.writer && cell.second.writer->frame != frame;
  if (!isUnfed && !isOthers)
    return;
  std::string what = text(moment.ref) + " reads frame " + std::to_string(frame) + " of " +
                     describeBytes(plan_, buffer.region(), cell.first, cell.second.end);
  if (isUnfed)
    find("frame", what + "; the host feeds " + counted(fed, "frame") + " of it");
  else
    find("frame", what + ", in whose place " + text(cell.second.writer->ref) + " has written frame " +
                      std::to_string(cell.second.writer->frame) + "; the region has " +
                      std::to_string(region.frames()) + " frames, which are too few, or the frame is another");
}

void Execution::checkRead(const fb::Buffer &buffer, const ShareRange &needed, const Moment &moment,
                          const Frames &frames) {
  auto [first, last] = history(buffer, frames).range(buffer.offset(), bufferEnd(plan_, buffer));
  auto bytes = [&](const MemoryHistory::Cells::value_type &of) {
    return describeBytes(plan_, buffer.region(), of.first, of.second.end);
  };
  for (auto cell = first; cell != last; ++cell) {
    checkInitialized(buffer, *cell, needed, moment);
    checkFrame(buffer, *cell, moment, frames);
    if (cell->second.writer && !happensBefore(*cell->second.writer, moment))
      find("race", text(moment.ref) + " reads " + bytes(*cell) + " while " + text(cell->second.writer->ref) +
                       " may still write it; no event orders them");
  }
}

void Execution::checkWrite(const fb::Buffer &buffer, const Moment &moment, const Frames &frames) {
  auto [first, last] = history(buffer, frames).range(buffer.offset(), bufferEnd(plan_, buffer));
  auto bytes = [&](const MemoryHistory::Cells::value_type &of) {
    return describeBytes(plan_, buffer.region(), of.first, of.second.end);
  };
  for (auto cell = first; cell != last; ++cell) {
    if (cell->second.writer && !happensBefore(*cell->second.writer, moment))
      find("race", text(moment.ref) + " writes " + bytes(*cell) + " while " + text(cell->second.writer->ref) +
                       " may still write it; no event orders them");
    for (const Moment &reader : cell->second.readers)
      if (!happensBefore(reader, moment))
        find("race", text(moment.ref) + " writes " + bytes(*cell) + " while " + text(reader.ref) +
                         " may still read it; no event orders them");
  }
}

} // namespace cleave::plan

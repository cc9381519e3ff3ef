#include "compiler/Planning/Execution.h"
#include "compiler/Planning/CollectiveMeaning.h"

#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/Kinds.h"
#include "runtime/plan/PlanReader.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

Execution::Execution(const fb::Plan &plan, const std::vector<const fb::Plan *> &kinds, std::vector<Finding> *findings)
    : plan_(plan), kinds_(kinds), findings_(findings),
      clocks_(plan.streams()->size(), Clock(plan.streams()->size(), 0)) {
  for (size_t i = 0; i < lengthOf(plan.states()); ++i) {
    const fb::State &state = *plan.states()->Get(i);
    uint64_t &end = stateEnds_[{state.region(), state.offset()}];
    end = std::max(end, state.offset() + stateShardBytes(plan, state));
  }
  for (size_t i = 0; i < lengthOf(plan.regions()); ++i) // inputs have been fed in all of their frames
    if (const fb::Region &region = *plan.regions()->Get(i); region.kind() != fb::RegionKind::input)
      maxTimes_ = std::max(maxTimes_, int64_t{region.frames()} + 2);
}

void Execution::find(const char *rule, std::string text) {
  if (found_.insert(rule + (": " + text)).second)
    findings_->push_back({rule, std::move(text)});
}

MemoryHistory &Execution::history(unsigned region, uint64_t frame) {
  const fb::Region &info = *plan_.regions()->Get(region);
  auto [known, isNew] = histories_.try_emplace({region, frame % info.frames()}, info.bytes());
  if (isNew)
    setInitial(region, known->second);
  return known->second;
}

static void addInitial(MemoryHistory &memory, uint64_t offset, uint64_t bytes, AxisMask varies) {
  auto [first, last] = memory.range(offset, offset + bytes);
  for (auto cell = first; cell != last; ++cell) {
    cell->second.initialized = true;
    cell->second.varies |= varies;
  }
}

// States begin as they are declared, the entry's inputs as they are fed; nothing else has a value.
void Execution::setInitial(unsigned region, MemoryHistory &memory) const {
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    if (state.region() != region)
      continue;
    AxisMask varies = axesOfParts(state);
    for (size_t s = 0; s < lengthOf(state.segments()); ++s)
      if (state.segments()->Get(s)->init() == fb::InitKind::coordinate)
        varies |= AxisMask{1} << state.segments()->Get(s)->axis();
    addInitial(memory, state.offset(), stateShardBytes(plan_, state), varies);
  }
  const auto *ports = plan_.programs()->Get(entry_)->inputs();
  for (size_t p = 0; p < lengthOf(ports); ++p)
    if (const fb::Port &port = *ports->Get(p); port.region() == region) {
      addInitial(memory, port.offset(), portBytes(port), axisMask(port.split_axes()));
    }
}

void Execution::run(uint32_t entry) {
  entry_ = entry;
  runProgram(entry, 0);
}

void Execution::runProgram(uint32_t program, uint64_t frame, const CallScope *caller) {
  struct Recorded {
    Clock clock;
    InstructionRef ref;
  };
  std::map<int64_t, Recorded> events;
  const auto *instructions = plan_.programs()->Get(program)->instructions();
  for (uint32_t i = 0; i < lengthOf(instructions); ++i) {
    if (++steps_ > kMaxSteps)
      return find("too long", plan_.programs()->Get(entry_)->name()->str() + " runs more than " +
                                  std::to_string(kMaxSteps) + " instructions, calls expanded; it is not checked");
    InstructionView view(*instructions->Get(i));
    unsigned stream = view.stream();
    Moment moment{stream, ++clocks_[stream][stream], {program, i}};
    if (view.opcode() == Opcode::Record) {
      auto [at, isNew] = events.try_emplace(view["event"], Recorded{clocks_[stream], moment.ref});
      if (!isNew)
        find("event", text(moment.ref) + " records the event that " + text(at->second.ref) + " has recorded");
      continue;
    }
    if (view.opcode() == Opcode::Wait) {
      auto at = events.find(view["event"]);
      if (at == events.end())
        find("event", text(moment.ref) + " waits for an event that nothing before it records");
      else
        for (size_t s = 0; s < clocks_.size(); ++s)
          clocks_[stream][s] = std::max(clocks_[stream][s], at->second.clock[s]);
      continue;
    }
    if (caller)
      checkJoinedAtStart(moment, *caller);
    if (view.opcode() == Opcode::Call)
      runCall(view, moment);
    else
      runAccesses(view, moment, frame);
  }
  if (caller)
    checkJoinedAtEnd(program, *caller);
}

void Execution::runCall(const InstructionView &view, const Moment &moment) {
  CallScope scope{moment.stream, moment.tick, moment.ref};
  for (int64_t i = 0; i < std::min(view["times"], maxTimes_) && steps_ <= kMaxSteps; ++i) {
    scope.tick = ++clocks_[moment.stream][moment.stream];
    runProgram(static_cast<uint32_t>(view["program"]), static_cast<uint64_t>(view["first_frame"] + i), &scope);
  }
}

void Execution::checkJoinedAtStart(const Moment &moment, const CallScope &caller) {
  if (clocks_[moment.stream][caller.stream] < caller.tick)
    find("join", text(moment.ref) + " may run before " + text(caller.ref) + ", whose program it belongs to");
}

void Execution::checkJoinedAtEnd(uint32_t program, const CallScope &caller) {
  const auto *instructions = plan_.programs()->Get(program)->instructions();
  std::vector<char> seen(clocks_.size(), 0);
  for (uint32_t i = lengthOf(instructions); i-- > 0;) {
    InstructionView view(*instructions->Get(i));
    unsigned stream = view.stream();
    bool isEvent = view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait;
    if (isEvent || stream == caller.stream || std::exchange(seen[stream], 1))
      continue;
    // Events that follow on the stream do no work: how many there are is how far the clock may lag.
    uint64_t trailing = 0;
    for (uint32_t j = i + 1; j < instructions->size(); ++j)
      trailing += instructions->Get(j)->stream() == stream;
    if (clocks_[caller.stream][stream] + trailing < clocks_[stream][stream])
      find("join", text({program, i}) + " may still run when " + text(caller.ref) + " has returned");
  }
}

// This rank's share of a collective's data.
ShareRange Execution::ownShare(const InstructionView &view) const {
  auto group = static_cast<unsigned>(view["group"]);
  const fb::Buffer &data = view.buffer(0);
  uint64_t bytes = data.bytes() / axesSize(plan_, plan_.groups()->Get(group)->axes());
  return {group + 1, bytes, data.offset(), data.offset() + bytes, 0};
}

// What must have been written of a buffer that is read.
ShareRange Execution::neededShare(const InstructionView &view, const fb::Buffer &buffer) const {
  const CollectiveMeaning *meaning = meaningOf(view.opcode());
  if (meaning && meaning->needs == DataPart::OwnShare && buffer.share_of() == 0)
    return ownShare(view);
  return {buffer.share_of(), buffer.stride(), buffer.offset(), buffer.offset() + buffer.bytes(), 0};
}

bool Execution::isRootHere(const InstructionView &view) const {
  return isRoot(plan_, *plan_.groups()->Get(static_cast<unsigned>(view["group"])), view["root"]).value_or(true);
}

// What an instruction does must not depend on the rank, within a kind.
void Execution::checkRoot(const InstructionView &view, const Moment &moment) {
  if (fieldIndex(view.opcode(), "root") < 0)
    return;
  const fb::Group &group = *plan_.groups()->Get(static_cast<unsigned>(view["group"]));
  if (!isRoot(plan_, group, view["root"]))
    find("kind", text(moment.ref) + ": its root and others are of one kind of ranks");
}

void Execution::runAccesses(const InstructionView &view, const Moment &moment, uint64_t frame) {
  checkRoot(view, moment);
  checkAccessModes(view, moment);
  checkSpaces(view, moment);
  checkOwnOverlaps(view, moment);
  auto forEach = [&](auto &&use) {
    for (size_t i = 0; i < view.bufferCount(); ++i)
      if (view.buffer(i).bytes() != 0)
        use(view.buffer(i));
  };
  forEach([&](const fb::Buffer &buffer) {
    checkInsideState(buffer, moment);
    if (reads(buffer.access()))
      checkRead(buffer, neededShare(view, buffer), moment, frame);
    if (writes(buffer.access()))
      checkWrite(buffer, moment, frame);
  });
  forEach([&](const fb::Buffer &buffer) {
    if (reads(buffer.access()))
      history(buffer.region(), frame).recordRead(buffer.offset(), bufferEnd(plan_, buffer), moment);
  });
  recordWrites(view, moment, frame);
}

void Execution::recordWrites(const InstructionView &view, const Moment &moment, uint64_t frame) {
  std::vector<AxisMask> results = variesOfResults(view, frame);
  recordEqualized(view, frame);
  size_t number = 0;
  for (size_t i = 0; i < view.bufferCount(); ++i) {
    const fb::Buffer &buffer = view.buffer(i);
    if (!writes(buffer.access()))
      continue;
    AxisMask varies = results[number++];
    if (buffer.bytes() == 0)
      continue;
    MemoryHistory &memory = history(buffer.region(), frame);
    uint64_t end = bufferEnd(plan_, buffer);
    if (buffer.share_of() != 0) {
      ShareRange share{buffer.share_of(), buffer.stride(), buffer.offset(), buffer.offset() + buffer.bytes(),
                       varies | axesOf(buffer.share_of() - 1u)};
      memory.recordShareWrite(buffer.offset(), end, moment, share);
      continue;
    }
    memory.recordWrite(buffer.offset(), end, moment, varies);
    if (const CollectiveMeaning *meaning = meaningOf(view.opcode()); meaning && i == 0)
      recordLeft(view, *meaning, memory, varies);
  }
}

// What a collective leaves of its data that means nothing: partial sums beside the rank's share, or on all but the
// root.
void Execution::recordLeft(const InstructionView &view, const CollectiveMeaning &meaning, MemoryHistory &memory,
                           AxisMask varies) {
  if (meaning.leaves == DataPart::All || (meaning.leaves == DataPart::OfRoot && isRootHere(view)))
    return;
  auto [first, last] = memory.range(view.buffer(0).offset(), bufferEnd(plan_, view.buffer(0)));
  for (auto cell = first; cell != last; ++cell) {
    cell->second.initialized = false;
    if (meaning.leaves == DataPart::OwnShare) {
      ShareRange share = ownShare(view);
      share.varies = varies;
      cell->second.shares = {share};
    }
  }
}

// The access modes that an instruction's meaning demands; empty where any will do.
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

// Kernels and collectives run on the device: only copies reach the host's memory.
void Execution::checkSpaces(const InstructionView &view, const Moment &moment) {
  if (view.opcode() == Opcode::Copy)
    return;
  for (size_t i = 0; i < view.bufferCount(); ++i)
    if (plan_.regions()->Get(view.buffer(i).region())->space() == fb::Space::host)
      find("space", text(moment.ref) + ": buffer " + std::to_string(i) + " lies in host memory (" +
                        plan_.regions()->Get(view.buffer(i).region())->name()->str() + "), which only copies reach");
}

// Where a kernel may work in place, openPlan() knows.
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
  // States share no bytes (checkStatePlaces): only the last that begins before the buffer can hold it.
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

void Execution::checkRead(const fb::Buffer &buffer, const ShareRange &needed, const Moment &moment, uint64_t frame) {
  auto [first, last] = history(buffer.region(), frame).range(buffer.offset(), bufferEnd(plan_, buffer));
  for (auto cell = first; cell != last; ++cell) {
    std::string bytes = describeBytes(plan_, buffer.region(), cell->first, cell->second.end);
    checkInitialized(buffer, *cell, needed, moment);
    if (cell->second.writer && !happensBefore(*cell->second.writer, moment))
      find("race", text(moment.ref) + " reads " + bytes + " while " + text(cell->second.writer->ref) +
                       " may still write it; no event orders them");
  }
}

void Execution::checkWrite(const fb::Buffer &buffer, const Moment &moment, uint64_t frame) {
  auto [first, last] = history(buffer.region(), frame).range(buffer.offset(), bufferEnd(plan_, buffer));
  for (auto cell = first; cell != last; ++cell) {
    std::string bytes = describeBytes(plan_, buffer.region(), cell->first, cell->second.end);
    if (cell->second.writer && !happensBefore(*cell->second.writer, moment))
      find("race", text(moment.ref) + " writes " + bytes + " while " + text(cell->second.writer->ref) +
                       " may still write it; no event orders them");
    for (const Moment &reader : cell->second.readers)
      if (!happensBefore(reader, moment))
        find("race", text(moment.ref) + " writes " + bytes + " while " + text(reader.ref) +
                         " may still read it; no event orders them");
  }
}

void Execution::expectWritten(unsigned region, uint64_t begin, uint64_t end, const std::string &what) {
  auto [first, last] = history(region, 0).range(begin, end);
  for (auto cell = first; cell != last; ++cell)
    if (!cell->second.initialized) {
      find("port", what + ": nothing writes " + describeBytes(plan_, region, cell->first, cell->second.end));
      return;
    }
}

} // namespace cleave::plan

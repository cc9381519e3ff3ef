#include "compiler/Planning/Verify/Order/Execution.h"
#include "compiler/Planning/Verify/Facts/CollectiveMeaning.h"
#include "compiler/Planning/Verify/Facts/PlanFacts.h"

#include "runtime/plan/FeedMemory.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/PlanReader.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/SavedState.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cleave::plan {

using namespace rt;

// Instructions are run one by one, in the order of the list. Streams do not run in that order, so each stream has a
// clock. It contains, for every stream, the number of instructions that are certainly done when the own stream's next
// one starts. A record saves the clock of its stream. A wait takes the maximum with the saved clock, entry by entry. An
// earlier instruction happens before a later one if the later one's clock includes its number (happensBefore).
//
//                                    clock of stream 0    of stream 1
//   0  stream 0  launch  a=w               (1, 0)            (0, 0)
//   1  stream 0  record  e                 (2, 0)            (0, 0)
//   2  stream 0  launch  b=w               (3, 0)            (0, 0)
//   3  stream 1  wait    e                 (3, 0)            (2, 1)
//   4  stream 1  launch  c=w a=r           (3, 0)            (2, 2)    a: written as number 1, and 1 <= 2. In order
//   5  stream 1  launch  d=w b=r           (3, 0)            (2, 3)    b: written as number 3, and 3 > 2. A race
//
// Invariant: before each instruction, every byte's history (MemoryHistory.h) has its last writer, all readers since,
// and the axes along which ranks may hold different values in it. An instruction is first checked against the histories
// of all its buffers, and then recorded in them. So it does not race with itself.
Execution::Execution(const fb::Plan &plan, const std::vector<const fb::Plan *> &kinds, const Received &received,
                     const ShortStep &shortStep, std::vector<Finding> *findings)
    : plan_(plan), kinds_(kinds), received_(received), shortStep_(shortStep), findings_(findings),
      clocks_(plan.streams()->size(), Clock(plan.streams()->size(), 0)) {
  for (size_t i = 0; i < lengthOf(plan.states()); ++i) {
    const fb::State &state = *plan.states()->Get(i);
    uint64_t &end = stateEnds_[{state.region(), state.offset()}];
    end = std::max(end, state.offset() + stateShardBytes(plan, state));
  }
}

void Execution::find(const char *rule, std::string text) {
  if (found_.insert(rule + (": " + text)).second)
    findings_->push_back({rule, std::move(text)});
}

MemoryHistory &Execution::history(unsigned region, uint64_t place) {
  auto [known, isNew] = histories_.try_emplace({region, place}, plan_.regions()->Get(region)->bytes());
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

// States begin as they are declared, and the entry's inputs as they are fed. Nothing else has a value.
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
    if (const fb::Port &port = *ports->Get(p); !port.absent() && port.region() == region) {
      addInitial(memory, port.offset(), portBytes(port), axisMask(port.split_axes()));
    }
}

void Execution::run(uint32_t entry) {
  entry_ = entry;
  fedFrames_ = inputFrames(*kinds_.front(), *plan_.programs()->Get(entry));
  runProgram(entry, {});
}

void Execution::runProgram(uint32_t program, const Frames &frames) {
  Own own;
  const auto *instructions = plan_.programs()->Get(program)->instructions();
  for (uint32_t i = 0; i < lengthOf(instructions); ++i) {
    if (++executed_ > kMaxInstructions)
      return find("too long", textOfTooLong(textOf(plan_.programs()->Get(entry_)->name())));
    InstructionView view(*instructions->Get(i));
    if (view.opcode() == Opcode::Call) {
      runCall(view, plan_.programs()->Get(program)->entry(), frames);
      continue;
    }
    unsigned stream = view.stream();
    Moment moment{stream, ++clocks_[stream][stream], {program, i}, executed_};
    if (view.opcode() == Opcode::Record || view.opcode() == Opcode::Wait)
      runEvent(view, moment, own, frames);
    else
      runAccesses(view, moment, frames);
  }
}

void Execution::join(unsigned stream, const Clock &clock) {
  for (size_t s = 0; s < clocks_.size(); ++s)
    clocks_[stream][s] = std::max(clocks_[stream][s], clock[s]);
}

void Execution::runEvent(const InstructionView &view, const Moment &moment, Own &own, const Frames &frames) {
  int64_t shared = view["event"] - int64_t{plan_.programs()->Get(moment.ref.program)->events()};
  if (shared < 0)
    runOwnEvent(view, moment, own);
  else
    runSharedEvent(view, moment, shared, frames);
}

void Execution::runOwnEvent(const InstructionView &view, const Moment &moment, Own &own) {
  unsigned stream = moment.stream;
  if (view.opcode() == Opcode::Record) {
    auto [at, isNew] = own.try_emplace(view["event"], Recorded{clocks_[stream], moment.ref});
    if (!isNew)
      find("event", text(moment.ref) + " records the event that " + text(at->second.ref) + " has recorded");
    return;
  }
  auto at = own.find(view["event"]);
  if (at == own.end())
    find("event", text(moment.ref) + " waits for an event that nothing before it records");
  else
    join(stream, at->second.clock);
}

// As in the runtime, a wait waits for the last record of the place. This must be the record of the frame that the wait
// names. Frames before the first have no record. Waits count records, so the records of a place must be ordered, too.
void Execution::runSharedEvent(const InstructionView &view, const Moment &moment, int64_t event, const Frames &frames) {
  const fb::Event &info = *plan_.events()->Get(static_cast<uint32_t>(event));
  int64_t frame = frames.of(info.counter()) + view["frame"];
  std::pair<int64_t, uint64_t> place{event, frames.place(info.counter(), view["frame"], shortStep_.framesOf(info))};
  auto at = recorded_.find(place);
  if (view.opcode() == Opcode::Record) {
    if (at != recorded_.end() && clocks_[moment.stream][at->second.stream] < at->second.clock[at->second.stream])
      find("event", text(moment.ref) + " may record the plan's event " + std::to_string(event) + " before " +
                        text(at->second.ref) +
                        " has recorded it in the same place, and a wait cannot tell them apart; expected one "
                        "stream, or a wait between the two");
    recorded_[place] = {clocks_[moment.stream], moment.ref, frame, executed_, moment.stream};
    return;
  }
  auto what = [&] {
    return text(moment.ref) + " waits for frame " + std::to_string(frame) + " of the plan's event " +
           std::to_string(event);
  };
  if (at == recorded_.end() && frame >= 0)
    find("event", what() + ", which nothing before it records");
  else if (at != recorded_.end() && frame >= 0 && at->second.frame != frame)
    find("event", what() + ", in whose place " + text(at->second.ref) + " has recorded frame " +
                      std::to_string(at->second.frame) + "; the event has " + std::to_string(info.frames()) +
                      " frames, which are too few, or the frame is another");
  if (at != recorded_.end())
    join(moment.stream, at->second.clock);
}

// Returns after how many frames of a counter everything that follows it is in the same place again; 0 if they are too
// many to tell.
uint64_t Execution::roundOf(fb::Counter counter) const {
  uint64_t round = 1;
  auto add = [&](uint64_t frames) {
    round = round == 0 ? 0 : std::lcm(round, frames);
    if (round > kMaxInstructions)
      round = 0;
  };
  for (uint32_t i = 0; i < lengthOf(plan_.regions()); ++i) // inputs have been fed in all of their frames
    if (const fb::Region &region = *plan_.regions()->Get(i);
        region.counter() == counter && region.kind() != fb::RegionKind::input)
      add(shortStep_.framesOf(region));
  for (uint32_t i = 0; i < lengthOf(plan_.events()); ++i)
    if (plan_.events()->Get(i)->counter() == counter)
      add(shortStep_.framesOf(*plan_.events()->Get(i)));
  return round;
}

// Makes the runs of a call, except those that would find nothing new. A round is the number of runs after which
// everything that follows the counter is in its place again: 6 if a region has 2 frames and an event 3. The first run
// is separate, because it may find what was there before the call. After it, whole rounds are run until one has changed
// nothing in what differs between ranks. Then whole rounds are skipped, as many as leave the last run to be run.
//
//   100 runs, rounds of 6      run 0 | 1..6 | 7..12, as before | 13..96 skipped | 97, 98, 99
void Execution::runCall(const InstructionView &view, bool isOfEntry, const Frames &frames) {
  int64_t times = isOfEntry ? shortStep_.timesOf(view) : view["times"];
  int64_t first = isOfEntry ? shortStep_.firstFrameOf(view) : view["first_frame"];
  auto counter = static_cast<fb::Counter>(view["counter"]);
  int64_t stride = view["skip"] + 1;
  auto round = static_cast<int64_t>(roundOf(counter)); // in frames, and below in runs
  round /= std::gcd(round, stride);
  uint64_t since = executed_; // when the round began
  ValueNumber differences;    // the axes along which bytes differed then
  for (int64_t i = 0; i < times && executed_ <= kMaxInstructions; ++i) {
    ++executed_; // counts bodies without instructions, too
    if (round != 0 && i > 1 && (i - 1) % round == 0) {
      ValueNumber before = std::exchange(differences, differencesNow());
      if (i > round + 1 && before == differences) {
        int64_t skipped = (times - i - 1) / round * round; // the last run reads the last of the inputs
        skip(counter, skipped * stride, since);
        i += skipped;
      }
      since = executed_;
    }
    runProgram(static_cast<uint32_t>(view["program"]), frames.called(counter, first + i * stride));
  }
}

// Returns one number for the axes along which all bytes may differ. A value may need more than two rounds to get from
// register to register.
ValueNumber Execution::differencesNow() const {
  Expression all("differences");
  for (const auto &[place, memory] : histories_)
    for (const auto &[begin, cell] : memory.cells()) {
      if (!cell.writer) // not written: inputs, of which each run reads another frame
        continue;
      all.add(place.first).add(place.second).add(begin).add(cell.end).add(cell.varies);
      for (const ShareRange &share : cell.shares)
        all.add(share.begin).add(share.varies);
    }
  return all.number();
}

// Skips whole rounds of a call: what the last round has recorded and written counts as that of the last one skipped.
void Execution::skip(fb::Counter counter, int64_t frames, uint64_t since) {
  for (auto &[place, recorded] : recorded_)
    if (recorded.step > since && plan_.events()->Get(static_cast<uint32_t>(place.first))->counter() == counter)
      recorded.frame += frames;
  for (auto &[place, memory] : histories_)
    if (plan_.regions()->Get(place.first)->counter() == counter)
      memory.moveOn(frames, since);
}

// This rank's share of a collective's data.
ShareRange Execution::ownShare(const InstructionView &view) const {
  auto group = static_cast<unsigned>(view["group"]);
  const fb::Buffer &data = view.buffer(0);
  uint64_t bytes = data.bytes() / groupSize(plan_, *plan_.groups()->Get(group));
  return {group + 1, bytes, data.offset(), data.offset() + bytes, 0};
}

// Returns the bytes of a buffer that is read which must have been written.
ShareRange Execution::neededShare(const InstructionView &view, const fb::Buffer &buffer) const {
  const CollectiveMeaning *meaning = meaningOf(view.opcode());
  if (meaning && meaning->needs == DataPart::OwnShare && buffer.share_of() == 0)
    return ownShare(view);
  return {buffer.share_of(), buffer.stride(), buffer.offset(), buffer.offset() + buffer.bytes(), 0};
}

bool Execution::isRootHere(const InstructionView &view) const {
  return isRoot(plan_, *plan_.groups()->Get(static_cast<unsigned>(view["group"])), view["root"]).value_or(true);
}

void Execution::runAccesses(const InstructionView &view, const Moment &moment, const Frames &frames) {
  checkAlone(view, moment);
  auto forEach = [&](auto &&use) {
    for (size_t i = 0; i < view.bufferCount(); ++i)
      if (view.buffer(i).bytes() != 0)
        use(view.buffer(i));
  };
  forEach([&](const fb::Buffer &buffer) {
    if (reads(buffer.access()))
      checkRead(buffer, neededShare(view, buffer), moment, frames);
    if (writes(buffer.access()))
      checkWrite(buffer, moment, frames);
  });
  forEach([&](const fb::Buffer &buffer) {
    if (reads(buffer.access()))
      history(buffer, frames).recordRead(buffer.offset(), bufferEnd(plan_, buffer), moment);
  });
  recordWrites(view, moment, frames);
}

void Execution::recordWrites(const InstructionView &view, const Moment &moment, const Frames &frames) {
  std::vector<AxisMask> results = variesOfResults(view, moment.ref, frames);
  recordEqualized(view, frames);
  size_t number = 0;
  for (size_t i = 0; i < view.bufferCount(); ++i) {
    const fb::Buffer &buffer = view.buffer(i);
    if (!writes(buffer.access()))
      continue;
    AxisMask varies = results[number++];
    if (buffer.bytes() == 0)
      continue;
    MemoryHistory &memory = history(buffer, frames);
    Moment at = moment;
    at.frame = frameOf(buffer, frames);
    uint64_t end = bufferEnd(plan_, buffer);
    if (leavesNoValue(view, i)) {
      memory.recordLoss(buffer.offset(), end, at, varies);
      continue;
    }
    if (buffer.share_of() != 0) {
      ShareRange share{buffer.share_of(), buffer.stride(), buffer.offset(), buffer.offset() + buffer.bytes(),
                       varies | axesOf(buffer.share_of() - 1u)};
      memory.recordShareWrite(buffer.offset(), end, at, share);
      continue;
    }
    memory.recordWrite(buffer.offset(), end, at, varies);
    if (const CollectiveMeaning *meaning = meaningOf(view.opcode()); meaning && i == 0)
      recordLeft(view, *meaning, memory, varies);
  }
}

// True for scratch of library kernels and for the staging of collectives: after the instruction, these bytes are
// undefined.
bool Execution::leavesNoValue(const InstructionView &view, size_t buffer) {
  if (meaningOf(view.opcode()))
    return buffer > 0;
  if (view.opcode() != Opcode::Launch)
    return false;
  auto index = static_cast<uint32_t>(view["kernel"]);
  auto [known, isNew] = scratch_.try_emplace(index);
  if (isNew)
    known->second = scratchOperands(*plan_.kernels()->Get(index));
  return buffer < known->second.size() && known->second[buffer];
}

// Marks the data that have no value after a collective: partial sums outside of the rank's share, or on all ranks but
// the root.
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

// States of a step alone (gradients) may lose their value: nobody reads it before it is written (RankKindVerifier).
void Execution::expectStatesKept() {
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    if (!isSaved(state))
      continue;
    auto [first, last] =
        history(state.region(), 0).range(state.offset(), state.offset() + stateShardBytes(plan_, state));
    for (auto cell = first; cell != last; ++cell)
      if (!cell->second.initialized) {
        find("state", "state '" + state.name()->str() + "' has no value after " +
                          plan_.programs()->Get(entry_)->name()->str() +
                          (cell->second.writer ? ": " + text(cell->second.writer->ref) + " leaves none in it" : ""));
        break;
      }
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

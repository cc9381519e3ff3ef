#include "compiler/Planning/Verify/Values/PlanMeaning.h"

#include "compiler/Planning/Verify/Facts/CollectiveMeaning.h"
#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "runtime/plan/KernelDefs.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>
#include <set>

namespace cleave::plan {

using namespace rt;

// True if the program calls `callee`, directly or through others. Looks at each program once.
static bool calls(const fb::Plan &plan, uint32_t program, uint32_t callee) {
  std::set<uint32_t> seen;
  std::vector<uint32_t> open = {program};
  while (!open.empty()) {
    const auto *instructions = plan.programs()->Get(open.back())->instructions();
    open.pop_back();
    for (uint32_t i = 0; i < lengthOf(instructions); ++i)
      if (InstructionView view(*instructions->Get(i)); view.opcode() == Opcode::Call)
        if (auto called = static_cast<uint32_t>(view["program"]); seen.insert(called).second)
          open.push_back(called);
  }
  return seen.count(callee) != 0;
}

static uint32_t portsOf(const fb::Plan &plan, uint32_t program) {
  for (uint32_t other = 0; other < lengthOf(plan.programs()) && !plan.programs()->Get(program)->entry(); ++other)
    if (plan.programs()->Get(other)->entry() && calls(plan, other, program))
      return other;
  return program;
}

PlanMeaning::PlanMeaning(const fb::Plan &plan, uint32_t entry, const BodyFacts *bodies)
    : plan_(plan), bodies_(bodies), entry_(entry), ports_(portsOf(plan, entry)), kernels_(lengthOf(plan.kernels())) {
  for (size_t i = 0; i < lengthOf(plan.groups()); ++i)
    groups_.push_back(groupFacts(plan, *plan.groups()->Get(i)));
  for (size_t i = 0; i < lengthOf(plan.states()); ++i) {
    const fb::State &state = *plan.states()->Get(i);
    Content content = stateFacts(plan, state).content();
    starts_[&state] = content;
    if (bodies_)
      states_[std::string(textOf(state.name()))] = &state;
    if (content.bytes() != 0 && isBody())
      if (auto more = bodies_->states.find(std::string(textOf(state.name()))); more != bodies_->states.end())
        // The axes grow and the expression stays: a body's numbers do not depend on axes (BodyRuns.cpp).
        content = Content::of(content.pieces().front().expression, content.bytes(), content.varies() | more->second);
    memory(state.region(), 0).write(state.offset(), content);
    if (content.bytes() != 0)
      atStart_[content.pieces().front().expression] = textOf(state.name());
  }
  expand(entry, {});
  if (isTooLong()) // nothing is known of what is left
    runs_.clear();
}

// Calls are replaced by what they run. If a body has more than three runs, only the first two and the last are run
// here, and the body is proved by itself (getRepeated()). The number of runs is part of the entry's meaning ("calls").
void PlanMeaning::expand(uint32_t program, const Frames &frames) {
  const auto *instructions = plan_.programs()->Get(program)->instructions();
  for (uint32_t i = 0; i < lengthOf(instructions) && expanded_++ < kMaxInstructions; ++i) {
    InstructionView view(*instructions->Get(i));
    (view.opcode() == Opcode::Call ? hasCalls_ : hasOthers_) = true;
    if (view.opcode() != Opcode::Call) {
      if (view.bufferCount() != 0)
        runs_.push_back({{program, i}, frames});
      continue;
    }
    auto callee = static_cast<uint32_t>(view["program"]);
    auto counter = static_cast<fb::Counter>(view["counter"]);
    int64_t times = view["times"];
    calls_ += textOfCall(textOf(plan_.programs()->Get(callee)->name()), times, view["first_frame"], view["skip"]);
    if (counter != fb::Counter::micro_batch)
      calls_ += fb::EnumNameCounter(counter);
    if (bodies_) {
      runs_.push_back({{program, i}, frames});
      continue;
    }
    if (times > kMaxInterpretedTimes)
      repeated_.insert(callee);
    // Of 8 runs, those with n = 0, 1 and 7 are made.
    for (int64_t n = 0; n < times && expanded_++ < kMaxInstructions; ++n) {
      if (n + 1 >= kMaxInterpretedTimes)
        n = times - 1;
      expand(callee, frames.called(counter, frameOfCall(view, n)));
    }
  }
}

// Inputs hold what the host feeds for each micro-batch.
MemoryContents &PlanMeaning::memory(unsigned region, uint64_t place) {
  auto [known, isNew] = memories_.try_emplace({region, place});
  const auto *ports = plan_.programs()->Get(ports_)->inputs();
  for (size_t i = 0; isNew && i < lengthOf(ports); ++i)
    if (const fb::Port &port = *ports->Get(i); !port.absent() && port.region() == region) {
      PortFacts facts = portFacts(plan_, port);
      bool isReplaced = replaced_.count(facts.name) != 0;
      facts.name = isReplaced ? "other " + facts.name : facts.name;
      Content fed = facts.content(place);
      for (const Piece &piece : fed.pieces())
        if (isReplaced)
          notFed_.insert(piece.expression);
      known->second.write(port.offset(), fed);
    }
  if (isNew && isCrossBody(region))
    fillCrossBody(region, place, known->second);
  return known->second;
}

ShareLayout PlanMeaning::shareLayoutOf(unsigned group, uint64_t stride) const {
  const AxesFacts &facts = groups_[group];
  return {facts.number(), facts.axes, facts.ranks, stride};
}

void PlanMeaning::note(const std::vector<Piece> &pieces, bool hasParts, const fb::Buffer &buffer,
                       const InstructionRun &run) {
  if (hasParts)
    partReads_.push_back({run.ref, buffer.region(), buffer.offset(), buffer.offset() + buffer.bytes(),
                          memory(buffer, run).partAxes(buffer.offset(), bufferEnd(plan_, buffer))});
  if (plan_.regions()->Get(buffer.region())->kind() == fb::RegionKind::persistent) {
    for (const Piece &piece : pieces)
      if (auto state = atStart_.find(piece.expression); state != atStart_.end())
        readFirst_.insert(state->second);
      else if (auto after = afterCalls_.find(piece.expression); after != afterCalls_.end()) {
        readAfter_.insert(after->second);
        if (!overwritten_.count(after->second)) // the calls may have left it as it was
          readFirst_.insert(after->second);
      }
  }
  bool hasNothing =
      std::any_of(pieces.begin(), pieces.end(), [](const Piece &piece) { return piece.expression == kNoValue; });
  // Own parts that are read as a whole give no value, too. They are in partReads_.
  if (hasNothing && !hasParts && !readsNothing_)
    readsNothing_ = run.ref;
  if (isCrossBody(buffer.region()))
    crossBodyReads_.push_back({buffer.region(), buffer.offset(), bufferEnd(plan_, buffer)});
}

Content PlanMeaning::read(const fb::Buffer &buffer, const InstructionRun &run) {
  if (buffer.bytes() == 0)
    return {};
  MemoryContents &from = memory(buffer, run);
  bool hasParts = false;
  std::vector<Piece> wholes;
  uint64_t begin = buffer.offset(), end = begin + buffer.bytes();
  Content content = buffer.share_of() == 0 ? from.read(begin, end, &hasParts)
                                           : from.readShare(shareLayoutOf(buffer.share_of() - 1u, buffer.stride()),
                                                            begin, end, &hasParts, &wholes);
  wholes.insert(wholes.end(), content.pieces().begin(), content.pieces().end());
  note(wholes, hasParts, buffer, run);
  if (buffer.share_of() != 0)
    // Only explainParts() uses these wholes, for messages.
    if (Content whole = from.read(begin, bufferEnd(plan_, buffer), &hasParts); !hasParts)
      for (const Piece &piece : content.pieces())
        wholes_[piece.expression] = whole;
  return content;
}

// Returns the rank's own part of a collective's data, at its place.
Content PlanMeaning::readOwnPart(const InstructionView &view, const InstructionRun &run) {
  const fb::Buffer &data = view.buffer(0);
  auto group = static_cast<unsigned>(view["group"]);
  uint64_t bytes = data.bytes() / groups_[group].ranks;
  if (bytes == 0 || data.share_of() != 0)
    return read(data, run);
  bool hasParts = false;
  std::vector<Piece> wholes;
  Content content = memory(data, run).readShare(shareLayoutOf(group, bytes), data.offset(), data.offset() + bytes,
                                                &hasParts, &wholes);
  wholes.insert(wholes.end(), content.pieces().begin(), content.pieces().end());
  note(wholes, hasParts, data, run);
  return content;
}

// Bodies are proved for inputs as they are fed, and for cross-body regions to which only bodies write.
void PlanMeaning::noteWrite(const fb::Buffer &buffer, const InstructionRun &run) {
  bool isInput = plan_.regions()->Get(buffer.region())->kind() == fb::RegionKind::input;
  if (bodies_ && buffer.bytes() != 0 && !intruder_ && (isInput || (isCrossBody(buffer.region()) && !isBody())))
    intruder_ = run.ref;
}

void PlanMeaning::forget(const fb::Buffer &buffer, const InstructionRun &run) {
  noteWrite(buffer, run);
  memory(buffer, run).forget(buffer.offset(), bufferEnd(plan_, buffer));
}

void PlanMeaning::write(const fb::Buffer &buffer, const Content &content, const InstructionRun &run) {
  if (buffer.bytes() == 0)
    return;
  noteWrite(buffer, run);
  MemoryContents &to = memory(buffer, run);
  if (buffer.share_of() == 0)
    to.write(buffer.offset(), content);
  else
    to.writeShare(shareLayoutOf(buffer.share_of() - 1u, buffer.stride()), buffer.offset(), content);
  if (plan_.regions()->Get(buffer.region())->kind() == fb::RegionKind::persistent)
    writers_[{buffer.region(), buffer.offset()}] = run.ref;
}

// Only messages depend on this, so 32 bits of a number are enough. The proof compares whole numbers (getMeaning()).
bool PlanMeaning::isModels(const ValueNumber &expression) const {
  const auto *expressions = plan_.programs()->Get(entry_)->expressions();
  return expressions &&
         std::binary_search(expressions->begin(), expressions->end(), static_cast<uint32_t>(expression.low));
}

// Notes a value that an instruction makes, while the bytes that the instruction reads are still there.
void PlanMeaning::leave(const Content &content, const InstructionRun &run) {
  // Only the first one is noted. The values that are computed from it differ, too.
  if (firstOther_ || content.bytes() == 0 || isModels(content.pieces().front().expression))
    return;
  firstOther_ = run.ref;
  explain(run);
}

const PlanMeaning::Known &PlanMeaning::knownKernel(size_t number) {
  if (kernels_[number])
    return *kernels_[number];
  const fb::Kernel &kernel = *plan_.kernels()->Get(static_cast<unsigned>(number));
  KernelComputation computation = kernelComputation(kernel);
  const KernelDef *def = kernel.kind() == fb::KernelKind::generated ? nullptr : findKernelDef(computation.name);
  return kernels_[number].emplace(Known{computation.depends, computation.number(), scratchOperands(kernel),
                                        def ? def->checkedBuffer() : std::nullopt,
                                        def && def->name != "check_index"}); // that has a range of its own
}

// The host runs the program with zeros in inputs that it does not feed (StatedNeeds.h).
bool PlanMeaning::isNotFed(const Content &content) const {
  return std::all_of(content.pieces().begin(), content.pieces().end(),
                     [&](const Piece &piece) { return notFed_.count(piece.expression) != 0; });
}

void PlanMeaning::runLaunch(const InstructionView &view, const InstructionRun &run) {
  const Known &kernel = knownKernel(static_cast<size_t>(view["kernel"]));
  std::vector<Content> read;
  for (size_t i = 0; i < view.bufferCount(); ++i)
    if (reads(view.buffer(i).access())) {
      read.push_back(this->read(view.buffer(i), run));
      if (kernel.checked == i && !(kernel.acceptsZero && isNotFed(read.back())))
        checks_.insert(checkOf(kernel.number, read.back()));
    }
  // Nothing is written before all contents are computed: a kernel may write to bytes that it reads.
  std::vector<std::pair<size_t, Content>> made;
  size_t result = 0;
  for (size_t i = 0; i < view.bufferCount(); ++i) {
    const fb::Buffer &buffer = view.buffer(i);
    if (!writes(buffer.access()))
      continue;
    Content content = resultOf(kernel.number, kernel.depends, result++, buffer.bytes(), read);
    bool isScratch = i < kernel.isScratch.size() && kernel.isScratch[i]; // no value: a kernel may leave anything there
    if (!isScratch)
      leave(content, run);
    made.push_back({i, isScratch ? Content::of(kNoValue, buffer.bytes()) : std::move(content)});
  }
  for (const auto &[i, content] : made)
    write(view.buffer(i), content, run);
}

void PlanMeaning::startCollective(const InstructionView &view, const InstructionRun &run) {
  const CollectiveMeaning &meaning = *meaningOf(view.opcode());
  stop_ = {};
  CollectiveFacts &facts = stop_.facts;
  facts.opcode = view.opcode();
  facts.group = groups_[static_cast<unsigned>(view["group"])];
  facts.dtype = view["dtype"];
  facts.reduction = view["reduction"];
  facts.algorithm = view["algorithm"];
  facts.count = view["count"];
  facts.root = view["root"];
  if (fieldIndex(view.opcode(), "root") >= 0)
    stop_.mine.isRoot =
        isRoot(plan_, *plan_.groups()->Get(static_cast<unsigned>(view["group"])), facts.root).value_or(true);
  if (meaning.needs == DataPart::OwnShare)
    stop_.mine.data = readOwnPart(view, run);
  else if (meaning.needs == DataPart::All || stop_.mine.isRoot)
    stop_.mine.data = read(view.buffer(0), run);
}

void PlanMeaning::startTransfer(const InstructionView &view, const InstructionRun &run) {
  stop_ = {};
  stop_.facts.opcode = view.opcode();
  stop_.transfer = transferFacts(plan_, view);
  if (view.opcode() == Opcode::Send)
    stop_.mine.data = read(view.buffer(0), run);
}

void PlanMeaning::finishCollective(const std::optional<Content> &result) {
  const InstructionRun &run = runs_[next_ - 1];
  InstructionView view = viewOf(plan_, run.ref);
  if (view.opcode() == Opcode::Send)
    return;
  if (view.opcode() == Opcode::Recv) {
    const fb::Buffer &target = view.buffer(0);
    received_[{run.ref.program, run.ref.index}] |= result->varies();
    if (result->bytes() != target.bytes()) // KindMatching reports it
      return forget(target, run);
    leave(*result, run);
    return write(target, *result, run);
  }
  const CollectiveMeaning &meaning = *meaningOf(view.opcode());
  const fb::Buffer &data = view.buffer(0);
  for (size_t i = 1; i < view.bufferCount(); ++i) // staging
    forget(view.buffer(i), run);
  if (data.bytes() == 0)
    return;
  if (result) {
    leave(*result, run);
    if (result->pieces().size() == 1)
      collectives_.emplace(result->pieces().front().expression, stop_.facts);
  }
  if (result && meaning.leaves != DataPart::OwnShare)
    return write(data, *result, run);
  // A reduce_scatter leaves partial sums outside of the rank's own share. A reduce leaves them on all ranks but the
  // root. These bytes have no value.
  if (view.opcode() != Opcode::Broadcast)
    forget(data, run);
  MemoryContents &to = memory(data, run);
  if (!result)
    return;
  auto group = static_cast<unsigned>(view["group"]);
  to.writeShare(shareLayoutOf(group, data.bytes() / groups_[group].ranks), data.offset(), *result);
}

// True if all ranks of the group are of this kind. All ranks of the kind must be members.
static bool isWithin(const fb::Plan &kind, const AxesFacts &group) {
  uint64_t ofKind = 1;
  for (uint32_t axis = 0; axis < lengthOf(kind.axes()); ++axis)
    if (group.axes >> axis & 1)
      ofKind *= rangeOf(kind, axis).end - rangeOf(kind, axis).begin;
  return ofKind == group.ranks;
}

// Runs the instructions on an abstract memory. After each one, every byte of it has the content that the rank's byte
// would have. For example, with an input x of 64 bytes, a state w, and two places in transient memory:
//
//                                        [0, 64)              [64, 96)
//   launch k: x, w -> [0, 64)            k(x, w)              no value
//   copy [0, 32) to [64, 96)             k(x, w)              k(x, w), bytes 0 to 31
//   all_reduce [0, 64) over dp           sum of k(x, w)       k(x, w), bytes 0 to 31
//
// If the copy came last, it would leave bytes 0 to 31 of the sum, which is another expression. So a plan with the two
// in the wrong order is found where the copied bytes reach a state or an output.
const MeaningRun::Stop *PlanMeaning::advance() {
  while (next_ < runs_.size()) {
    const InstructionRun &run = runs_[next_++];
    InstructionView view = viewOf(plan_, run.ref);
    if (isCollective(view.opcode())) {
      startCollective(view, run);
      if (isBody() && !isWithin(plan_, stop_.facts.group)) {
        meetAlone();
        continue;
      }
      if (!isWithin(plan_, stop_.facts.group)) {
        stop_.mine.where = boxOf(plan_).textOn(stop_.facts.group.axes);
        return &stop_;
      }
      finishCollective(resultOf(stop_.facts, {stop_.mine}, 0));
    } else if (isTransfer(view.opcode())) {
      startTransfer(view, run);
      if (!isBody())
        return &stop_;
      transferAlone(view, run);
    } else if (view.opcode() == Opcode::Call) {
      runCall(view);
    } else if (view.opcode() == Opcode::Launch) {
      runLaunch(view, run);
    } else if (view.opcode() == Opcode::Copy) {
      write(view.buffer(0), read(view.buffer(1), run), run);
    } else if (view.opcode() == Opcode::Fill) {
      write(view.buffer(0),
            Content::repeated(static_cast<uint64_t>(view["pattern"]), static_cast<uint64_t>(view["width"]),
                              view.buffer(0).bytes()),
            run);
    }
  }
  return nullptr;
}

void PlanMeaning::deliver(const std::optional<Content> &result) { finishCollective(result); }

const Content &PlanMeaning::stateAtStart(const fb::State &state) const { return starts_.at(&state); }

ValueNumber PlanMeaning::numberOf(const fb::State &state) {
  return contentAt(state.region(), state.offset(), state.offset() + stateShardBytes(plan_, state)).number();
}

Meaning PlanMeaning::getMeaning() {
  Meaning meaning;
  for (size_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    meaning["state " + state.name()->str()] = numberOf(state);
  }
  const auto *outputs = plan_.programs()->Get(entry_)->outputs();
  for (size_t i = 0; i < lengthOf(outputs); ++i) {
    const fb::Port &port = *outputs->Get(i);
    if (port.absent())
      continue;
    Content content = contentAt(port.region(), port.offset(), port.offset() + portBytes(port));
    std::string name = "output " + port.name()->str();
    while (meaning.count(name))
      name += "'";
    meaning[name] = portFacts(plan_, port).meaningOf(content);
  }
  meaning["calls"] = meaningOfCalls(callsWith(calls_, history_));
  addChecks(checks_, meaning);
  if (isBody())
    addCrossBody(meaning);
  return meaning;
}

std::optional<InstructionRef> PlanMeaning::getLastWriter(const fb::State &state) const {
  std::optional<InstructionRef> last;
  auto writer = writers_.lower_bound({state.region(), state.offset()});
  uint64_t end = state.offset() + stateShardBytes(plan_, state);
  for (; writer != writers_.end() && writer->first.first == state.region() && writer->first.second < end; ++writer)
    if (!last || last->index < writer->second.index)
      last = writer->second;
  return last;
}

} // namespace cleave::plan

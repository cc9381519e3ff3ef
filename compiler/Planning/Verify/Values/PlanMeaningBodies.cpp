// Part of PlanMeaning: bodies by themselves, and entries that call them (Bodies.h).
#include "compiler/Planning/Verify/Values/PlanMeaning.h"

#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

// True if values cross bodies in the region: its frames outlive the program that runs. (A host region without frames
// belongs to one program. Values that cross bodies in host memory have at least two frames, see BuildPrograms.cpp.)
bool PlanMeaning::isCrossBody(unsigned index) const {
  const fb::Region &region = *plan_.regions()->Get(index);
  bool isResidual = region.kind() == fb::RegionKind::residual && region.space() == fb::Space::device;
  return bodies_ && (isResidual || (region.frames() > 1 && region.kind() != fb::RegionKind::input));
}

ValueNumber PlanMeaning::crossBodySymbolOf(unsigned region, uint64_t place) const {
  ValueNumber symbol = crossBodySymbol(textOf(plan_.regions()->Get(region)->name()), place);
  return isBody() ? symbol : afterCalls(symbol, bodies_->firstAlike, history_);
}

void PlanMeaning::fillCrossBody(unsigned region, uint64_t place, MemoryContents &contents) const {
  uint64_t bytes = plan_.regions()->Get(region)->bytes();
  ValueNumber symbol = crossBodySymbolOf(region, place);
  contents.write(0, Content::of(symbol, bytes));
  if (auto varies = bodies_->crossBody.find(region); varies != bodies_->crossBody.end())
    // Each range holds its own bytes of the one symbol. Ranges with other axes still read as one piece, so axes do not
    // change the region's number.
    for (const auto &[begin, range] : varies->second.ranges())
      contents.write(begin, Content::of(symbol, range.end, range.varies).slice(begin, range.end - begin));
}

static void addCallees(const fb::Plan &plan, uint32_t program, std::vector<uint32_t> &list) {
  if (std::find(list.begin(), list.end(), program) != list.end())
    return;
  const auto *instructions = plan.programs()->Get(program)->instructions();
  for (uint32_t i = 0; i < lengthOf(instructions); ++i)
    if (InstructionView view(*instructions->Get(i)); view.opcode() == Opcode::Call && view["times"] > 0)
      addCallees(plan, static_cast<uint32_t>(view["program"]), list);
  list.push_back(program);
}

std::vector<uint32_t> calledBy(const fb::Plan &plan, uint32_t program) {
  std::vector<uint32_t> list;
  addCallees(plan, program, list);
  list.pop_back();
  return list;
}

// Adds the states that a called body reads first: as this program found them, or as earlier bodies have left them.
void PlanMeaning::addReadFirst(uint32_t program) {
  auto effect = bodies_->effects.find(program);
  if (effect == bodies_->effects.end())
    return;
  for (const std::string &state : effect->second.readFirst)
    (overwritten_.count(state) ? readAfter_ : readFirst_).insert(state);
  overwritten_.insert(effect->second.overwritten.begin(), effect->second.overwritten.end());
}

// After a call, states hold what the bodies state, whatever that is. Nothing is known of the rest of memory.
void PlanMeaning::runCall(const InstructionView &view) {
  if (isBody()) // a list of calls: the entry looks at their bodies
    return;
  if (view["times"] <= 0)
    return;
  addToHistory();
  std::map<std::string, bool> changed; // whether its number is stated
  auto callee = bodies_->effects.find(static_cast<uint32_t>(view["program"]));
  for (uint32_t body : callee == bodies_->effects.end() ? std::vector<uint32_t>() : callee->second.runs) {
    addReadFirst(body);
    auto effect = bodies_->effects.find(body);
    if (effect == bodies_->effects.end())
      continue;
    for (const std::string &state : effect->second.lost)
      changed.emplace(state, false);
    for (const std::string &state : effect->second.stated)
      changed[state] = true;
  }
  for (const auto &[name, isStated] : changed)
    if (auto state = states_.find(name); state != states_.end())
      leaveAfterCalls(*state->second, isStated);
  for (auto it = memories_.begin(); it != memories_.end();) {
    fb::RegionKind kind = plan_.regions()->Get(it->first.first)->kind();
    // An erased cross-body region begins again with its symbol after this call (memory(), fillCrossBody()). Any other
    // begins again without a value.
    bool stays = kind == fb::RegionKind::persistent || kind == fb::RegionKind::input;
    it = stays ? std::next(it) : memories_.erase(it);
  }
}

// Adds to the history what the bodies find in states: what the entry has changed there. What earlier calls have left is
// in the history already. A state of which the entry has left nothing (a gradient that it clears) is overwritten.
// For example, an entry fills the gradient g and calls a body twice. `changed` has g with the fill at the first call,
// and nothing at the second one.
void PlanMeaning::addToHistory() {
  std::map<std::string, ValueNumber> changed;
  for (const auto &[name, state] : states_) {
    const Content &start = stateAtStart(*state);
    Content now = contentAt(state->region(), state->offset(), state->offset() + start.bytes());
    auto left = leftByCalls_.find(name);
    const Content &before = left == leftByCalls_.end() ? start : left->second;
    if (now.number() == before.number())
      continue;
    changed[name] = now.number();
    checkHandedOver(name, *state, now);
    bool isLeft = std::any_of(now.pieces().begin(), now.pieces().end(), [&](const Piece &piece) {
      return piece.expression == kNoValue || piece.expression == start.pieces().front().expression ||
             piece.expression == before.pieces().front().expression;
    });
    if (!isLeft)
      overwritten_.insert(name);
  }
  history_ = historyAfter(history_, changed);
}

// Bodies are proved for states that hold a value everywhere, and that differ along known axes only.
void PlanMeaning::checkHandedOver(const std::string &name, const fb::State &state, const Content &now) {
  bool isWhole = std::all_of(now.pieces().begin(), now.pieces().end(),
                             [](const Piece &piece) { return piece.expression != kNoValue; });
  auto more = bodies_->states.find(name);
  AxisMask known = stateAtStart(state).varies() | (more == bodies_->states.end() ? 0 : more->second);
  if (!isWhole)
    handedOver_.insert("no value in a part of state '" + name + "'");
  else if (AxisMask differs = now.varies() & ~known)
    handedOver_.insert("other values on each rank of " + axesText(differs) + " in state '" + name + "'");
}

void PlanMeaning::leaveAfterCalls(const fb::State &state, bool isStated) {
  uint64_t bytes = stateShardBytes(plan_, state);
  if (bytes == 0)
    return;
  const Content &start = stateAtStart(state);
  std::string name(textOf(state.name()));
  ValueNumber symbol =
      isStated ? afterCalls(start.number(), bodies_->firstAlike, history_) : lostSymbol(start.number());
  AxisMask varies = start.varies();
  if (auto more = bodies_->states.find(name); more != bodies_->states.end())
    varies |= more->second;
  // Without a number, nothing says that two ranks have the same in the state. So it may differ along all axes.
  for (uint32_t axis = 0; axis < lengthOf(plan_.axes()) && !isStated; ++axis)
    varies |= plan_.axes()->Get(axis)->size() > 1 ? AxisMask{1} << axis : 0;
  Content left = Content::of(symbol, bytes, varies);
  memory(state.region(), 0).write(state.offset(), left);
  leftByCalls_[name] = left;
  afterCalls_[symbol] = name;
}

void PlanMeaning::transferAlone(const InstructionView &view, const InstructionRun &run) {
  if (view.opcode() == Opcode::Send) {
    sent_[{run.ref.program, run.ref.index}] |= stop_.mine.data->varies();
    return messages_.send(stop_.transfer, *stop_.mine.data);
  }
  auto varies = bodies_->arriving.find({run.ref.program, run.ref.index});
  const fb::Buffer &target = view.buffer(0);
  Content content =
      messages_.take(stop_.transfer, target.bytes(), varies == bodies_->arriving.end() ? 0 : varies->second);
  received_[{run.ref.program, run.ref.index}] |= content.varies();
  leave(content, run);
  write(target, content, run);
}

// Runs a collective of a body with other kinds, which make the same contribution (AlikeKinds.h). A broadcast is
// refused.
void PlanMeaning::meetAlone() {
  if (stop_.facts.opcode == Opcode::Broadcast) {
    crossesKinds_ = true;
    return finishCollective(std::nullopt);
  }
  messages_.meet(stop_.facts, *stop_.mine.data);
  finishCollective(resultOf(stop_.facts, {stop_.mine}, 0));
}

BodyFacts::Effect PlanMeaning::getEffect() {
  BodyFacts::Effect effect;
  effect.readFirst = readFirst_;
  for (uint32_t i = 0; i < lengthOf(plan_.states()); ++i) {
    const fb::State &state = *plan_.states()->Get(i);
    uint64_t end = state.offset() + stateShardBytes(plan_, state);
    std::string name(textOf(state.name()));
    const Content &start = stateAtStart(state), now = contentAt(state.region(), state.offset(), end);
    if (start.bytes() == 0 || start.number() == now.number())
      continue;
    if (auto known = bodies_->effects.find(entry_);
        known == bodies_->effects.end() || !known->second.stated.count(name))
      effect.lost.insert(name);
    bool isLeft = std::any_of(now.pieces().begin(), now.pieces().end(), [&](const Piece &piece) {
      return piece.expression == kNoValue || piece.expression == start.pieces().front().expression;
    });
    if (!isLeft)
      effect.overwritten.insert(name);
  }
  return effect;
}

// Adds what a body leaves in the frame that runs. It must not write to another frame (getUnproved()).
void PlanMeaning::addCrossBody(Meaning &meaning) {
  for (auto &[where, contents] : memories_)
    if (isCrossBody(where.first) && where.second == 0 && isLeftAnew(where.first, 0, contents)) {
      const fb::Region &region = *plan_.regions()->Get(where.first);
      meaning["region " + std::string(textOf(region.name()))] = contents.read(0, region.bytes(), &met_).number();
    }
  if (!messages_.empty())
    meaning["messages"] = messages_.number();
}

std::vector<PlanMeaning::CrossBodyRange> PlanMeaning::getCrossBodyLosses() {
  std::vector<CrossBodyRange> losses;
  for (auto &[where, contents] : memories_) {
    if (!isCrossBody(where.first))
      continue;
    uint64_t begin = 0;
    Content left = contents.read(0, plan_.regions()->Get(where.first)->bytes(), &met_);
    for (const Piece &piece : left.pieces()) {
      if (piece.expression == kNoValue)
        losses.push_back({where.first, begin, begin + piece.bytes});
      begin += piece.bytes;
    }
  }
  return losses;
}

// True if the content of a cross-body region is not what the body has found there.
bool PlanMeaning::isLeftAnew(unsigned index, uint64_t place, const MemoryContents &contents) const {
  const fb::Region &region = *plan_.regions()->Get(index);
  bool met = false;
  return contents.read(0, region.bytes(), &met).number() !=
         Content::of(crossBodySymbolOf(index, place), region.bytes()).number();
}

// A body is run for the inputs of the first entry that calls it. Returns another entry that calls it and has other
// inputs in the regions that the body uses; empty if there is none.
std::string PlanMeaning::entryOfOtherPorts() const {
  // A region that the body has not used has no memory here (memory() makes it). Its inputs do not matter.
  auto meantBy = [&](const fb::Program &entry) {
    std::set<std::tuple<unsigned, uint64_t, ValueNumber, AxisMask>> all; // where, and what
    for (uint32_t i = 0; i < lengthOf(entry.inputs()); ++i)
      if (const fb::Port &port = *entry.inputs()->Get(i);
          !port.absent() && memories_.lower_bound({port.region(), 0}) != memories_.end() &&
          memories_.lower_bound({port.region(), 0})->first.first == port.region()) {
        Content content = portFacts(plan_, port).content(0);
        all.insert({port.region(), port.offset(), content.number(), content.varies()});
      }
    return all;
  };
  const fb::Program &known = *plan_.programs()->Get(ports_);
  for (uint32_t i = 0; i < lengthOf(plan_.programs()); ++i)
    if (const fb::Program &other = *plan_.programs()->Get(i);
        other.entry() && i != ports_ && meantBy(other) != meantBy(known))
      if (std::vector<uint32_t> called = calledBy(plan_, i); std::count(called.begin(), called.end(), entry_))
        return std::string(textOf(other.name()));
  return "";
}

// No number covers these, because a plan may state any number.
std::vector<std::string> PlanMeaning::getUnproved() const {
  std::vector<std::string> found;
  if (intruder_)
    found.push_back(describe(plan_, *intruder_) +
                    " writes to bytes that are not its own: only the host writes inputs, and only bodies write "
                    "regions that pass values from body to body");
  for (const std::string &state : handedOver_)
    found.push_back("it leaves " + state + " before a call, and the body may read it");
  if (!isBody())
    return found;
  if (hasCalls_ && hasOthers_)
    found.push_back("it calls others among instructions of its own; expected one or the other");
  if (crossesKinds_)
    found.push_back("it broadcasts between kinds of ranks; expected that of entry programs alone");
  if (std::string other = entryOfOtherPorts(); !other.empty())
    found.push_back("it reads inputs, and " + other + ", which calls it too, has other inputs there than " +
                    std::string(textOf(plan_.programs()->Get(ports_)->name())));
  for (const auto &[where, contents] : memories_) {
    const fb::Region &region = *plan_.regions()->Get(where.first);
    if (!isCrossBody(where.first))
      continue;
    std::string name = "region '" + std::string(textOf(region.name())) + "'";
    if (where.second != 0 && isLeftAnew(where.first, where.second, contents))
      found.push_back("it writes a frame of " + name + " that is not the one of the micro-batch that runs");
    if (region.counter() != fb::Counter::micro_batch)
      found.push_back(name + ", which it uses, follows the counter " + fb::EnumNameCounter(region.counter()) +
                      "; expected micro_batch: each micro-batch has its own value there");
  }
  return found;
}

} // namespace cleave::plan

#include "compiler/Planning/Verify/Values/BodyRuns.h"

#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "runtime/plan/KernelOperands.h"
#include "runtime/plan/RankKinds.h"

#include <algorithm>

namespace cleave::plan {

using namespace rt;

bool hasBodies(const std::vector<const fb::Plan *> &kinds) {
  for (const fb::Plan *plan : kinds) {
    for (uint32_t i = 0; i < lengthOf(plan->regions()); ++i)
      if (const fb::Region &region = *plan->regions()->Get(i);
          region.kind() != fb::RegionKind::input && region.frames() > 1)
        return true;
    for (uint32_t program = 0; program < lengthOf(plan->programs()); ++program)
      for (uint32_t i = 0; i < lengthOf(plan->programs()->Get(program)->instructions()); ++i)
        if (isTransfer(viewOf(*plan, {program, i}).opcode()))
          return true;
  }
  return false;
}

// Bodies run in the order in which they are first called, all kinds side by side. A body waits until its messages have
// been sent. So nearly always, everything about axes is known when a body runs.
BodyRuns::BodyRuns(const std::vector<const fb::Plan *> &kinds)
    : kinds_(kinds), meetings_(meetingsOf(kinds)), runsOfKinds_(kinds.size()) {
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    boxes_.push_back(boxOf(*kinds[kind]));
    addBodies(kind);
  }
  if (!meetings_.tooLong.empty())
    return;
  auto isLeft = [](const KindRuns &kind) { return kind.next < kind.runs.size(); };
  for (bool isForced = false; std::any_of(runsOfKinds_.begin(), runsOfKinds_.end(), isLeft);) {
    bool moved = false;
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      for (KindRuns &own = runsOfKinds_[kind]; isLeft(own) && (isForced || !isWaiting(kind));
           moved = true, isForced = false)
        run(kind, own.next++);
    isForced = !moved;
  }
  for (bool isStable = false; !isStable;) {
    isStable = true;
    for (size_t kind = 0; kind < kinds.size(); ++kind)
      for (size_t body = 0; body < runsOfKinds_[kind].runs.size(); ++body)
        if (assumedBy(kind, body) != runsOfKinds_[kind].assumed[body]) {
          isStable = false;
          run(kind, body);
        }
  }
  findAlike();
}

void BodyRuns::addBodies(size_t kind) {
  KindRuns &own = runsOfKinds_[kind];
  const fb::Plan &plan = *kinds_[kind];
  for (uint32_t entry = 0; entry < lengthOf(plan.programs()); ++entry) {
    if (!plan.programs()->Get(entry)->entry())
      continue;
    for (uint32_t body : calledBy(plan, entry)) {
      if (!own.facts.effects.try_emplace(body).second)
        continue;
      own.runs.emplace_back(body, nullptr);
      own.facts.effects[body].runs = calledBy(plan, body);
      own.facts.effects[body].runs.push_back(body);
      const auto *meaning = plan.programs()->Get(body)->meaning();
      for (uint32_t i = 0; i < lengthOf(meaning); ++i)
        if (std::string_view name = textOf(meaning->Get(i)->name()); name.substr(0, 6) == "state ")
          own.facts.effects[body].stated.emplace(name.substr(6));
    }
  }
  own.assumed.resize(own.runs.size());
}

// True if the next body receives a message that nobody has sent yet.
bool BodyRuns::isWaiting(size_t kind) const {
  const KindRuns &own = runsOfKinds_[kind];
  uint32_t program = own.runs[own.next].first;
  for (uint32_t i = 0; i < lengthOf(kinds_[kind]->programs()->Get(program)->instructions()); ++i)
    if (InstructionView view = viewOf(*kinds_[kind], {program, i});
        view.opcode() == Opcode::Recv && !own.facts.arriving.count({program, i}))
      return true;
  return false;
}

void BodyRuns::run(size_t kind, size_t body) {
  KindRuns &own = runsOfKinds_[kind];
  auto &[program, meaning] = own.runs[body];
  meaning = std::make_unique<PlanMeaning>(*kinds_[kind], program, &own.facts);
  meaning->advance(); // it never stops before its end
  own.assumed[body] = assumedBy(kind, body);
  learn(kind, *meaning);
  BodyFacts::Effect &effect = own.facts.effects[program], now = meaning->getEffect();
  effect.readFirst = now.readFirst;
  effect.overwritten = now.overwritten;
  effect.lost = now.lost;
}

ValueNumber BodyRuns::assumedBy(size_t kind, size_t body) const {
  const BodyFacts &facts = runsOfKinds_[kind].facts;
  const PlanMeaning &run = *runsOfKinds_[kind].runs[body].second;
  Expression all("assumed");
  for (const PlanMeaning::CrossBodyRange &read : run.getCrossBodyReads())
    if (auto variance = facts.crossBody.find(read.region); variance != facts.crossBody.end())
      all.add(variance->second.of(read.begin, read.end));
    else
      all.add(uint64_t{0});
  for (const auto &[receive, then] : run.getReceived())
    if (auto varies = facts.arriving.find(receive); varies != facts.arriving.end())
      all.add(varies->second);
  for (const auto &[state, varies] : facts.states)
    all.add(varies);
  return all.number();
}

void BodyRuns::learn(size_t kind, PlanMeaning &run) {
  KindRuns &own = runsOfKinds_[kind];
  const fb::Plan &plan = *kinds_[kind];
  run.forEachCrossBodyWrite([&](unsigned region, uint64_t begin, uint64_t end, AxisMask varies) {
    own.facts.crossBody[region].join(begin, end, varies);
  });
  for (uint32_t i = 0; i < lengthOf(plan.states()); ++i) {
    const fb::State &state = *plan.states()->Get(i);
    uint64_t end = state.offset() + stateShardBytes(plan, state);
    AxisMask varies = run.contentAt(state.region(), state.offset(), end).varies();
    if (varies & ~run.stateAtStart(state).varies())
      own.facts.states[std::string(textOf(state.name()))] |= varies;
  }
  for (const auto &[send, varies] : run.getSent())
    tellReceivers({kind, send}, varies);
}

// A message that comes from several kinds may differ along its own axis, and along the axes on which these kinds have
// different ranks.
void BodyRuns::tellReceivers(const KindRef &send, AxisMask varies) {
  auto met = meetings_.receiversOf.find(send);
  if (met == meetings_.receiversOf.end())
    return;
  for (const KindRef &receive : met->second) {
    const std::set<KindRef> &senders = meetings_.sendersOf.at(receive);
    InstructionView view = viewOf(*kinds_[receive.kind], {receive.at.first, receive.at.second});
    AxisMask between = 0;
    for (const KindRef &sender : senders)
      if (sender.kind != send.kind)
        between |= AxisMask{1} << view["axis"] | boxes_[sender.kind].differsFrom(boxes_[send.kind]);
    runsOfKinds_[receive.kind].facts.arriving[receive.at] |= varies | between;
  }
}

// True if the plan states what bodies leave in the state, or if a body reads it. If not, its content is lost, and
// nobody needs it.
bool BodyRuns::isRead(size_t kind, const std::string &state) const {
  const auto &effects = runsOfKinds_[kind].facts.effects;
  return std::any_of(effects.begin(), effects.end(), [&](const auto &effect) {
    return effect.second.stated.count(state) != 0 || effect.second.readFirst.count(state) != 0;
  });
}

// True if an entry changes nothing that bodies find before the last of its calls.
static bool callsFirst(const fb::Plan &plan, uint32_t entry) {
  bool hasChanged = false;
  for (uint32_t i = 0; i < lengthOf(plan.programs()->Get(entry)->instructions()); ++i) {
    InstructionView view = viewOf(plan, {entry, i});
    if (view.opcode() == Opcode::Call && hasChanged)
      return false;
    for (size_t buffer = 0; buffer < view.bufferCount(); ++buffer) {
      fb::RegionKind kind = plan.regions()->Get(view.buffer(buffer).region())->kind();
      bool isOwn = kind == fb::RegionKind::transient || kind == fb::RegionKind::communication ||
                   kind == fb::RegionKind::workspace;
      hasChanged |= writes(view.buffer(buffer).access()) && !isOwn;
    }
  }
  return true;
}

KindOfBodies BodyRuns::whatItDoes(size_t kind) {
  const fb::Plan &plan = *kinds_[kind];
  KindOfBodies own;
  own.box = boxes_[kind];
  for (uint32_t i = 0; i < lengthOf(plan.states()); ++i)
    own.states.emplace(textOf(plan.states()->Get(i)->name()));
  for (uint32_t entry = 0; entry < lengthOf(plan.programs()); ++entry) {
    const fb::Program &program = *plan.programs()->Get(entry);
    if (!program.entry())
      continue;
    own.calls +=
        std::string(textOf(program.name())) + ": " + PlanMeaning(plan, entry, &runsOfKinds_[kind].facts).getCalls();
    own.callsFirst = own.callsFirst && callsFirst(plan, entry);
  }
  for (auto &[program, run] : runsOfKinds_[kind].runs) {
    Meaning meaning = run->getMeaning();
    for (uint32_t i = 0; i < lengthOf(plan.states()); ++i) {
      const fb::State &state = *plan.states()->Get(i);
      auto left = meaning.find("state " + state.name()->str());
      if (left != meaning.end() &&
          (left->second == run->stateAtStart(state).number() || !isRead(kind, state.name()->str())))
        meaning.erase(left);
    }
    own.add(std::string(textOf(plan.programs()->Get(program)->name())), std::move(meaning), run->getMessages());
  }
  return own;
}

void BodyRuns::findAlike() {
  std::vector<KindOfBodies> kinds;
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    kinds.push_back(whatItDoes(kind));
  std::vector<KindBox> first = firstAlike(kinds);
  unlike_ = meetUnlike(kinds, first);
  for (size_t kind = 0; kind < kinds_.size(); ++kind)
    runsOfKinds_[kind].facts.firstAlike = first[kind];
}

} // namespace cleave::plan

#include "compiler/Planning/Verify/Values/RankKindComparison.h"

#include "compiler/Planning/Verify/Order/Execution.h"
#include "runtime/plan/RankKinds.h"

#include <map>

namespace cleave::plan {

using namespace rt;

// Returns the axes on which the two kinds have no coordinate in common.
static AxisMask axesBetween(const fb::Plan &a, const fb::Plan &b) {
  AxisMask axes = 0;
  for (uint32_t axis = 0; axis < lengthOf(a.axes()); ++axis) {
    AxisRange left = rangeOf(a, axis), right = rangeOf(b, axis);
    if (left.end <= right.begin || right.end <= left.begin)
      axes |= AxisMask{1} << axis;
  }
  return axes;
}

static Content contentOf(PlanMeaning &run, const fb::Port &port) {
  return run.contentAt(port.region(), port.offset(), port.offset() + portBytes(port));
}

RankKindComparison::RankKindComparison(RankKindVerifier &a, uint32_t ofA, RankKindVerifier &b, uint32_t ofB,
                                       std::vector<Finding> *findings)
    : a_(a), b_(b), programA_(*a.plan().programs()->Get(ofA)), programB_(*b.plan().programs()->Get(ofB)),
      runA_(*a.runOf(ofA)), runB_(*b.runOf(ofB)), between_(axesBetween(a.plan(), b.plan())), findings_(findings) {
  // If calls have more runs than are made here, equal numbers say something only of equal calls.
  bool areAllRun = runA_.getRepeated().empty() && runB_.getRepeated().empty();
  callAlike_ = areAllRun || runA_.getCalls() == runB_.getCalls();
}

void RankKindComparison::compareStates() {
  std::map<std::string, const fb::State *> others;
  for (size_t i = 0; i < lengthOf(b_.plan().states()); ++i)
    others.emplace(b_.plan().states()->Get(i)->name()->str(), b_.plan().states()->Get(i));
  for (size_t i = 0; i < lengthOf(a_.plan().states()); ++i) {
    const fb::State &state = *a_.plan().states()->Get(i);
    auto other = others.find(state.name()->str());
    if (other == others.end() || (axesOfParts(state) & between_) != 0)
      continue;
    uint64_t end = state.offset() + stateShardBytes(a_.plan(), state);
    Content left = runA_.contentAt(state.region(), state.offset(), end);
    ValueNumber right = runB_.numberOf(*other->second);
    bool isChanged = left.number() != runA_.stateAtStart(state).number();
    bool areOne = left.number() == right && (!isChanged || ((left.varies() & between_) == 0 && callAlike_));
    expect(areOne, "state " + quoted(state.name()));
  }
}

void RankKindComparison::compareOutputs() {
  std::map<std::string, const fb::Port *> others;
  for (size_t i = 0; i < lengthOf(programB_.outputs()); ++i)
    others.emplace(programB_.outputs()->Get(i)->name()->str(), programB_.outputs()->Get(i));
  for (size_t i = 0; i < lengthOf(programA_.outputs()); ++i) {
    const fb::Port &port = *programA_.outputs()->Get(i);
    auto other = others.find(port.name()->str());
    bool areApart = other == others.end() || port.absent() || other->second->absent();
    if (areApart || (axisMask(port.split_axes()) & between_) != 0)
      continue;
    Content left = contentOf(runA_, port), right = contentOf(runB_, *other->second);
    expect(left.number() == right.number() && (left.varies() & between_) == 0 && callAlike_,
           "output " + quoted(port.name()));
  }
}

void RankKindComparison::expect(bool holds, const std::string &what) {
  if (!holds)
    findings_->push_back({"replica", what + " is one for kinds " + quoted(a_.plan().kind()) + " and " +
                                         quoted(b_.plan().kind()) + ", but " + programA_.name()->str() +
                                         " does not leave the same in it on both"});
}

} // namespace cleave::plan

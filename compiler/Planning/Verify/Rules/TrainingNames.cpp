#include "compiler/Planning/Verify/Rules/TrainingNames.h"

#include "compiler/Planning/Verify/Facts/PlanFacts.h"
#include "compiler/Planning/Verify/PlanText.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/ScalarNames.h"

#include <map>

namespace cleave::plan {

using namespace rt;

// Calls visit(state, segment) for the segments of all states of a role, of all kinds.
template <typename Visit> static void forEachSegment(const fb::Plan &plan, fb::Role role, Visit visit) {
  for (const KindState &each : statesOf(plan))
    for (uint32_t s = 0; each.state->role() == role && s < lengthOf(each.state->segments()); ++s)
      visit(*each.state, *each.state->segments()->Get(s));
}

void checkTrainingNames(const fb::Plan &plan, std::vector<Finding> *findings) {
  std::map<std::string_view, std::pair<uint64_t, uint64_t>> parameters; // name -> elements of its state, and offset
  forEachSegment(plan, fb::Role::parameter, [&](const fb::State &state, const fb::Segment &segment) {
    parameters[textOf(segment.name())] = {state.elements(), segment.offset()};
  });
  forEachSegment(plan, fb::Role::optimizer, [&](const fb::State &state, const fb::Segment &segment) {
    auto parameter = parameters.find(textOf(segment.name()));
    std::string of = "state " + quoted(state.name()) + " holds optimizer state of " + quoted(segment.name());
    if (parameter == parameters.end())
      findings->push_back({"state", of + ", and no parameter has that name; expected the name of its parameter, by "
                                         "which checkpoints know it"});
    else if (parameter->second.first == state.elements() && parameter->second.second != segment.offset())
      findings->push_back({"state", of + " from element " + std::to_string(segment.offset()) +
                                        " on; expected element " + std::to_string(parameter->second.second) +
                                        ", as in the state of the parameter"});
  });
  bool hasLoss = false;
  for (const KindState &each : statesOf(plan))
    hasLoss |= textOf(each.state->name()) == kLossScalar;
  if (hasTrainingStep(plan) && !hasLoss)
    findings->push_back({"state", std::string("train_step leaves no ") + kLossScalar +
                                      ", which the host reports; expected this state on some ranks"});
}

} // namespace cleave::plan

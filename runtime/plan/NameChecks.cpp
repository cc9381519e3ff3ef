// Checks that names are unique. The verifier treats values of equal names as equal, and the runtime finds tables by
// name.
#include "runtime/plan/Checks.h"
#include "runtime/plan/SavedState.h"

#include <set>
#include <tuple>

namespace cleave::rt {

namespace {

template <typename Entries> Status checkUnique(const Entries *entries, const std::string &what) {
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < lengthOf(entries); ++i)
    if (!names.insert(textOf(entries->Get(i)->name())).second)
      return badPlan("two " + what + " have the name '" + entries->Get(i)->name()->str() + "'");
  return Status::ok();
}

// Among the states that checkpoints hold, each logical tensor is there once for each slot of the optimizer, such as
// "exp_avg" of "fc.weight", once as a value and once as a scalar: checkpoints tell no more apart
// (CheckpointTensor::identity). (Gradients are not saved: each chunk of a model may have its own gradient of a tensor.)
Status checkSegmentNames(const fb::Plan &plan) {
  std::set<std::tuple<bool, std::string_view, std::string_view>> names;
  for (uint32_t i = 0; i < lengthOf(plan.states()); ++i) {
    const fb::State &state = *plan.states()->Get(i);
    if (!isSaved(state))
      continue;
    bool isScalar = state.role() == fb::Role::scalar;
    std::string_view slot = state.role() == fb::Role::optimizer ? textOf(state.slot()) : "";
    for (uint32_t s = 0; s < lengthOf(state.segments()); ++s) {
      std::string_view name = textOf(state.segments()->Get(s)->name());
      if (!names.insert({isScalar, slot, name}).second)
        return badPlan("state '" + state.name()->str() + "' holds '" + std::string(name) +
                       "', which another state holds, too");
    }
  }
  return Status::ok();
}

} // namespace

Status checkNames(const fb::Plan &plan) {
  CLEAVE_TRY(checkUnique(plan.axes(), "mesh axes"));
  CLEAVE_TRY(checkUnique(plan.regions(), "regions"));
  CLEAVE_TRY(checkUnique(plan.states(), "states"));
  CLEAVE_TRY(checkUnique(plan.programs(), "programs"));
  for (uint32_t i = 0; i < lengthOf(plan.programs()); ++i) {
    const fb::Program &program = *plan.programs()->Get(i);
    std::string of = " of program '" + program.name()->str() + "'";
    CLEAVE_TRY(checkUnique(program.inputs(), "inputs" + of));
    CLEAVE_TRY(checkUnique(program.outputs(), "outputs" + of));
  }
  return checkSegmentNames(plan);
}

} // namespace cleave::rt

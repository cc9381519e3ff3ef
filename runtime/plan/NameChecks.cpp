// Checks that names are unique. The verifier treats values of equal names as equal, and the runtime finds tables by
// name.
#include "runtime/plan/Checks.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/plan/SavedState.h"

#include <map>
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
  return Status::ok();
}

// Among the states that checkpoints hold, on all kinds of ranks, each logical tensor is there once for each slot of the
// optimizer, such as "exp_avg" of "fc.weight", once as a value and once as a scalar: checkpoints tell no more apart
// (CheckpointTensor::identity). The other names of a tensor count too, because a checkpoint is read by all of them.
// (Gradients are not saved: each chunk of a model may have its own gradient of a tensor.)
Status checkSavedNames(const fb::Plan &plan) {
  std::map<std::tuple<bool, std::string_view, std::string_view>, const fb::State *> names;
  for (const KindState &each : statesOf(plan)) {
    const fb::State &state = *each.state;
    if (!isSaved(state))
      continue;
    bool isScalar = state.role() == fb::Role::scalar;
    std::string_view slot = state.role() == fb::Role::optimizer ? textOf(state.slot()) : "";
    auto add = [&](std::string_view name) {
      auto [other, isNew] = names.try_emplace({isScalar, slot, name}, &state);
      return isNew
                 ? Status::ok()
                 : badPlan("state '" + state.name()->str() + "' holds the tensor '" + std::string(name) + "', which " +
                           (other->second == &state ? "it holds already"
                                                    : "state '" + other->second->name()->str() + "' holds too") +
                           "; expected each once, so that a checkpoint can be read");
    };
    if (lengthOf(state.segments()) == 0) // it is one tensor of its own name
      CLEAVE_TRY(add(textOf(state.name())));
    for (uint32_t s = 0; s < lengthOf(state.segments()); ++s) {
      const fb::Segment &segment = *state.segments()->Get(s);
      CLEAVE_TRY(add(textOf(segment.name())));
      for (uint32_t a = 0; a < lengthOf(segment.aliases()); ++a)
        CLEAVE_TRY(add(textOf(segment.aliases()->Get(a))));
    }
  }
  return Status::ok();
}

} // namespace cleave::rt

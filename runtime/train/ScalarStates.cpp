#include "runtime/train/ScalarStates.h"

#include "runtime/state/ElementValue.h"

namespace cleave::rt {

ScalarState::ScalarState(Session &session, const char *name) {
  const fb::State *state = findState(session.plan(), name);
  if (!state || state->role() != fb::Role::scalar || state->elements() == 0)
    return;
  type_ = elementType(state->dtype());
  for (unsigned local = 0; local < session.localRanks(); ++local)
    if (std::byte *place = session.rank(local).stateBytes(*state).data)
      places_.push_back(place);
}

void ScalarState::set(double value) const {
  for (std::byte *place : places_)
    storeElement(type_, value, place);
}

void ScalarState::setInteger(int64_t value) const {
  for (std::byte *place : places_)
    storeInteger(type_, value, place);
}

std::optional<double> ScalarState::get() const {
  return places_.empty() ? std::nullopt : std::optional(loadElement(type_, places_[0]));
}

} // namespace cleave::rt

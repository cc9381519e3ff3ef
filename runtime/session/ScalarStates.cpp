#include "runtime/session/ScalarStates.h"

#include "runtime/comm/Communicator.h"
#include "runtime/plan/RankKinds.h"
#include "runtime/state/ElementValue.h"

#include <cmath>
#include <limits>
#include <map>

namespace cleave::rt {

ScalarState::ScalarState(Session &session, const char *name) {
  for (const KindState &each : statesOf(session.plan())) {
    const fb::State &state = *each.state;
    if (textOf(state.name()) != name || state.role() != fb::Role::scalar || state.elements() == 0)
      continue;
    exists_ = true;
    isEverywhere_ = cleave::rt::isEverywhere(session.plan(), state);
    holder_ = static_cast<int>(firstRankOf(*each.kind));
    type_ = elementType(state.dtype());
    for (unsigned local = 0; local < session.localRanks(); ++local)
      if (std::byte *place = session.rank(local).stateBytes(state).data)
        places_.push_back(place);
  }
}

void ScalarState::set(double value) const {
  for (std::byte *place : places_)
    storeElement(type_, value, place);
}

void ScalarState::setInteger(int64_t value) const {
  for (std::byte *place : places_)
    storeInteger(type_, value, place);
}

// On x86, 0 / 0 is a NaN with its sign set; on other machines the sign is clear. It has no meaning, and is not shown.
static double withoutSignOfNan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

Status readScalars(Session &session, std::initializer_list<ScalarRead> reads) {
  std::map<int, std::vector<std::optional<double> *>> told; // by broadcasting rank: the same order on all processes
  for (const ScalarRead &read : reads) {
    const ScalarState &scalar = *read.scalar;
    read.value->reset();
    if (!scalar.exists_)
      continue;
    *read.value = scalar.places_.empty() ? 0 : withoutSignOfNan(loadElement(scalar.type_, scalar.places_[0]));
    if (session.processes() && !scalar.isEverywhere_)
      told[scalar.holder_].push_back(read.value);
  }
  for (const auto &[holder, values] : told) {
    std::vector<double> numbers;
    for (const std::optional<double> *value : values)
      numbers.push_back(**value);
    CLEAVE_TRY(session.processes()
                   ->broadcast(numbers.data(), numbers.size() * sizeof numbers[0], holder, kControlChannel)
                   .in("telling all processes the results"));
    for (size_t i = 0; i < values.size(); ++i)
      *values[i] = numbers[i];
  }
  return Status::ok();
}

} // namespace cleave::rt

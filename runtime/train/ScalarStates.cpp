#include "runtime/train/ScalarStates.h"

#include "runtime/comm/Communicator.h"
#include "runtime/plan/Kinds.h"
#include "runtime/state/ElementValue.h"

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

class ScalarReader {
public:
  ScalarReader(Session &session, std::initializer_list<ScalarRead> reads) : session_(session), reads_(reads) {}

  Status run() {
    for (const ScalarRead &read : reads_) {
      const ScalarState &scalar = *read.scalar;
      read.value->reset();
      if (scalar.exists_)
        *read.value = scalar.places_.empty() ? 0 : loadElement(scalar.type_, scalar.places_[0]);
    }
    for (const ScalarRead &read : reads_)
      if (isTold(read) && isFirst(read))
        CLEAVE_TRY(tell(read.scalar->holder_));
    return Status::ok();
  }

private:
  bool isTold(const ScalarRead &read) const {
    return session_.processes() && read.scalar->exists_ && !read.scalar->isEverywhere_;
  }
  bool isToldBy(const ScalarRead &read, int holder) const { return isTold(read) && read.scalar->holder_ == holder; }
  // Of those that one rank tells.
  bool isFirst(const ScalarRead &read) const {
    for (const ScalarRead &before : reads_)
      if (isToldBy(before, read.scalar->holder_))
        return &before == &read;
    return false;
  }

  Status tell(int holder) {
    std::vector<double> values;
    for (const ScalarRead &read : reads_)
      if (isToldBy(read, holder))
        values.push_back(**read.value);
    CLEAVE_TRY(session_.processes()->broadcast(values.data(), values.size() * sizeof values[0], holder, kControlChannel));
    size_t next = 0;
    for (const ScalarRead &read : reads_)
      if (isToldBy(read, holder))
        *read.value = values[next++];
    return Status::ok();
  }

  Session &session_;
  std::initializer_list<ScalarRead> reads_;
};

Status readScalars(Session &session, std::initializer_list<ScalarRead> reads) {
  return ScalarReader(session, reads).run().in("telling all processes the results");
}

} // namespace cleave::rt

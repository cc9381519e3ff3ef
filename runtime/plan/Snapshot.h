// Where the program `snapshot` leaves a state's bytes for a checkpoint that is written while training goes on. The
// runtime reads them there, and the verifier proves what lies there, so the rule stands here once.
#ifndef CLEAVE_RUNTIME_PLAN_SNAPSHOT_H
#define CLEAVE_RUNTIME_PLAN_SNAPSHOT_H

#include "runtime/plan/Plan_generated.h"

namespace cleave::rt {

// The target of the first copy of exactly the rank's bytes of `state`, into a region of kind snapshot, at the same place on
// every rank; null where there is none. With a state of no bytes there is nothing to copy.
const fb::Buffer *snapshotOf(const fb::Plan &plan, const fb::Program &snapshot, const fb::State &state);

} // namespace cleave::rt

#endif

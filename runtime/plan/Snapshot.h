// Where the program `snapshot` leaves the bytes of a state for a checkpoint that is written while training goes on. The
// runtime reads them there, and the verifier proves that they are there, so both use this function.
#ifndef CLEAVE_RUNTIME_PLAN_SNAPSHOT_H
#define CLEAVE_RUNTIME_PLAN_SNAPSHOT_H

#include "runtime/plan/Plan_generated.h"

namespace cleave::rt {

// Returns the target of the first copy of exactly the rank's bytes of `state` into a region of kind snapshot, if it is
// at the same position on every rank. Returns null if there is no such copy. A state of 0 bytes needs none.
const fb::Buffer *snapshotOf(const fb::Plan &plan, const fb::Program &snapshot, const fb::State &state);

} // namespace cleave::rt

#endif

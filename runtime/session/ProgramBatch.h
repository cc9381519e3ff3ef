// How many samples a run of a program takes; in how many frames, FeedMemory.h tells.
#ifndef CLEAVE_RUNTIME_SESSION_PROGRAMBATCH_H
#define CLEAVE_RUNTIME_SESSION_PROGRAMBATCH_H

#include "runtime/base/Status.h"
#include "runtime/plan/FeedMemory.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

// The samples of one rank and frame of a program: the first dimension of its batched inputs and outputs, which must
// agree.
Status programBatch(const fb::Program &program, uint64_t *batch);

} // namespace cleave::rt

#endif

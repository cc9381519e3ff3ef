// The number of samples that a run of a program takes. FeedMemory.h has the number of frames.
#ifndef CLEAVE_RUNTIME_SESSION_PROGRAMBATCH_H
#define CLEAVE_RUNTIME_SESSION_PROGRAMBATCH_H

#include "runtime/base/Status.h"
#include "runtime/plan/FeedMemory.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

// Sets `batch` to the samples of one rank and frame: the first dimension of the program's batched inputs and outputs.
// Fails if these do not agree.
Status programBatch(const fb::Program &program, uint64_t *batch);

} // namespace cleave::rt

#endif

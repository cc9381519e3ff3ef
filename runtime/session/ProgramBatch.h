// How many samples a run of a program takes.
#ifndef CLEAVE_RUNTIME_SESSION_PROGRAMBATCH_H
#define CLEAVE_RUNTIME_SESSION_PROGRAMBATCH_H

#include "runtime/base/Status.h"
#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

// The samples of one rank and frame of a program: the first dimension of its batched inputs and outputs, which must
// agree.
Status programBatch(const fb::Program &program, uint64_t *batch);

// How many frames of inputs one run of an entry program reads: one, or as many as it calls bodies for. Some kinds of
// ranks may call fewer than others.
unsigned inputFrames(const fb::Plan &plan, const fb::Program &program);

} // namespace cleave::rt

#endif

// What an output depends on, as the compiler says it (the plan's properties `needs.OUTPUT` and `mixes.OUTPUT`).
#ifndef CLEAVE_RUNTIME_SESSION_OUTPUTNEEDS_H
#define CLEAVE_RUNTIME_SESSION_OUTPUTNEEDS_H

#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

// Whatever an input holds that an output does not depend on, the output is the same.
bool dependsOn(const fb::Plan &plan, const fb::Port &output, const fb::Port &input);
// Why only a whole global batch gives the output: each of its samples is made of others, too, or of how many there are.
// Null where samples may be computed apart.
const char *wholeBatchReason(const fb::Plan &plan, const fb::Port &output);

} // namespace cleave::rt

#endif

// Which inputs an output depends on. The compiler states it in the plan's properties `needs.OUTPUT` and `mixes.OUTPUT`.
#ifndef CLEAVE_RUNTIME_SESSION_OUTPUTNEEDS_H
#define CLEAVE_RUNTIME_SESSION_OUTPUTNEEDS_H

#include "runtime/plan/PlanReader.h"

namespace cleave::rt {

// True if the output may change with the values of the input.
bool dependsOn(const fb::Plan &plan, const fb::Port &output, const fb::Port &input);
// Returns why only a whole global batch gives the right output: a sample of it depends on other samples, or on the
// number of samples. Returns null if samples may be computed separately.
const char *wholeBatchReason(const fb::Plan &plan, const fb::Port &output);

} // namespace cleave::rt

#endif

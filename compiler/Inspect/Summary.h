// What `cleave inspect` shows first: one screen of what a plan is, what it needs and what it sends, in units for
// people.
#ifndef CLEAVE_COMPILER_INSPECT_SUMMARY_H
#define CLEAVE_COMPILER_INSPECT_SUMMARY_H

#include "runtime/plan/Plan_generated.h"

#include <string>

namespace cleave::view {

// Returns two lines: "gpt.onnx, training by adamw on 4 ranks (dp=2,fsdp=2), target host", and the parameters and the
// batch.
std::string headline(const rt::fb::Plan &plan);

// Up to four kinds of ranks have a column each. If there are more, only those with the most and the least memory do.
std::string summaryText(const rt::fb::Plan &plan);

// Says in a few words what the bytes of a kind of region are.
const char *meaningOf(rt::fb::RegionKind kind);

} // namespace cleave::view

#endif

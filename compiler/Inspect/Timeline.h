// `cleave inspect --timeline`: shows how much memory is in use over a run, where the peak is, and which values live
// then.
#ifndef CLEAVE_COMPILER_INSPECT_TIMELINE_H
#define CLEAVE_COMPILER_INSPECT_TIMELINE_H

#include "runtime/plan/Plan_generated.h"

#include <string>

namespace cleave::view {

std::string timelineText(const rt::fb::Plan &plan);

} // namespace cleave::view

#endif

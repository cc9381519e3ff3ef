// Which instructions of a plan the spans of a trace are (`train --trace`).
//
// Spans of a trace have no numbers of instructions. They are matched by their place: the n-th span of a stream in the
// step is the stream's n-th instruction, waits left out, and has its name.
#ifndef CLEAVE_COMPILER_INSPECT_TRACEDINSTRUCTIONS_H
#define CLEAVE_COMPILER_INSPECT_TRACEDINSTRUCTIONS_H

#include "compiler/Inspect/Page.h"
#include "runtime/base/Status.h"
#include "runtime/plan/InstructionView.h"

namespace cleave::view {

// The name of an instruction's spans in the file of a trace: the rule of runtime/device/BoundPlan.cpp.
std::string tracedName(const rt::fb::Plan &kind, const rt::InstructionView &view);

// Gives each measured span its instruction in place of its name. An error where the trace is not of this plan; spans
// that are not found keep their names.
rt::Status findInstructions(const rt::fb::Plan &plan, Measured *measured);

} // namespace cleave::view

#endif

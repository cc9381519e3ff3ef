// A step of a pipeline as a run's `--trace` has it, in the form in which the cost model's is drawn
// (compiler/Simulator/StepTimeline.h), so that the two can be compared body by body.
//
// Of the steps in the file the one of median duration is taken, and of each kind of rank the first that is there: one
// rank stands for all of its kind, as in the prediction. A body's span is its instructions on the first stream; waits
// for events are idle time and count for nothing.
#ifndef CLEAVE_COMPILER_DRIVER_MEASUREDTIMELINE_H
#define CLEAVE_COMPILER_DRIVER_MEASUREDTIMELINE_H

#include "compiler/Inspect/Page.h"

#include "llvm/Support/Error.h"

namespace cleave {

// Errors begin with the file's name.
llvm::Expected<view::Measured> measuredStep(const rt::fb::Plan &plan, llvm::StringRef traceFile);

} // namespace cleave

#endif

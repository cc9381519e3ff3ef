// Reads the step of a pipeline from a run's `--trace`, in the form in which the cost model's step is drawn
// (compiler/Simulator/StepTimeline.h). So the two can be compared body by body.
//
// Of the steps in the file, the one of median duration is used. Of each kind of ranks, the first rank in the file is
// used, because one rank represents its kind, as in the prediction. The span of a body is that of its instructions on
// the first stream. Waits for events are idle time and do not count.
#ifndef CLEAVE_COMPILER_DRIVER_REPORT_MEASUREDTIMELINE_H
#define CLEAVE_COMPILER_DRIVER_REPORT_MEASUREDTIMELINE_H

#include "compiler/Inspect/Page.h"

#include "llvm/Support/Error.h"

namespace cleave {

// Errors start with the file's name.
llvm::Expected<view::Measured> measuredStep(const rt::fb::Plan &plan, llvm::StringRef traceFile);

} // namespace cleave

#endif

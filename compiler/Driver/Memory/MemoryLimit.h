// Compares the memory that a plan needs with --memory-limit, and searches for the --recompute value of a plan that
// fits.
#ifndef CLEAVE_COMPILER_DRIVER_MEMORY_MEMORYLIMIT_H
#define CLEAVE_COMPILER_DRIVER_MEMORY_MEMORYLIMIT_H

#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"
#include "runtime/plan/PlanSummary.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace cleave {

// Returns what the plan needs with other options.
using TryOptions = llvm::function_ref<llvm::Expected<rt::PlanSummary>(const CompileOptions &)>;

// Fails if a kind of ranks needs more than the limit. The error names the kind, the excess, its largest parts, and
// options that reduce the need. Each of these options has been tried.
llvm::Error checkMemoryLimit(const rt::PlanSummary &plan, const CompileOptions &options, TryOptions tryOptions);

// Plans an imported model without messages and without a trace. For --recompute auto, the value is chosen as in a
// compilation.
llvm::Expected<rt::PlanSummary> tryOptions(mlir::ModuleOp imported, CompileOptions options,
                                           plan::PlanningOptions planning);

// Returns the value of --recompute to plan with. A given value is returned as it is. For `auto`, this is the cheapest
// value whose plan fits the limit. If no plan fits, it is the value whose plan needs least. `kernels` (in kernels form)
// is planned once for each value that is tried, and not changed. The first value is `none`. Then the first N blocks are
// recomputed, with N found by bisection. If this is not enough, segments of two, three, ... blocks are recomputed.
// Recomputing more blocks costs more time and needs less memory. Longer segments keep less between blocks, and need
// more while a segment is recomputed.
llvm::Expected<std::string> chooseRecompute(mlir::ModuleOp kernels, const CompileOptions &options,
                                            const plan::PlanningOptions &planning, llvm::raw_ostream &log);

} // namespace cleave

#endif

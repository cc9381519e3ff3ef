// --memory-limit: what the plan needs against what it may, and the search of --recompute auto for a plan that fits.
#ifndef CLEAVE_COMPILER_DRIVER_MEMORYLIMIT_H
#define CLEAVE_COMPILER_DRIVER_MEMORYLIMIT_H

#include "compiler/Driver/Options.h"
#include "compiler/Planning/Pipeline.h"
#include "runtime/plan/PlanSummary.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace cleave {

// What the plan needs with other options.
using TryOptions = llvm::function_ref<llvm::Expected<rt::PlanSummary>(const CompileOptions &)>;

// An error if some kind of ranks needs more than the limit: which and by how much, its largest parts, and the options
// that make it smaller, each of which was tried.
llvm::Error checkMemoryLimit(const rt::PlanSummary &plan, const CompileOptions &options, TryOptions tryOptions);

// The plan of an imported model, silently and without a trace; --recompute auto is chosen as in a compilation.
llvm::Expected<rt::PlanSummary> tryOptions(mlir::ModuleOp imported, CompileOptions options,
                                           plan::PlanningOptions planning);

// The value of --recompute to plan with: as given, or for `auto` the cheapest whose plan fits the limit; where none
// does, the one that needs least. `kernels` (in kernels form) is planned once for each value tried and left as it is:
// first `none`, then the first N blocks by bisection, and where that is not enough, segments of two, three, ...
// blocks. More blocks run again cost more time and need less memory; longer segments keep less between blocks, and
// more while one of them is computed again.
llvm::Expected<std::string> chooseRecompute(mlir::ModuleOp kernels, const CompileOptions &options,
                                            const plan::PlanningOptions &planning, llvm::raw_ostream &log);

} // namespace cleave

#endif

// From a module in plan form to the bytes that the runtime executes.
//
//   llvm::Expected<std::string> bytes = writePlan(module);   // a Plan.fbs buffer, header and hashes included
//
// One generic loop serializes instructions: InstructionOpInterface gives buffers and fields in the order of
// Instructions.def, and a field's attribute says how it becomes a number (an integer, an enum, a type, or a symbol: its
// index in the table of its kind).
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_PLANWRITER_H
#define CLEAVE_COMPILER_PLANNING_BUILD_PLANWRITER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>

namespace cleave::plan {

// Fails when the module is not in plan form.
llvm::Expected<std::string> writePlan(mlir::ModuleOp module);

} // namespace cleave::plan

#endif

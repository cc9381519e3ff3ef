// Converts a module in plan form to the bytes that the runtime executes.
//
//   llvm::Expected<std::string> bytes = writePlan(module);   // a Plan.fbs buffer, header and hashes included
//
// One generic loop serializes instructions. InstructionOpInterface gives buffers and fields in the order of
// Instructions.def. A field's attribute determines how it becomes a number: it is an integer, an enum, a type, or a
// symbol (whose number is its index in the table of its kind).
#ifndef CLEAVE_COMPILER_PLANNING_BUILD_PLANWRITER_H
#define CLEAVE_COMPILER_PLANNING_BUILD_PLANWRITER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

namespace cleave::plan {

// Fails if the module is not in plan form. `facts` are properties of the plan that are known only when it is written.
llvm::Expected<std::string> writePlan(mlir::ModuleOp module, const std::map<std::string, std::string> &facts = {});

} // namespace cleave::plan

#endif

// The names of the attributes that passes leave for each other, and the check that a module carries no others.
//
// Attributes.def declares each with its carriers, its type, the levels at which it may stand, who writes it and who
// reads it; Attributes.md is the same as a table. A pass that needs a new one adds a line there:
//
//   if (auto count = module->getAttrOfType<IntegerAttr>(kMicroBatchesAttr))
//
// Rejected: inherent attributes, since most carriers are ops of other dialects (module, func.func, collectives), and
// hooks of the dialect's verifier, which do not know the level and so could not find what a phase has left behind.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_ATTRIBUTES_H
#define CLEAVE_DIALECTS_CLEAVE_IR_ATTRIBUTES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace cleave {

#define CLEAVE_ATTRIBUTE(constant, name, carriers, type, levels, writer, readers, meaning)                             \
  inline constexpr llvm::StringLiteral constant = name;
#include "dialects/Cleave/IR/Attributes.def"

// The forms in which verify passes look at a module. Programs are what `build-plan` takes.
enum class Level { Model, Step, Sharded, Kernels, Programs };

// Every `cleave.*` attribute of the module, its functions, their arguments and results, and all ops is declared, stands
// on what may carry it, has its type, and may stand at this level. Emits an error for each that does not.
llvm::LogicalResult checkAttributes(mlir::ModuleOp module, Level level);

} // namespace cleave

#endif

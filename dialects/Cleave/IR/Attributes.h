// The names of the attributes that passes leave for each other, and the check that a module carries no others.
//
// Attributes.def declares each with its carriers, its form, the levels at which it may stand, who writes it and who
// reads it; Attributes.md is the same as a table. A pass that needs a new one adds a line there:
//
//   if (auto count = module->getAttrOfType<IntegerAttr>(kMicroBatchesAttr))
//
// Two checks share the declarations. The form is the same at every level: the dialect's verifier compares it wherever
// an attribute stands, so a pass that reads one may use its entries without a check. What may stand where depends on
// the level, which the verifier does not know: the verify pass of each level calls `checkAttributes`.
//
// Rejected: inherent attributes, since most carriers are ops of other dialects (module, func.func, collectives).
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_ATTRIBUTES_H
#define CLEAVE_DIALECTS_CLEAVE_IR_ATTRIBUTES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace cleave {

#define CLEAVE_ATTRIBUTE(constant, name, carriers, form, levels, writer, readers, meaning)                             \
  inline constexpr llvm::StringLiteral constant = name;
#include "dialects/Cleave/IR/Attributes.def"

// The forms in which verify passes look at a module. Programs are what `build-plan` takes.
enum class Level { Model, Step, Sharded, Kernels, Programs };

// Every `cleave.*` attribute of the module, its functions, their arguments and results, and all ops is declared, stands
// on what may carry it, and may stand at this level. Emits an error for each that does not.
llvm::LogicalResult checkAttributes(mlir::ModuleOp module, Level level);

} // namespace cleave

#endif

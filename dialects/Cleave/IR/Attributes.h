// The names of the attributes that passes leave for each other, and the check that a module carries no others.
//
// Attributes.def declares each attribute with its carriers, its form, the levels at which it may occur, who writes it
// and who reads it. Attributes.md has the same as a table. A pass that needs a new attribute adds a line there:
//
//   if (auto count = module->getAttrOfType<IntegerAttr>(kMicroBatchesAttr))
//
// Two checks share the declarations. The form is the same at every level, and the dialect's verifier compares it
// wherever an attribute occurs. So a pass that reads an attribute may use its entries without a check. Where an
// attribute may occur depends on the level, which the verifier does not know. This is checked by the verify pass of
// each level (`checkAttributes`).
//
// Rejected: inherent attributes, because most carriers are ops of other dialects (module, func.func, collectives).
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_ATTRIBUTES_H
#define CLEAVE_DIALECTS_CLEAVE_IR_ATTRIBUTES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"

namespace cleave {

#define CLEAVE_ATTRIBUTE(constant, name, carriers, form, levels, writer, readers, meaning)                             \
  inline constexpr llvm::StringLiteral constant = name;
#include "dialects/Cleave/IR/Attributes.def"

// The forms in which verify passes check a module. `build-plan` takes programs.
enum class Level { Model, Step, Sharded, Kernels, Programs };

// Checks every `cleave.*` attribute of the module, its functions, their arguments and results, and all ops: it must be
// declared, be on something that may carry it, and be allowed at this level. Emits an error for each that is not.
llvm::LogicalResult checkAttributes(mlir::ModuleOp module, Level level);

} // namespace cleave

#endif

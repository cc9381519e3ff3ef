// The `plan` dialect: include this to build or match its ops.
#ifndef CLEAVE_DIALECTS_PLAN_IR_PLAN_H
#define CLEAVE_DIALECTS_PLAN_IR_PLAN_H

#include "dialects/Plan/IR/InstructionTable.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Plan/IR/PlanDialect.h.inc"
#include "dialects/Plan/IR/PlanEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/IR/PlanAttrs.h.inc"

#include "dialects/Plan/IR/PlanInterfaces.h.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/IR/PlanOps.h.inc"

namespace cleave::plan {

// Returns the bytes of an element in memory (1 for i1).
int64_t elementBytes(mlir::Type type);
// Returns the header of the module around an op; null if there is none.
HeaderOp findHeader(mlir::Operation *from);
// Returns the size of the header's axis of this name; nullopt if there is no such axis, or its size is not positive.
std::optional<int64_t> sizeOfAxis(mlir::Operation *from, llvm::StringRef name);
// Returns the product of the sizes of these axes of the header; nullopt if one is not an axis, or it exceeds 2^63 - 1.
std::optional<int64_t> ranksOnAxes(mlir::Operation *from, mlir::ArrayAttr axes);

} // namespace cleave::plan

#endif

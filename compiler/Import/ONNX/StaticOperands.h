// Operands that decide what is emitted: shapes, pads, sizes, scales, axes, trip counts.
//
// A floating-point initializer may be a parameter, so nothing that depends on it is folded. Where a handler must know a
// number, what computes it is evaluated with the initializers as the file has them:
//
//   two: initializer f32 = 2       state, role parameter
//   Pad(x, Cast(Ceil(shape / two)))    `pads` are known
//
// Such an initializer must not change later. If the model trains it for another use, the import fails
// (reportTrainedSizes).
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_STATICOPERANDS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_STATICOPERANDS_H

#include "compiler/Import/ONNX/OpContext.h"

#include "mlir/IR/BuiltinOps.h"

namespace cleave::onnx_import {

struct StaticOperand {
  std::shared_ptr<const Literal> value; // null: not known
  std::string reason;                   // why: "a value computed from the model's inputs"

  const Literal *operator->() const { return value.get(); }
  explicit operator bool() const { return bool(value); }
};

// Marks the initializers that the value depends on.
StaticOperand staticOperand(OpContext &op, const Binding &binding);
StaticOperand staticOperand(OpContext &op, size_t input);

// Initializers that are marked, each with the first node that asked for it. The marks go.
using StaticUses = llvm::StringMap<std::string>;
StaticUses takeStaticUses(mlir::ModuleOp module);
// An error for each of them that is trained.
void reportTrainedSizes(mlir::ModuleOp module, const StaticUses &uses, ErrorList &errors);

} // namespace cleave::onnx_import

#endif

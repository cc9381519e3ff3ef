// Evaluates operands that decide what is emitted: shapes, pads, sizes, scales, axes, trip counts.
//
// A floating-point initializer may be a parameter, so ops that depend on it are not folded. If a handler must know a
// number, its computation is evaluated here with the values that the file has for the initializers:
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
  std::string reason;                   // why it is not known: "a value computed from the model's inputs"

  const Literal *operator->() const { return value.get(); }
  explicit operator bool() const { return bool(value); }
};

// Evaluates an operand, and marks the initializers that it depends on.
StaticOperand staticOperand(OpContext &op, const Binding &binding);
StaticOperand staticOperand(OpContext &op, size_t input);

// The marked initializers, each with the node that was the first to need it. takeStaticUses() removes the marks.
using StaticUses = llvm::StringMap<std::string>;
StaticUses takeStaticUses(mlir::ModuleOp module);
// Adds an error for each of these initializers that is trained.
void reportTrainedSizes(mlir::ModuleOp module, const StaticUses &uses, ErrorList &errors);

} // namespace cleave::onnx_import

#endif

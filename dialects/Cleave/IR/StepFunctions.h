// Which function of a training step is the backward pass of which: an attribute, so that names are names only.
//
//   func.func @c0.fwd(%x: ...) -> (residuals...)
//   func.func @c0.bwd(residuals...) attributes {cleave.backward_of = @c0.fwd}
//
// `choose-residuals` makes the pair, `specialize-micro-batches` the pair of the first micro-batch, and `verify-step`
// checks both; the functions are gone when `flatten-programs` has laid them behind one another.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_STEPFUNCTIONS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_STEPFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace cleave {

inline constexpr llvm::StringLiteral kBackwardOfAttr = "cleave.backward_of";

inline bool isBackward(mlir::func::FuncOp function) { return function->hasAttr(kBackwardOfAttr); }

// The module's function of this name; null where there is none. From the end: a few functions stand after the states,
// of which a deep model has thousands.
inline mlir::func::FuncOp findFunction(mlir::ModuleOp module, llvm::StringRef name) {
  for (mlir::Operation &op : llvm::reverse(*module.getBody()))
    if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(op); function && function.getSymName() == name)
      return function;
  return nullptr;
}

// The function whose results are the residuals of `backward`; null where there is none.
inline mlir::func::FuncOp forwardOf(mlir::func::FuncOp backward) {
  auto name = backward->getAttrOfType<mlir::FlatSymbolRefAttr>(kBackwardOfAttr);
  return name ? findFunction(backward->getParentOfType<mlir::ModuleOp>(), name.getValue()) : nullptr;
}

inline void setForward(mlir::func::FuncOp backward, llvm::StringRef forward) {
  backward->setAttr(kBackwardOfAttr, mlir::FlatSymbolRefAttr::get(backward.getContext(), forward));
}

} // namespace cleave

#endif

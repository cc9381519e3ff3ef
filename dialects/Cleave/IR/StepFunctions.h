// How the functions of a training step are related, from differentiation until `flatten-programs` has put their bodies
// one after another.
//
// The forward graph is cut into chunks (cut-model); without a pipeline there is one, c0. Chunk cN is one function @cN
// until `choose-residuals` makes two of it. `specialize-micro-batches` adds the pair of the first micro-batch,
// @cN.fwd.first and @cN.bwd.first. `verify-step` checks all of this. Two chunks:
//
//   func.func @c0.fwd(%x {cleave.name = "x"}) -> (%h {cleave.edge = "c0:0"}, residuals...)
//   func.func @c1.fwd(%h {cleave.edge = "c0:0"}) -> (residuals...)
//   func.func @c1.bwd(residuals...) -> (%dh {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c1.fwd}
//   func.func @c0.bwd(residuals..., %dh {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c0.fwd}
//
// So an argument is an input of the model (`cleave.name`), a residual of the function's own forward pass
// (`cleave.residual`), or an edge: the result of that name of another function of the same micro-batch. One function
// makes an edge's value, and any number of functions use it, in chunks over any distance. Each user returns a gradient
// of its own. The maker's backward pass adds them, the last user's first. If the maker does not read a gradient, the user
// does not return it: every edge has a user.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_STEPFUNCTIONS_H
#define CLEAVE_DIALECTS_CLEAVE_IR_STEPFUNCTIONS_H

#include "dialects/Cleave/IR/Attributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>

namespace cleave {

inline bool isBackward(mlir::func::FuncOp function) { return function->hasAttr(kBackwardOfAttr); }

// Returns the module's function of this name; null if there is none. It searches from the end, because a few functions
// come after the states, of which a deep model has thousands.
inline mlir::func::FuncOp findFunction(mlir::ModuleOp module, llvm::StringRef name) {
  for (mlir::Operation &op : llvm::reverse(*module.getBody()))
    if (auto function = llvm::dyn_cast<mlir::func::FuncOp>(op); function && function.getSymName() == name)
      return function;
  return nullptr;
}

// Returns the function whose results are the residuals of `backward`; null if there is none.
inline mlir::func::FuncOp forwardOf(mlir::func::FuncOp backward) {
  auto name = backward->getAttrOfType<mlir::FlatSymbolRefAttr>(kBackwardOfAttr);
  return name ? findFunction(backward->getParentOfType<mlir::ModuleOp>(), name.getValue()) : nullptr;
}

inline void setForward(mlir::func::FuncOp backward, llvm::StringRef forward) {
  backward->setAttr(kBackwardOfAttr, mlir::FlatSymbolRefAttr::get(backward.getContext(), forward));
}

// Returns the number of the chunk that a function belongs to: 2 for "c2", "c2.fwd", "c2.bwd.first"; none for other
// names.
std::optional<unsigned> chunkNumber(llvm::StringRef function);
std::string chunkName(unsigned number);

// Returns the micro-batches that a chunk's function is for: ".first" ("c2.bwd.first"), ".last" (recompute-blocks may
// leave that one unchanged), or empty for all micro-batches that have no function of their own.
llvm::StringRef variantOf(llvm::StringRef function);

// Returns the numbers of the chunks of which the module has functions, in ascending order.
llvm::SmallVector<unsigned> chunksOf(mlir::ModuleOp module);

// Returns all functions that belong to no chunk, then the chunks' forward functions in ascending order, then their
// backward functions in descending order. So a function comes after those whose results it takes.
llvm::SmallVector<mlir::func::FuncOp> inStepOrder(mlir::ModuleOp module);

// Returns the returned value that an argument stands for, a residual or an edge. Null for an input of the model, and if
// no function returns it.
mlir::OpOperand *sourceOf(mlir::BlockArgument argument);

// Return the name of the edge that an argument takes, or that a result is; empty for others.
llvm::StringRef edgeOfArgument(mlir::func::FuncOp function, unsigned index);
llvm::StringRef edgeOfResult(mlir::func::FuncOp function, unsigned index);

// Returns the name of the gradient that chunk `user` returns for an edge.
std::string edgeGradientName(llvm::StringRef edge, unsigned user);

} // namespace cleave

#endif

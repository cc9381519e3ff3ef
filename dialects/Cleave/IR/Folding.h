// Evaluation of small constants. Folding is limited: it must shorten programs, and never turn code into big data. Each
// constant is small, and all of them together have a share of the budget (Budget.h). Ops stay as they are when it is
// used up.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_FOLDING_H
#define CLEAVE_DIALECTS_CLEAVE_IR_FOLDING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace cleave {

// The largest constant (in elements) that folding evaluates or makes; a splat counts as one.
constexpr int64_t kMaxFoldedElements = 4096;

inline bool isFoldable(mlir::DenseElementsAttr constant) {
  return constant && (constant.isSplat() || constant.getNumElements() <= kMaxFoldedElements);
}

// True if it is a constant that is `value` everywhere.
bool isSplatOf(mlir::Attribute constant, double value);

// Must be called before a folder evaluates `elements` elements for `op`. Returns false if the budget's share for folders
// has too little left. Then the op is not folded.
bool drawFolding(mlir::Operation *op, int64_t elements);

// Returns the constant of the op's result type whose element i is element `source(i)` of `constant`; null if it would
// be too big.
mlir::DenseElementsAttr gatherConstant(mlir::Operation *op, mlir::DenseElementsAttr constant,
                                       llvm::function_ref<int64_t(llvm::ArrayRef<int64_t> index)> source);

// Returns the row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

} // namespace cleave

#endif

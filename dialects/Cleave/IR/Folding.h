// Evaluation of small constants. Folding is bounded: it must shorten programs, never turn code into big data. Each
// constant is small, and all of them together are drawn from the budget (Budget.h).
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_FOLDING_H
#define CLEAVE_DIALECTS_CLEAVE_IR_FOLDING_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace cleave {

// Largest constant (in elements) that folding evaluates or makes; a splat counts as one.
constexpr int64_t kMaxFoldedElements = 4096;

inline bool isFoldable(mlir::DenseElementsAttr constant) {
  return constant && (constant.isSplat() || constant.getNumElements() <= kMaxFoldedElements);
}

// Is it a constant that is `value` everywhere?
bool isSplatOf(mlir::Attribute constant, double value);

// Asked before a folder evaluates `elements` elements for `op`; false when the budget has too little left.
bool drawFolding(mlir::Operation *op, int64_t elements);

// The constant of the op's result type whose element i is element `source(i)` of `constant`, or null when it would be
// too big.
mlir::DenseElementsAttr gatherConstant(mlir::Operation *op, mlir::DenseElementsAttr constant,
                                       llvm::function_ref<int64_t(llvm::ArrayRef<int64_t> index)> source);

// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

} // namespace cleave

#endif

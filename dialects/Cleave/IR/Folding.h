// Evaluation of small constants. Folding is bounded: it must shorten programs, never turn code into big data.
#ifndef CLEAVE_DIALECTS_CLEAVE_IR_FOLDING_H
#define CLEAVE_DIALECTS_CLEAVE_IR_FOLDING_H

#include "mlir/IR/BuiltinAttributes.h"

namespace cleave {

// Largest constant (in elements) that folding evaluates or makes; a splat counts as one.
constexpr int64_t kMaxFoldedElements = 4096;

inline bool isFoldable(mlir::DenseElementsAttr constant) {
  return constant && (constant.isSplat() || constant.getNumElements() <= kMaxFoldedElements);
}

// Is it a constant that is `value` everywhere?
bool isSplatOf(mlir::Attribute constant, double value);

// The constant of `type` whose element i is element `source(i)` of `constant`, or null when it would be too big.
mlir::DenseElementsAttr gatherConstant(mlir::DenseElementsAttr constant, mlir::RankedTensorType type,
                                       llvm::function_ref<int64_t(llvm::ArrayRef<int64_t> index)> source);

// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

} // namespace cleave

#endif

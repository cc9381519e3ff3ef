#include "compiler/Import/ONNX/InnerValues.h"

#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Cleave/IR/ComputingKernels.h"
#include "dialects/Cleave/IR/GradientFlow.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

using namespace cleave;

// True if precision may keep the operator's inner values in f32: the operator has no product, or one that is only
// scaled.
static bool areOneStep(llvm::ArrayRef<mlir::Operation *> products) {
  if (products.size() != 1 || !products.front()->hasOneUse())
    return products.empty();
  return llvm::isa<MulOp>(*products.front()->user_begin());
}

void cleave::onnx_import::markInnerValues(mlir::Operation *first, llvm::ArrayRef<mlir::Value> results) {
  llvm::SmallVector<mlir::Operation *> inner, products;
  llvm::DenseSet<mlir::Value> isOuter(results.begin(), results.end());
  for (mlir::Operation *op = first; op; op = op->getNextNode()) {
    if (isProductKernel(op))
      products.push_back(op);
    bool isResult = llvm::any_of(op->getResults(), [&](mlir::Value v) { return isOuter.contains(v); });
    if (!isResult && op->getNumOperands() > 0 && llvm::any_of(op->getResults(), mayHaveGradient))
      inner.push_back(op);
  }
  if (!areOneStep(products))
    return;
  for (mlir::Operation *op : inner)
    op->setAttr(kInnerAttr, mlir::UnitAttr::get(op->getContext()));
}

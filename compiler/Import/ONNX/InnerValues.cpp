#include "compiler/Import/ONNX/InnerValues.h"

#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/ComputingKernels.h"
#include "dialects/Cleave/IR/GradientFlow.h"

#include "mlir/IR/Builders.h"

using namespace cleave;

void cleave::onnx_import::markInnerValues(mlir::Operation *first, llvm::ArrayRef<mlir::Value> results) {
  llvm::SmallVector<mlir::Operation *> inner;
  for (mlir::Operation *op = first; op; op = op->getNextNode()) {
    if (isComputingKernel(op))
      return;
    bool isResult = llvm::any_of(op->getResults(), [&](mlir::Value v) { return llvm::is_contained(results, v); });
    if (!isResult && op->getNumOperands() > 0 && llvm::any_of(op->getResults(), mayHaveGradient))
      inner.push_back(op);
  }
  for (mlir::Operation *op : inner)
    op->setAttr(kInnerAttr, mlir::UnitAttr::get(op->getContext()));
}

// A model whose inputs have a batch dimension, and the same model with a larger batch.
#ifndef CLEAVE_COMPILER_DRIVER_BATCHEDMODEL_H
#define CLEAVE_COMPILER_DRIVER_BATCHEDMODEL_H

#include "compiler/Import/ONNX/Importer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave {

// The function `@model`; null where it has several blocks.
mlir::func::FuncOp modelFunction(mlir::ModuleOp module);

// The model with `factor` times the batch; `options` are those that it was imported with. An error where it cannot be
// imported so (shapes that hold the batch as a number).
llvm::Expected<ImportedModel> importLarger(const ImportedModel &model, const ImportOptions &options, int64_t factor);

} // namespace cleave

#endif

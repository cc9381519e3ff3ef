// Imports a model again with a larger batch.
#ifndef CLEAVE_COMPILER_DRIVER_MODEL_BATCHEDMODEL_H
#define CLEAVE_COMPILER_DRIVER_MODEL_BATCHEDMODEL_H

#include "compiler/Import/ONNX/Importer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave {

// Returns the function `@model`, or null if it has several blocks.
mlir::func::FuncOp modelFunction(mlir::ModuleOp module);

// Imports the model with `factor` times the batch. `options` must be those of `model`. Fails if the model has no larger
// form, for example because shapes contain the batch as a number.
llvm::Expected<ImportedModel> importLarger(const ImportedModel &model, const ImportOptions &options, int64_t factor);

} // namespace cleave

#endif

// Finds out whether the loss is a sum over samples or a mean (compiler/Training/LossScaling.h) with a second import.
#ifndef CLEAVE_COMPILER_DRIVER_LOSSPROBE_H
#define CLEAVE_COMPILER_DRIVER_LOSSPROBE_H

#include "compiler/Import/ONNX/Importer.h"

namespace cleave {

// `module` was imported from `path` with `options`. Sets `cleave.loss_scaling` on its losses; leaves them alone where
// the model cannot be imported with twice the batch (shapes that hold the batch as a number).
void noteLossScaling(mlir::ModuleOp module, llvm::StringRef path, const ImportOptions &options);

} // namespace cleave

#endif

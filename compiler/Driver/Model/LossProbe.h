// Finds out whether each term of the loss is a sum over samples or a mean, and whether it is computed from the number
// of samples (compiler/Training/Loss/LossReduction.h). For this, the graph is also imported with twice the samples, and
// the losses are compared. The file is read once.
#ifndef CLEAVE_COMPILER_DRIVER_MODEL_LOSSPROBE_H
#define CLEAVE_COMPILER_DRIVER_MODEL_LOSSPROBE_H

#include "compiler/Import/ONNX/Importer.h"

namespace cleave {

// True if the constants of the graph leave no doubt: each term of the loss is divided by a large multiple of the batch,
// or by a count, or does not depend on samples. With one micro-batch, the answer is only used for messages and for the
// end of an evaluation.
bool hasPlainMeans(mlir::ModuleOp module);

// Cleans `model` up as the phase `import` does, so that terms are those that later passes see, and sets
// `cleave.loss_reductions` on its losses. `model` must have been imported with `options`. If it cannot be imported with
// twice the batch (shapes that contain the batch as a number), a note says so.
llvm::Error noteLossReductions(ImportedModel &model, const ImportOptions &options);

} // namespace cleave

#endif

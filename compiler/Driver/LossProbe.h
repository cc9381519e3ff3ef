// Finds out for each term of the loss whether it is a sum over samples or a mean
// (compiler/Training/Loss/LossReduction.h): the graph is imported with twice the samples, too, and both losses are
// compared. The file is read once.
#ifndef CLEAVE_COMPILER_DRIVER_LOSSPROBE_H
#define CLEAVE_COMPILER_DRIVER_LOSSPROBE_H

#include "compiler/Import/ONNX/Importer.h"

namespace cleave {

// Whether the constants of the graph leave no doubt: each term of the loss is divided by a large multiple of the batch,
// or by a count, or no samples reach it. With one micro-batch nothing but messages and the end of an evaluation depend
// on the answer.
bool hasPlainMeans(mlir::ModuleOp module);

// `model` was imported with `options`. Cleans it up as the phase Import does, so that terms are those that
// later passes see, and sets `cleave.loss_reductions` on its losses. Where the model cannot be imported with twice the
// batch (shapes that hold the batch as a number), a note says so.
llvm::Error noteLossReductions(ImportedModel &model, const ImportOptions &options);

} // namespace cleave

#endif

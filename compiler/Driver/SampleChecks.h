// What must be known of a model's samples before it is lowered: a rank, a micro-batch or a run of `infer` holds some of
// them only.
#ifndef CLEAVE_COMPILER_DRIVER_SAMPLECHECKS_H
#define CLEAVE_COMPILER_DRIVER_SAMPLECHECKS_H

#include "compiler/Import/ONNX/Importer.h"
#include "compiler/Support/Error.h"

#include <map>
#include <string>

namespace cleave {

// Which guesses of batch dimensions (ImportedModel) are right: a parameter, x^T x and the largest four of a batch may
// have the batch's size by coincidence. Where one is wrong, the model is imported again, and `options` say so.
llvm::Error confirmBatchDims(ImportedModel &model, ImportOptions &options);

// Properties of the plan: `mixes.OUTPUT` of an output with a batch dimension whose samples are made of other samples,
// too (x - mean(x) over the batch). It is computed from whole global batches alone. `module` is at the model level.
std::map<std::string, std::string> mixedOutputs(mlir::ModuleOp module);

// With --batch-norm local, importing cuts dimension 0 into `groups` parts, one a rank. An error where the samples do
// not lie outermost in that dimension, so that a part is not what a rank holds.
llvm::Error checkBatchNormGroups(mlir::ModuleOp module, int64_t groups);

} // namespace cleave

#endif

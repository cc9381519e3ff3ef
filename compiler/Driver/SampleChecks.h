// What must be known of a model's samples before it is lowered: a rank, a micro-batch or a run of `infer` holds some of
// them only.
#ifndef CLEAVE_COMPILER_DRIVER_SAMPLECHECKS_H
#define CLEAVE_COMPILER_DRIVER_SAMPLECHECKS_H

#include "compiler/Import/ONNX/Importer.h"
#include "compiler/Support/Error.h"

#include <map>
#include <optional>
#include <string>

namespace cleave {

// The model with `factor` times the batch, for the checks below. Nothing where no check needs it, or where the model
// cannot be imported so (shapes that hold the batch as a number).
std::optional<ImportedModel> importLarger(const ImportedModel &model, const ImportOptions &options, int64_t factor);

// Which guesses of batch dimensions (ImportedModel) are right: a parameter, x^T x and the largest four of a batch may
// have the batch's size by coincidence. Where one is wrong, the model is imported again, and `options` say so.
// `doubled` has twice the batch.
llvm::Error confirmBatchDims(ImportedModel &model, const std::optional<ImportedModel> &doubled, ImportOptions &options);

// Properties of the plan: `mixes.OUTPUT` of an output with a batch dimension whose samples may be made of other samples,
// too (x - mean(x) over the batch), or of the batch's size (x / n). It is computed from whole global batches alone.
// `model` is at the model level, `doubled` has twice the batch.
std::map<std::string, std::string> mixedOutputs(const ImportedModel &model, const std::optional<ImportedModel> &doubled,
                                                const ImportOptions &options);

// With --batch-norm local, importing cuts dimension 0 into `groups` parts, one a rank. An error where the samples do
// not lie outermost in that dimension, so that a part is not what a rank holds.
llvm::Error checkBatchNormGroups(mlir::ModuleOp module, int64_t groups);

} // namespace cleave

#endif

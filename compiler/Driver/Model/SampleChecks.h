// Checks a model's samples before lowering. A rank, a micro-batch or a run of `infer` has only some of the samples.
#ifndef CLEAVE_COMPILER_DRIVER_MODEL_SAMPLECHECKS_H
#define CLEAVE_COMPILER_DRIVER_MODEL_SAMPLECHECKS_H

#include "compiler/Import/ONNX/Importer.h"
#include "compiler/Support/Error.h"

#include <map>
#include <optional>
#include <string>

namespace cleave {

// Imports the model with twice the batch, for the checks below. Returns nullopt if no check needs it, or if the model
// cannot be imported with twice the batch (shapes that contain the batch as a number).
std::optional<ImportedModel> importDoubled(const ImportedModel &model, const ImportOptions &options);

// Confirms or corrects guesses of batch dimensions (ImportedModel). A parameter, x^T x or the largest four of a batch
// may have the batch's size by coincidence. If a guess is wrong, the model is imported again, and `options` are changed
// accordingly. `doubled` has twice the batch.
llvm::Error confirmBatchDims(ImportedModel &model, const std::optional<ImportedModel> &doubled, ImportOptions &options);

// Returns properties of the plan. `mixes.OUTPUT` of each output with a batch dimension says whether a sample of it may
// depend on other samples (`samples`: x - mean(x) over the batch), or on the batch size (`size`: x / n). Such an output
// is only computed from whole global batches. Other outputs (`nothing`) are computed from any number of samples.
// `model` must be at the model level, and `doubled` have twice the batch.
std::map<std::string, std::string> mixedOutputs(const ImportedModel &model, const std::optional<ImportedModel> &doubled,
                                                const ImportOptions &options);

} // namespace cleave

#endif

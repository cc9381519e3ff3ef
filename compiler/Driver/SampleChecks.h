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

// The model with twice the batch, for the checks below. Nothing where no check needs it, or where the model
// cannot be imported so (shapes that hold the batch as a number).
std::optional<ImportedModel> importDoubled(const ImportedModel &model, const ImportOptions &options);

// Which guesses of batch dimensions (ImportedModel) are right: a parameter, x^T x and the largest four of a batch may
// have the batch's size by coincidence. Where one is wrong, the model is imported again, and `options` say so.
// `doubled` has twice the batch.
llvm::Error confirmBatchDims(ImportedModel &model, const std::optional<ImportedModel> &doubled, ImportOptions &options);

// Properties of the plan: `mixes.OUTPUT` of each output with a batch dimension says whether its samples may be made of
// other samples, too (`samples`: x - mean(x) over the batch), or of the batch's size (`size`: x / n). Such an output is
// computed from whole global batches alone, others (`nothing`) from any number of samples.
// `model` is at the model level, `doubled` has twice the batch.
std::map<std::string, std::string> mixedOutputs(const ImportedModel &model, const std::optional<ImportedModel> &doubled,
                                                const ImportOptions &options);

} // namespace cleave

#endif

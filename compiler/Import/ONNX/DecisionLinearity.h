// Tests whether a decision (SizeDecisions.h) has another result for some number of samples.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_DECISIONLINEARITY_H
#define CLEAVE_COMPILER_IMPORT_ONNX_DECISIONLINEARITY_H

#include "compiler/Import/ONNX/SizeDecisions.h"

namespace cleave::onnx_import {

// Returns true if the decision's result is not one affine function over all numbers of samples. `one` and `other` are
// the same decision in two imports, which have `batch` and `otherBatch` samples.
bool isNonlinearInBatch(const Decision &one, const Decision &other, int64_t batch, int64_t otherBatch);

} // namespace cleave::onnx_import

#endif

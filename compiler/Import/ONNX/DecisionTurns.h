// Whether a decision (SizeDecisions.h) has another result for some number of samples.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_DECISIONTURNS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_DECISIONTURNS_H

#include "compiler/Import/ONNX/SizeDecisions.h"

namespace cleave::onnx_import {

// `one` and `other` are one decision in two imports, of `batch` and `otherBatch` samples. True where the result is not
// one line over all numbers of samples.
bool turnsWithSize(const Decision &one, const Decision &other, int64_t batch, int64_t otherBatch);

} // namespace cleave::onnx_import

#endif

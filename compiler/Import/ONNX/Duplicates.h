// Parameters that hold the same numbers under two names: weights that were tied in the source model and that an
// exporter wrote twice.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_DUPLICATES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_DUPLICATES_H

#include "compiler/Import/ONNX/Weights.h"

namespace cleave::onnx_import {

// A note for every parameter that is bitwise equal to an earlier one, or a matrix that is its transpose. Tensors of one
// repeated number (zeros, ones) say nothing and are passed over.
void noteDuplicates(const WeightMap &weights, llvm::ArrayRef<std::string> parameters, std::vector<std::string> &notes);

} // namespace cleave::onnx_import

#endif

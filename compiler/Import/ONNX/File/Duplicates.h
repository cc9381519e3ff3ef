// Parameters that hold the same numbers under two names: weights that were tied in the source model and that an
// exporter wrote twice.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_DUPLICATES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_DUPLICATES_H

#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/File/Weights.h"

#include "llvm/ADT/StringSet.h"

namespace cleave::onnx_import {

// Initializers from which a Gather takes rows.
llvm::StringSet<> embeddingTables(const FlatGraph &graph);

// A note for every parameter that was probably one with an earlier one in the source model: a matrix that is its
// transpose, or an equal one where either of the two is an embedding table. Layers that begin alike, as copies of one
// layer (nn.TransformerEncoder), are not tied: equal values alone say nothing.
void noteDuplicates(const WeightMap &weights, llvm::ArrayRef<std::string> parameters, const llvm::StringSet<> &tables,
                    std::vector<std::string> &notes);

} // namespace cleave::onnx_import

#endif

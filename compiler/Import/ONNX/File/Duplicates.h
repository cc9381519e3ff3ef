// Finds parameters that have the same numbers under two names. They were tied in the source model, and an exporter
// wrote them twice.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_DUPLICATES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_DUPLICATES_H

#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/File/Weights.h"

#include "llvm/ADT/StringSet.h"

namespace cleave::onnx_import {

// Returns the initializers from which a Gather takes rows.
llvm::StringSet<> embeddingTables(const FlatGraph &graph);

// Adds a note for every parameter that was probably tied to an earlier one in the source model. This is a matrix that
// is the earlier one's transpose, or an equal matrix if one of the two is an embedding table. Layers that start as
// copies of one layer (nn.TransformerEncoder) are not tied, so equal values alone are no evidence.
void noteDuplicates(const WeightMap &weights, llvm::ArrayRef<std::string> parameters, const llvm::StringSet<> &tables,
                    std::vector<std::string> &notes);

} // namespace cleave::onnx_import

#endif

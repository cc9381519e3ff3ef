// Parameters that are probably buffers of the module: a TorchScript file does not tell `register_buffer` from a
// parameter, and what is no parameter must not be trained.
//
// A tensor counts as one by its name (mean, inv_freq, embed_scale: names that modules of the field use for nothing
// else) or by its values (a table of sines and cosines, an arithmetic or geometric sequence, a mask, a list of
// integers), never by its shape alone. Learned weights have such values only by chance. Some names are those of buffers
// only where the graph does arithmetic with the tensor and nothing else: pos_weight and class_weight of a loss, a
// centre that is subtracted from scores.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_PROBABLEBUFFERS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_PROBABLEBUFFERS_H

#include "compiler/Import/ONNX/File/TensorUses.h"
#include "compiler/Import/ONNX/File/Weights.h"
#include "compiler/Import/ONNX/Literal.h"

namespace cleave::onnx_import {

// Why the tensor is probably a buffer: "name", "name and use", "sinusoidal table", ...; empty if it is not.
llvm::StringRef reasonForBuffer(llvm::StringRef name, const WeightTensor &tensor, const TensorUses &uses);

// The shortest list of patterns for --buffers that matches `chosen` and no other of `all`: names, or `*.leaf` where
// three or more share the last part of their name.
std::string patternsFor(llvm::ArrayRef<std::string> chosen, llvm::ArrayRef<std::string> all);

// One note about those of `parameters`; their names.
std::vector<std::string> noteProbableBuffers(const WeightMap &weights, llvm::ArrayRef<std::string> parameters,
                                             const TensorUses &uses, std::vector<std::string> &notes);

} // namespace cleave::onnx_import

#endif

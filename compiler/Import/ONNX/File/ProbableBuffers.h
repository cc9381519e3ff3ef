// Finds parameters that are probably buffers of the module. A TorchScript file does not distinguish `register_buffer`
// from a parameter, and a buffer must not be trained.
//
// The evidence is a tensor's name (mean, inv_freq, embed_scale: names that common modules use only for buffers) or its
// values (a table of sines and cosines, an arithmetic or geometric sequence, a mask, a list of integers), but never its
// shape alone. Learned weights have such values only by chance. Some names count only if the graph uses the tensor just
// in arithmetic: pos_weight and class_weight of a loss, or a center that is subtracted from scores.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_PROBABLEBUFFERS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_PROBABLEBUFFERS_H

#include "compiler/Import/ONNX/File/TensorUses.h"
#include "compiler/Import/ONNX/File/Weights.h"
#include "compiler/Import/ONNX/Literal.h"

#include "llvm/ADT/StringSet.h"

namespace cleave::onnx_import {

// Returns why the tensor is probably a buffer: "name", "name and use", "sinusoidal table", ... Returns an empty string
// if it is not.
llvm::StringRef reasonForBuffer(llvm::StringRef name, const WeightTensor &tensor, const TensorUses &uses);

// Makes lists of patterns for options such as --buffers.
class ShortPatterns {
public:
  explicit ShortPatterns(llvm::ArrayRef<std::string> all);

  // Returns a short list that matches all names of `chosen` and no other name of `all`. It contains names, and `*.leaf`
  // if three or more names have the same last part.
  std::string of(llvm::ArrayRef<std::string> chosen) const;

private:
  llvm::StringSet<> all_;
  llvm::StringMap<size_t> counts_; // of the names of `all` that end with a dot and this last part
};

// Adds one note about the probable buffers among `parameters`. Returns their names.
std::vector<std::string> noteProbableBuffers(const WeightMap &weights, llvm::ArrayRef<std::string> parameters,
                                             const TensorUses &uses, std::vector<std::string> &notes);

} // namespace cleave::onnx_import

#endif

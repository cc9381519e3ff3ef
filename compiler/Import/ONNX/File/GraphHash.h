// A hash of what a graph computes, apart from the values of its initializers. A run that continues from a checkpoint
// compares it: a module that was changed and exported again into the same file has other operations on the same
// tensors.
//
// Names of values do not count, because exporters number them. Names of initializers and of inputs do, because
// checkpoints and users know them.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_GRAPHHASH_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_GRAPHHASH_H

#include "compiler/Import/ONNX/File/FlatGraph.h"

#include <string>

namespace cleave::onnx_import {

// Returns 16 hexadecimal digits.
std::string graphHash(const FlatGraph &graph);

} // namespace cleave::onnx_import

#endif

// Checks all names of a model once, after the file has been read.
//
// Names are used in messages, command lines, plans, checkpoints and the symbols of object files. Later steps rely on
// this:
//   - names of values, nodes and functions are UTF-8 without a NUL byte;
//   - names that select a meaning (operators, domains, attributes) or that users type (symbols of dimensions) have no
//     control characters either;
//   - lists that declare names have no repetitions: the graph's outputs, a function's inputs and outputs, a node's
//     attributes.
// Subgraphs are checked like the graph.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_NAMES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_NAMES_H

#include "compiler/Import/ONNX/File/ModelFile.h"

namespace cleave::onnx_import {

llvm::Error checkNames(const onnx::ModelProto &model);

} // namespace cleave::onnx_import

#endif

// The one check of a model's names, made once when the file has been read.
//
// Names travel far: into messages, command lines, plans, checkpoints and the symbols of object files. What is true of
// each, later steps trust:
//   - names of values, nodes and functions are UTF-8 without a NUL byte;
//   - what selects a meaning (operators, domains, attributes) or is typed by the user (symbols of dimensions) has no
//     control characters either;
//   - a list that declares names has each once: the graph's outputs, a function's inputs and outputs, a node's
//     attributes.
// Subgraphs are checked as the graph is.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_NAMES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_NAMES_H

#include "compiler/Import/ONNX/File/ModelFile.h"

namespace cleave::onnx_import {

llvm::Error checkNames(const onnx::ModelProto &model);

} // namespace cleave::onnx_import

#endif

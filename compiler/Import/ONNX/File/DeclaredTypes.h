// Compares the types that a file declares with the actual ones. Declarations of outputs and value_info are compared
// with the types that nodes compute. Declarations of inputs and value_info are compared with the types of the
// initializers of these names. The graphs of If, Loop and Scan are checked, too.
//
// A wrong element type is an error, because the file contradicts itself, and onnxruntime refuses it, too. A wrong size
// is noted. onnxruntime warns and computes, and exporters leave sizes in a file that a change of the graph has made
// wrong. But the size of an input with an initializer must match, as in onnxruntime, because it declares what may
// replace the initializer. Symbols, and values without a declaration, are not checked.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_DECLAREDTYPES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_DECLAREDTYPES_H

#include "compiler/Import/ONNX/Environment.h"
#include "compiler/Import/ONNX/File/Proto.h"
#include "compiler/Import/ONNX/Support.h"

#include <string>
#include <vector>

namespace cleave::onnx_import {

void checkDeclaredTypes(const onnx::GraphProto &graph, Environment &environment, mlir::MLIRContext *context,
                        ErrorList &errors, std::vector<std::string> &notes);
// Checks a graph inside of a node. `where` names the node. Only element types are checked, because sizes may change
// between the iterations of a loop.
void checkDeclaredElements(const onnx::GraphProto &graph, const std::string &where, Environment &environment,
                           mlir::MLIRContext *context, ErrorList &errors);

} // namespace cleave::onnx_import

#endif

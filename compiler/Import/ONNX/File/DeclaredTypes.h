// What a file declares of its values (outputs, value_info) against what its nodes compute, and of initializers (inputs
// whose default they are, value_info) against what they are; in the graphs of If, Loop and Scan, too.
//
// A declared element type that is another one is an error: the file says two things, and onnxruntime refuses it, too. A
// declared size that is another one is noted: onnxruntime warns and computes, and exporters leave sizes behind that a
// change of the graph has made wrong. But it is an error of an input with an initializer, as in onnxruntime: it says
// what may stand for the initializer. Symbols, and what is not declared, say nothing.
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
// Of a graph of a node, which `where` names: element types alone. Sizes may change from turn to turn.
void checkDeclaredElements(const onnx::GraphProto &graph, const std::string &where, Environment &environment,
                           mlir::MLIRContext *context, ErrorList &errors);

} // namespace cleave::onnx_import

#endif

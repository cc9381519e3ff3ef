// Tells which operators the importer knows, and reports the others.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_KNOWNOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_KNOWNOPERATORS_H

#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/Support.h"

namespace cleave::onnx_import {

// True if the node is of the default domain, and the importer knows its operator at its opset.
bool isStandardOperator(const FlatNode &node);
// Adds an error for each unknown operator to `errors`, with the number of its nodes and the first of them.
void reportUnknownOperators(const FlatGraph &graph, ErrorList &errors);

} // namespace cleave::onnx_import

#endif

// Which operators the importer knows, and what it says of the others.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_KNOWNOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_KNOWNOPERATORS_H

#include "compiler/Import/ONNX/File/FlatGraph.h"
#include "compiler/Import/ONNX/Support.h"

namespace cleave::onnx_import {

// Whether the node is of the default domain, with an operator that the importer knows at its opset.
bool isStandardOperator(const FlatNode &node);
// Adds every node whose operator is not known to `errors`: one line an operator, with its count and first nodes.
void reportUnknownOperators(const FlatGraph &graph, ErrorList &errors);

} // namespace cleave::onnx_import

#endif

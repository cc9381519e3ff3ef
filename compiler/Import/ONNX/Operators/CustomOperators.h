// Connects the importer with operators that plug-ins have registered (compiler/Import/Registry/OperatorRegistry.h).
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CUSTOMOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CUSTOMOPERATORS_H

#include "compiler/Import/ONNX/OpContext.h"
#include "compiler/Import/Registry/OperatorRegistry.h"

namespace cleave::onnx_import {

// Returns null if no plug-in has registered the node's operator for the file's version of its domain.
const CustomOperator *findCustomOperator(const FlatNode &node);

LogicalResult importCustomNode(const CustomOperator &custom, OpContext &op);

} // namespace cleave::onnx_import

#endif

// Operators that plug-ins registered (compiler/Import/Registry/OperatorRegistry.h), as the importer meets them.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CUSTOMOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CUSTOMOPERATORS_H

#include "compiler/Import/ONNX/OpContext.h"
#include "compiler/Import/Registry/OperatorRegistry.h"

namespace cleave::onnx_import {

// Null when no plug-in knows the node's operator at the file's version of its domain.
const CustomOperator *findCustomOperator(const FlatNode &node);

LogicalResult importCustomNode(const CustomOperator &custom, OpContext &op);

} // namespace cleave::onnx_import

#endif

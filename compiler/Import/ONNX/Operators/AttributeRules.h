// Checks the attributes of a node against the operator's definition: each attribute is defined, has the right type and
// a permitted value, and required attributes are present. Handlers rely on this. Without it, an attribute of a wrong
// type or name would count as omitted, and the node would be computed differently than the file says.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_ATTRIBUTERULES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_ATTRIBUTERULES_H

#include "compiler/Import/ONNX/Operators/OperatorSchemas.h"

namespace cleave::onnx_import {

// Returns what is wrong with the attributes of a node of the default domain, or an empty string.
std::string checkAttributes(const onnx::NodeProto &node, const OperatorSchema &schema);

} // namespace cleave::onnx_import

#endif

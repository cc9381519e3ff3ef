// The attributes of a node against the operator's definition: each is one of it, has its type and one of its values,
// and what must be there is there. So no handler has to ask: an attribute of another type or name would be taken for a
// missing one, and the node for another than the file says.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_ATTRIBUTERULES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_ATTRIBUTERULES_H

#include "compiler/Import/ONNX/Operators/OperatorSchemas.h"

namespace cleave::onnx_import {

// What is wrong with the attributes of a node of the default domain; empty where nothing is.
std::string checkAttributes(const onnx::NodeProto &node, const OperatorSchema &schema);

} // namespace cleave::onnx_import

#endif

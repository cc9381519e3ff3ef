// What holds of an attribute of ONNX's operators wherever it appears, so that no handler has to ask.
//
// In the standard's default domain one name means one type: `axis` is an integer, `alpha` a real number, and `keepdims`
// is 0 or 1, whatever the operator. An attribute of another type would be taken for a missing one, and the node for
// another than the file says.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_ATTRIBUTERULES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_ATTRIBUTERULES_H

#include "compiler/Import/ONNX/Proto.h"

#include <string>

namespace cleave::onnx_import {

// What is wrong with the attributes of a node of the default domain; empty where nothing is.
std::string checkAttributes(const onnx::NodeProto &node);

} // namespace cleave::onnx_import

#endif

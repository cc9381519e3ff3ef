#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_UNPOOLINGOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_UNPOOLINGOPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addUnpoolingOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_REGIONOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_REGIONOPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addRegionOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

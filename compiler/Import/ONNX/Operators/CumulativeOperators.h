#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CUMULATIVEOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_CUMULATIVEOPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addCumulativeOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

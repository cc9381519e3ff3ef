#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_QUANTIZATIONOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_QUANTIZATIONOPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addQuantizationOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

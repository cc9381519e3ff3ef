#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_DETERMINANTOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_DETERMINANTOPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addDeterminantOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

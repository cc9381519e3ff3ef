#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_FOURIEROPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_FOURIEROPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addFourierOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

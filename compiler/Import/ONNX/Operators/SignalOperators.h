#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_SIGNALOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_SIGNALOPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addSignalOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

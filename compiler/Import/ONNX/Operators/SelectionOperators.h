#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_SELECTIONOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_SELECTIONOPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addSelectionOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

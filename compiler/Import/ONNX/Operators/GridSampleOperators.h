#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_GRIDSAMPLEOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_GRIDSAMPLEOPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addGridSampleOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

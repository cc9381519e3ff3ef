#ifndef CLEAVE_COMPILER_IMPORT_ONNX_GRIDSAMPLEOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_GRIDSAMPLEOPERATORS_H

#include "compiler/Import/ONNX/OperatorTable.h"

namespace cleave::onnx_import {

void addGridSampleOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

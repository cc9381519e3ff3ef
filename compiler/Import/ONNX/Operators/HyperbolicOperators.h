#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_HYPERBOLICOPERATORS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_HYPERBOLICOPERATORS_H

#include "compiler/Import/ONNX/Operators/OperatorTable.h"

namespace cleave::onnx_import {

void addHyperbolicOperators(OperatorTable &table);

} // namespace cleave::onnx_import

#endif

// Parameters are what the gradient reaches: the rest of the floating-point initializers is found once the graph is
// imported.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_ROLES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_ROLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave::onnx_import {

// A state of role parameter from which no differentiable path leads to the loss (to any result, without one) becomes
// `constant`, or `buffer` when it reaches another result. Such are causal masks that a model holds as a floating-point
// buffer and compares with zero. States that nothing uses are erased; their names are returned.
std::vector<std::string> refineRoles(mlir::ModuleOp module, mlir::func::FuncOp model);

} // namespace cleave::onnx_import

#endif

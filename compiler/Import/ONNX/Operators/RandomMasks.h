// Replaces random masks outside of training, as a framework's eval() does.
//
// Exporters write dropout of whole samples or paths (stochastic depth) as arithmetic. It does not say that it is only
// for training:
//
//   x * (cast(uniform < 0.7) / 0.7)            x / 0.7 * floor(uniform + 0.7)
//
// A mask that is only used as a factor is replaced by its expectation, 0.7 here. Together with the division it becomes
// the identity, like Dropout in inference. Other random numbers (a sample that is added, a mask that the model returns)
// are drawn in inference and evaluation, too, as the standard defines. The caller notes them.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_RANDOMMASKS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_RANDOMMASKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace cleave::onnx_import {

// Replaces masks in a function that is not for training. Returns the places where random numbers are still drawn.
std::vector<std::string> replaceRandomMasks(mlir::func::FuncOp function);

} // namespace cleave::onnx_import

#endif

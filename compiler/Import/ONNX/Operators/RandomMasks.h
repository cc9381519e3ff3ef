// Random masks outside of training: what a framework's eval() makes of them.
//
// Exporters write dropout of whole samples or paths (stochastic depth) as arithmetic, which does not say that it is for
// training alone:
//
//   x * (cast(uniform < 0.7) / 0.7)            x / 0.7 * floor(uniform + 0.7)
//
// A mask that is a factor, and nothing else, is replaced by its expectation, 0.7 here. With the division this is the
// identity, as Dropout is in inference. Other random numbers (a sample that is added, a mask that the model returns)
// are drawn in inference and evaluation too, as the standard has it; the caller notes them.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_RANDOMMASKS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_RANDOMMASKS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace cleave::onnx_import {

// Replaces masks in a function that is not for training. Returns the places that draw all the same.
std::vector<std::string> replaceRandomMasks(mlir::func::FuncOp function);

} // namespace cleave::onnx_import

#endif

// Decides which floating-point initializers are parameters, by whether the gradient reaches them. This runs after the
// graph has been imported.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_STATEROLES_H
#define CLEAVE_COMPILER_IMPORT_ONNX_STATEROLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cleave::onnx_import {

// A parameter, and the op at which its gradient ends.
struct EndedGradient {
  std::string parameter;
  mlir::Operation *op = nullptr;
};

struct RefinedStateRoles {
  std::vector<std::string> unused;    // initializers without uses; their states are erased
  std::vector<EndedGradient> decided; // every path to the loss ends at a decision (GradientFlow.h): not parameters
  std::vector<EndedGradient> zero;    // as `decided`, but the gradient is zero: parameters that only decay
  std::vector<EndedGradient> missing; // a path to the loss ends at an op without a derivative: cannot be trained
};

// Changes the role of each parameter from which no differentiable path leads to the loss. It becomes `buffer` if such a
// path leads to another result, otherwise `constant`. If no result is marked as the loss, all results count as losses.
// An example is a causal mask that a model stores as a floating-point buffer and compares with zero. The lists
// `decided`, `zero` and `missing` contain no frozen parameters. `isOfAuthor` returns true if a name is probably that of
// a parameter of the model's author, and not of a constant of the exporter. Only such parameters may have a gradient of
// zeros.
RefinedStateRoles refineStateRoles(mlir::ModuleOp module, mlir::func::FuncOp model,
                                   llvm::function_ref<bool(llvm::StringRef)> isOfAuthor);

} // namespace cleave::onnx_import

#endif

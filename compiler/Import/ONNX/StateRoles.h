// Parameters are what the gradient reaches: the rest of the floating-point initializers is found once the graph is
// imported.
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
  std::vector<std::string> unused;    // initializers that nothing uses; their states are erased
  std::vector<EndedGradient> decided; // every way to the loss ends at a decision (GradientFlow.h): no longer parameters
  std::vector<EndedGradient> zero;    // the same, but the gradient is zero and not none: parameters that only decay
  std::vector<EndedGradient> missing; // a way to the loss ends at an op without a derivative: not to be trained
};

// A state of role parameter from which no differentiable path leads to the loss (to any result, without one) becomes
// `constant`, or `buffer` when it reaches another result. Such are causal masks that a model holds as a floating-point
// buffer and compares with zero. Frozen parameters are in neither list. `isOfAuthor`: whether a name is probably that
// of a parameter of the model's author, and no constant of the exporter; only these may have a gradient of zeros.
RefinedStateRoles refineStateRoles(mlir::ModuleOp module, mlir::func::FuncOp model,
                                   llvm::function_ref<bool(llvm::StringRef)> isOfAuthor);

} // namespace cleave::onnx_import

#endif

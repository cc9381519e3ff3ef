// Checks --tie. The two parameters must be one weight that was written twice. If they were not equal, one would be lost
// without a message.
#ifndef CLEAVE_COMPILER_DRIVER_MODEL_TIES_H
#define CLEAVE_COMPILER_DRIVER_MODEL_TIES_H

#include "compiler/Import/ONNX/File/Weights.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace cleave {

// Fails unless the weights of every pair KEPT=TIED are equal or, if the shapes say so, transposes of each other. A
// parameter is found by any of its names.
// Unknown names and other shapes are not checked here; the pass tie-parameters reports them.
llvm::Error checkTies(mlir::ModuleOp module, const WeightMap &weights, llvm::ArrayRef<std::string> pairs);

} // namespace cleave

#endif

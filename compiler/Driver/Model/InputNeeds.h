// Finds the inputs on which each output of an inference program depends. So `infer` asks for the other inputs only if
// they matter: a model that was exported with its loss needs no labels for its logits.
#ifndef CLEAVE_COMPILER_DRIVER_MODEL_INPUTNEEDS_H
#define CLEAVE_COMPILER_DRIVER_MODEL_INPUTNEEDS_H

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace cleave {

// Returns properties of the plan: `needs.OUTPUT` -> names of inputs, separated by commas. An output that needs all
// inputs has no property. If a name contains a comma, no output has one. `module` must be at the model level, where
// values depend on inputs only through operands. Later levels keep the meaning of values.
std::map<std::string, std::string> inputNeeds(mlir::ModuleOp module);

// Removes the checks of computed labels if an output needs none of their inputs. `infer` may then be called without
// these inputs, and the check would see zeros in their place. The loss of a label out of range is NaN
// (compiler/Import/ONNX/Operators/LossOperators.cpp), which is no error of the other outputs.
void dropOptionalChecks(mlir::ModuleOp module);

} // namespace cleave

#endif

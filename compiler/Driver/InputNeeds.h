// Which inputs the outputs of an inference program depend on, so that `infer` asks for the others only where they
// matter: a model that was exported with its loss needs no labels for its logits.
#ifndef CLEAVE_COMPILER_DRIVER_INPUTNEEDS_H
#define CLEAVE_COMPILER_DRIVER_INPUTNEEDS_H

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>

namespace cleave {

// Properties of the plan: `needs.OUTPUT` -> the inputs that it depends on, by comma. None for an output that needs all,
// and none at all where a name has a comma. `module` is at the model level, where values have no other way from an
// input to an output than operands; later levels keep what values mean.
std::map<std::string, std::string> inputNeeds(mlir::ModuleOp module);

// Takes the checks of computed labels away where an output needs none of their inputs: it may be asked for without
// them, and what the check would see are the zeros in their place. A loss out of range is then NaN
// (compiler/Import/ONNX/Operators/LossOperators.cpp), which is no error of the other outputs.
void dropOptionalChecks(mlir::ModuleOp module);

} // namespace cleave

#endif

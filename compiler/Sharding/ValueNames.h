// Names of values for messages, in the model's words where it has some.
#ifndef CLEAVE_COMPILER_SHARDING_VALUENAMES_H
#define CLEAVE_COMPILER_SHARDING_VALUENAMES_H

#include "dialects/Cleave/IR/Cleave.h"

#include <string>

namespace cleave {

// "the gradient of 'fc.weight', 'fc.bias' and 3 more (@bucket0.grad)".
std::string nameOf(StateOp state);
// "input 'x'", a state's name where the value is read of it, or the op that makes it with the model's node.
std::string nameOf(mlir::Value value);

} // namespace cleave

#endif

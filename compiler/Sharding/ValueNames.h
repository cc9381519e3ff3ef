// Names of values for messages. They use the model's names if it has some.
#ifndef CLEAVE_COMPILER_SHARDING_VALUENAMES_H
#define CLEAVE_COMPILER_SHARDING_VALUENAMES_H

#include "dialects/Cleave/IR/Cleave.h"

#include <string>

namespace cleave {

// Returns for example "the gradient of 'fc.weight', 'fc.bias' and 3 more (@bucket0.grad)".
std::string nameOf(StateOp state);
// Returns "input 'x'", the name of the state that the value is read from, or the op that makes the value with the
// model's node.
std::string nameOf(mlir::Value value);

} // namespace cleave

#endif

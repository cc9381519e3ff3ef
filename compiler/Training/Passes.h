// The passes of Passes.td, with their option structs and registration.
#ifndef CLEAVE_COMPILER_TRAINING_PASSES_H
#define CLEAVE_COMPILER_TRAINING_PASSES_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace cleave {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Training/Passes.h.inc"

} // namespace cleave

#endif

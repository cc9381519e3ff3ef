// The passes of Passes.td, with their option structs and registration.
#ifndef CLEAVE_COMPILER_TRAINING_PASSES_H
#define CLEAVE_COMPILER_TRAINING_PASSES_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace cleave {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Training/Passes.h.inc"

} // namespace cleave

#endif

// Declares the passes of Passes.td, their option structs and their registration.
#ifndef CLEAVE_COMPILER_PLANNING_PASSES_H
#define CLEAVE_COMPILER_PLANNING_PASSES_H

#include "compiler/Planning/Pipeline.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Plan/IR/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace cleave::plan {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Planning/Passes.h.inc"

} // namespace cleave::plan

#endif

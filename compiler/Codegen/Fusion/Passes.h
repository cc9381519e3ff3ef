// The passes that form and name kernels. They do not depend on the target.
#ifndef CLEAVE_COMPILER_CODEGEN_FUSION_PASSES_H
#define CLEAVE_COMPILER_CODEGEN_FUSION_PASSES_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Pass/Pass.h"

namespace cleave {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/Codegen/Fusion/Passes.h.inc"
} // namespace cleave

#endif

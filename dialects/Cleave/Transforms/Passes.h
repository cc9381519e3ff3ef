// The passes over the `cleave` dialect alone; see Passes.td.
#ifndef CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_PASSES_H
#define CLEAVE_DIALECTS_CLEAVE_TRANSFORMS_PASSES_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Pass/Pass.h"

namespace cleave {

#define GEN_PASS_DECL
#include "dialects/Cleave/Transforms/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "dialects/Cleave/Transforms/Passes.h.inc"

} // namespace cleave

#endif

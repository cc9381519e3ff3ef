// Computes the facts of Meaning.h from a module that is being planned.
#ifndef CLEAVE_COMPILER_PLANNING_VERIFY_MODEL_VALUEFACTS_H
#define CLEAVE_COMPILER_PLANNING_VERIFY_MODEL_VALUEFACTS_H

#include "compiler/Planning/Verify/Facts/Meaning.h"
#include "dialects/Cleave/IR/Cleave.h"
#include "dialects/Plan/IR/Plan.h"

namespace cleave::plan {

// Returns the number of an element type in the wire format.
uint64_t dtypeNumber(mlir::Type element);
AxesFacts axesOf(MeshAttr mesh, llvm::ArrayRef<llvm::StringRef> names);
AxesFacts axesOf(MeshAttr mesh, std::optional<mlir::ArrayAttr> names);
StateFacts factsOf(StateOp state, MeshAttr mesh);

} // namespace cleave::plan

#endif

// Running parts of a forward function again in its backward function, both in kernels form.
//
//   @c0.fwd:  %x1 = ... ; %q = kernel k4(%x1, %w); %s = matmul %q, ... ; return %q, %s
//   @c0.bwd:  (%q, %s): ... matmul %s ... kernel k9(%q)
// with only %x1 kept becomes
//   @c0.fwd:  ... return %x1
//   @c0.bwd:  (%x1): ... %q = kernel k4(%x1, %w); %s = matmul %q, ...; matmul %s ... kernel k9(%q)
//
// The very kernels of the forward pass run again, on the same bytes, so results are bitwise those without recomputation
// whatever the code generator does inside a kernel, and the plan stores no more code. That is why this happens on
// kernels form: sums repeated before fusion would be fused with other neighbours, and so be added in another order. No
// pass after this one merges equal ops.
//
// A residual that is not kept is made right before its first use, with all that it needs and that is not there yet: the
// values of one block come to life when its backward pass begins, and are dead before the next block's.
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_REPLAY_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_REPLAY_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace cleave {

// The values of a forward function that the backward pass has without keeping them: inputs, constants, states that the
// forward pass leaves alone, and what views, collectives and casts to narrower types make of those alone (a parameter,
// cast, gathered and cut out of its bucket).
class FreeValues {
public:
  explicit FreeValues(mlir::func::FuncOp forward);
  bool contains(mlir::Value value) const { return values.contains(value); }

private:
  llvm::DenseSet<mlir::Value> values;
};

// A number for a collective of the module that none has yet (`cleave.instance`).
int64_t nextInstance(mlir::ModuleOp module);

// Makes `kept` the residuals. `backward` is the backward pass, or its two halves (split-backward): then the first half,
// which runs at once, makes what is not kept, and what the second needs of it is an edge between them, "c0.x:r5" for
// residual 5. So nothing runs twice, and what is made again waits from the one half to the other.
// Fails where the functions do not belong together.
llvm::LogicalResult replayInBackward(mlir::func::FuncOp forward, llvm::ArrayRef<mlir::func::FuncOp> backward,
                                     const llvm::SetVector<mlir::Value> &kept, const FreeValues &free);

} // namespace cleave

#endif

// Repeats parts of a forward function in its backward function. Both are in kernels form.
//
//   @c0.fwd:  %x1 = ... ; %q = kernel k4(%x1, %w); %s = matmul %q, ... ; return %q, %s
//   @c0.bwd:  (%q, %s): ... matmul %s ... kernel k9(%q)
// with only %x1 kept becomes
//   @c0.fwd:  ... return %x1
//   @c0.bwd:  (%x1): ... %q = kernel k4(%x1, %w); %s = matmul %q, ...; matmul %s ... kernel k9(%q)
//
// The same kernels as in the forward pass run again, on the same bytes. So the results have the same bits as without
// recomputation, whatever the code generator does inside a kernel, and the plan does not have more code. This is why it
// is done on kernels form: sums that are repeated before fusion would be fused with other neighbours, and so be added
// in another order. No pass after this one merges equal ops.
//
// A residual that is not kept is made right before its first use, with all values that it needs and that do not exist
// yet. So the values of one block are alive while its backward pass runs, and are dead before that of the next block.
#ifndef CLEAVE_COMPILER_TRAINING_RESIDUALS_REPLAY_H
#define CLEAVE_COMPILER_TRAINING_RESIDUALS_REPLAY_H

#include "dialects/Cleave/IR/Cleave.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace cleave {

// The values of a forward function that the backward pass has without keeping them: inputs, constants, states that the
// forward pass does not write, and the results of views, collectives and casts to narrower types on these alone (a
// parameter that is cast, gathered, and sliced out of its bucket).
class FreeValues {
public:
  explicit FreeValues(mlir::func::FuncOp forward);
  bool contains(mlir::Value value) const { return values.contains(value); }

private:
  llvm::DenseSet<mlir::Value> values;
};

// Returns a number (`cleave.instance`) that no collective of the module has yet.
int64_t nextInstance(mlir::ModuleOp module);

// Makes `kept` the residuals. `backward` is the backward pass, or its two halves (split-backward). With two halves, the
// first one, which runs at once, makes the values that are not kept. Those that the second half needs are edges between
// the halves, "c0.x:r5" for residual 5. So nothing runs twice, but these values stay in memory from one half to the
// other. Fails if an argument of `backward` is not a residual of `forward`.
llvm::LogicalResult replayInBackward(mlir::func::FuncOp forward, llvm::ArrayRef<mlir::func::FuncOp> backward,
                                     const llvm::SetVector<mlir::Value> &kept, const FreeValues &free);

} // namespace cleave

#endif

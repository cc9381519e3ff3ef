// The update rules, as arithmetic on flat tensors: PyTorch's definitions, in PyTorch's order of operations.
//
// A rule does not know what it updates: a bucket, a single tensor, a rank's part of either. A new optimizer is one more
// class and one more line in `getOptimizerRule`; its states and its place in @update follow from `getSlots`.
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_H

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/TrainingOptions.h"

#include <memory>

namespace cleave {

// What one update starts from, and what it makes: `param` and `slots` are replaced.
struct UpdateValues {
  mlir::Value param, grad;
  llvm::SmallVector<mlir::Value> slots; // one for each of getSlots, of param's type
};

// Scalars of the step: f64, as PyTorch has them (Python numbers). They are cast when they meet a tensor.
struct StepScalars {
  mlir::Value lr;   // with the group's scale
  mlir::Value step; // from 1
  double weightDecay;
};

class OptimizerRule {
public:
  virtual ~OptimizerRule() = default;
  // Names of the optimizer states by PyTorch's names ("exp_avg"); all begin at zero.
  virtual llvm::SmallVector<llvm::StringRef> getSlots() const = 0;
  virtual void build(Arithmetic &a, const StepScalars &scalars, UpdateValues &values) const = 0;
};

std::unique_ptr<OptimizerRule> getOptimizerRule(const OptimizerOptions &options);

} // namespace cleave

#endif

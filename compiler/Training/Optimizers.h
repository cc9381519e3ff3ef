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

// What a bucket's ranges have each of their own: a range begins at an element, and ends where the next one begins.
template <typename T> class ByRange {
public:
  // In ascending order; what equals its neighbour is no range of its own.
  void append(int64_t begin, T value) {
    if (ranges.empty() || !(ranges.back().second == value))
      ranges.emplace_back(begin, value);
  }

  // A tensor of the bucket's shape: in each range what `make` gives for its value.
  mlir::Value choose(Arithmetic &a, llvm::function_ref<mlir::Value(T)> make) const {
    mlir::Value next = make(ranges.back().second), result = next;
    for (size_t i = ranges.size() - 1; i > 0; --i) {
      mlir::Value own = make(ranges[i - 1].second);
      if (own != next)
        result = a.select(a.isBefore(ranges[i].first, tensorType(own)), own, result);
      next = own;
    }
    return result;
  }

private:
  llvm::SmallVector<std::pair<int64_t, T>> ranges;
};

// Scalars of the step: f64, as PyTorch has them (Python numbers). They are cast when they meet a tensor, and only there
// is it chosen between parameter groups: every element meets the operations of a bucket of its group alone.
struct StepScalars {
  mlir::Value step;        // from 1
  ByRange<mlir::Value> lr; // with the groups' scales
  ByRange<double> weightDecay;
  ByRange<std::pair<mlir::Value, double>> lrAndDecay; // where both are needed at once
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

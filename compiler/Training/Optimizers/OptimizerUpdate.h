// The arithmetic of one @update on one flat tensor, for the update rule of an optimizer.
//
// A rule does not know what it updates: a bucket of several parameters, one parameter, or a rank's part of either. It
// reads `param`, `grad` and its states, which are tensors of one shape, replaces `param` and the states, and builds
// every op with `a`. Gradients are averaged and clipped already. The caller handles sharding, precision (the f32 master
// of a bf16 parameter), steps that a loss scale skips, checkpoints and offloading.
//
//   void update(OptimizerUpdate &u) {            // SGD with momentum
//     Value &velocity = u.state("velocity");
//     velocity = u.a.add(u.a.scale(velocity, u.get("momentum")), u.grad);
//     u.descend(velocity);                       // param = param - lr * velocity
//   }
#ifndef CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OPTIMIZERUPDATE_H
#define CLEAVE_COMPILER_TRAINING_OPTIMIZERS_OPTIMIZERUPDATE_H

#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Optimizers/OptimizerSettings.h"
#include "compiler/Training/Optimizers/TensorRanges.h"

namespace cleave {

// A value for each range of a bucket. A range begins at an element, and ends where the next one begins.
template <typename T> class ByRange {
public:
  // Ranges are appended in ascending order. A range with the same value as the one before it is merged with that one.
  void append(int64_t begin, T value) {
    if (ranges.empty() || !(ranges.back().second == value))
      ranges.emplace_back(begin, value);
  }

  // Returns a tensor of the bucket's shape. In each range it has what `make` returns for the range's value.
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

// Scalars of the step. They are f64, as PyTorch's Python numbers. They are cast when they meet a tensor, and only then
// the values of different parameter groups are put together. So every element goes through the same operations as in a
// bucket with only its own group.
struct StepScalars {
  mlir::Value step;        // 1 in the first step
  ByRange<mlir::Value> lr; // times the groups' scales
  ByRange<double> weightDecay;
  ByRange<std::pair<mlir::Value, double>> lrAndDecay; // if both are needed together
};

class OptimizerUpdate {
public:
  using Value = mlir::Value;

  OptimizerUpdate(Arithmetic &a, const OptimizerSettings &settings, StepScalars scalars, TensorRanges tensors, Value param,
                  Value grad)
      : a(a), settings(settings), step(scalars.step), param(param), grad(grad), scalars(std::move(scalars)),
        tensors(std::move(tensors)) {}

  Arithmetic &a;
  const OptimizerSettings &settings;
  const Value step; // an f64 scalar, 1 in the first step; skipped steps do not count
  Value param, grad;

  double get(llvm::StringRef key) const { return settings.get(key); }
  bool isSet(llvm::StringRef key) const { return settings.isSet(key); }
  // Returns one of the optimizer's states, to be read and replaced. A state that the optimizer does not declare is a
  // mistake in its own code, which undeclared() tells.
  Value &state(llvm::StringRef name);
  void addState(llvm::StringRef name, Value value) { states.emplace_back(name.str(), value); }
  // What the rule reads and the optimizer does not declare, or an empty text (OptimizerSettings::undeclared).
  const std::string &undeclared() const { return mistake.empty() ? settings.undeclared() : mistake; }

  // weight_decay * param, with the weight decay of each element's parameter group.
  Value decayTerm();
  // grad = grad + weight_decay * param: the decay goes through the rule. All except AdamW, Lion and LAMB do this.
  void addWeightDecay();
  // param = param * (1 - lr * weight_decay): the decay does not go through the rule.
  void shrink();
  // param = param - lr * direction
  void descend(Value direction);
  // 1 - beta^step, an f64 scalar: an average that began at zero is too small by this factor.
  Value biasCorrection(double beta);
  // Each element has what `make` returns for the learning rate (an f64 scalar) or for the weight decay of its group.
  Value byRate(llvm::function_ref<Value(Value lr)> make) { return scalars.lr.choose(a, make); }
  Value byDecay(llvm::function_ref<Value(double decay)> make) { return scalars.weightDecay.choose(a, make); }
  // The 2-norm of x over each whole parameter tensor, on all ranks that have parts of it. It is a vector of f64 with
  // one number for each tensor that is updated. x has the parameter's shape.
  Value tensorNorms(Value x) { return a.sqrt(tensors.sumsOfSquares(a, x)); }
  // Returns x with each element multiplied by the number of its tensor.
  Value scaleByTensor(Value x, Value numbers) { return tensors.scale(a, x, numbers); }

private:
  StepScalars scalars;
  TensorRanges tensors;
  llvm::SmallVector<std::pair<std::string, Value>> states;
  std::string mistake; // the first unknown state
  Value spare;         // stands for it
};

} // namespace cleave

#endif

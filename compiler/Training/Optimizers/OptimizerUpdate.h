// What the update rule of an optimizer works with: the arithmetic of one @update, on one flat tensor.
//
// A rule does not know what it updates: a bucket of several parameters, a single one, a rank's part of either. It sees
// `param`, `grad` and its states as tensors of one shape, replaces `param` and the states, and builds every op with
// `a`. Gradients are averaged and clipped already. Sharding, precision (the f32 master of a bf16 parameter), steps that
// a loss scale skips, checkpoints and offloading are the business of those who call it.
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
  // One of the optimizer's states, to be read and replaced. Ends the program where none of that name is declared.
  Value &state(llvm::StringRef name);
  void addState(llvm::StringRef name, Value value) { states.emplace_back(name.str(), value); }

  // weight_decay * param, with the weight decay of each element's parameter group.
  Value decayTerm();
  // grad = grad + weight_decay * param: decay that goes through the rule, as all but AdamW, Lion and LAMB have it.
  void addWeightDecay();
  // param = param * (1 - lr * weight_decay): decay beside the rule.
  void shrink();
  // param = param - lr * direction
  void descend(Value direction);
  // 1 - beta^step, an f64 scalar: by how much an average that began at zero is too small.
  Value biasCorrection(double beta);
  // In each element's place what `make` gives for the learning rate (an f64 scalar) or the weight decay of its group.
  Value byRate(llvm::function_ref<Value(Value lr)> make) { return scalars.lr.choose(a, make); }
  Value byDecay(llvm::function_ref<Value(double decay)> make) { return scalars.weightDecay.choose(a, make); }
  // The 2-norm of x over each whole parameter tensor, on all ranks that have parts of it: a vector of f64 with one number
  // for each tensor that is updated here. x has the parameter's shape.
  Value tensorNorms(Value x) { return a.sqrt(tensors.sumsOfSquares(a, x)); }
  // x, each element times its tensor's number.
  Value scaleByTensor(Value x, Value numbers) { return tensors.scale(a, x, numbers); }

private:
  StepScalars scalars;
  TensorRanges tensors;
  llvm::SmallVector<std::pair<std::string, Value>> states;
};

} // namespace cleave

#endif

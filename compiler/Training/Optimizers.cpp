#include "compiler/Training/Optimizers.h"

using namespace mlir;

namespace cleave {

namespace {

// grad + weight_decay * param: the coupled weight decay of all but AdamW.
void addWeightDecay(Arithmetic &a, double weightDecay, UpdateValues &v) {
  if (weightDecay != 0)
    v.grad = a.add(v.grad, a.scale(v.param, weightDecay));
}

// param - lr * direction
void descend(Arithmetic &a, Value lr, Value direction, UpdateValues &v) {
  v.param = a.sub(v.param, a.mul(a.spread(lr, direction), direction));
}

class Sgd : public OptimizerRule {
public:
  explicit Sgd(const OptimizerOptions &options) : o(options) {}

  SmallVector<StringRef> getSlots() const override {
    return o.momentum != 0 ? SmallVector<StringRef>{"momentum_buffer"} : SmallVector<StringRef>{};
  }

  void build(Arithmetic &a, const StepScalars &scalars, UpdateValues &v) const override {
    addWeightDecay(a, scalars.weightDecay, v);
    if (o.momentum == 0)
      return descend(a, scalars.lr, v.grad, v);
    v.slots[0] = nextMomentum(a, scalars.step, v);
    Value direction = o.nesterov ? a.add(v.grad, a.scale(v.slots[0], o.momentum)) : v.slots[0];
    descend(a, scalars.lr, direction, v);
  }

private:
  // The first step's buffer is the gradient itself, without dampening. (Without dampening the formula says so too.)
  Value nextMomentum(Arithmetic &a, Value step, const UpdateValues &v) const {
    Value next = a.add(a.scale(v.slots[0], o.momentum), a.scale(v.grad, 1 - o.dampening));
    if (o.dampening == 0)
      return next;
    Value first = a.compare(Predicate::Le, step, a.splat(tensorType(step), 1));
    auto mask = RankedTensorType::get(tensorType(v.grad).getShape(), tensorType(first).getElementType());
    return a.select(a.spread(first, mask), v.grad, next);
  }

  OptimizerOptions o;
};

// Adam and, with decoupled weight decay, AdamW.
class Adam : public OptimizerRule {
public:
  explicit Adam(const OptimizerOptions &options) : o(options) {}

  SmallVector<StringRef> getSlots() const override { return {"exp_avg", "exp_avg_sq"}; }

  void build(Arithmetic &a, const StepScalars &s, UpdateValues &v) const override {
    if (o.kind == OptimizerKind::AdamW)
      shrink(a, s, v);
    else
      addWeightDecay(a, s.weightDecay, v);
    Value &mean = v.slots[0], &square = v.slots[1];
    mean = a.add(mean, a.scale(a.sub(v.grad, mean), 1 - o.beta1));
    square = a.add(a.scale(square, o.beta2), a.mul(a.scale(v.grad, 1 - o.beta2), v.grad));
    Value stepSize = a.div(s.lr, biasCorrection(a, s.step, o.beta1));
    Value root = a.sqrt(biasCorrection(a, s.step, o.beta2));
    Value deviation = a.shift(a.div(a.sqrt(square), a.spread(root, square)), o.eps);
    v.param = a.sub(v.param, a.div(a.mul(a.spread(stepSize, mean), mean), deviation));
  }

private:
  // param * (1 - lr * weight_decay)
  void shrink(Arithmetic &a, const StepScalars &s, UpdateValues &v) const {
    if (s.weightDecay == 0)
      return;
    Value factor = a.sub(a.splat(tensorType(s.lr), 1), a.scale(s.lr, s.weightDecay));
    v.param = a.mul(v.param, a.spread(factor, v.param));
  }

  // 1 - beta^step
  Value biasCorrection(Arithmetic &a, Value step, double beta) const {
    RankedTensorType type = tensorType(step);
    return a.sub(a.splat(type, 1), a.pow(a.splat(type, beta), step));
  }

  OptimizerOptions o;
};

class Adadelta : public OptimizerRule {
public:
  explicit Adadelta(const OptimizerOptions &options) : o(options) {}

  SmallVector<StringRef> getSlots() const override { return {"square_avg", "acc_delta"}; }

  void build(Arithmetic &a, const StepScalars &s, UpdateValues &v) const override {
    addWeightDecay(a, s.weightDecay, v);
    Value &square = v.slots[0], &deltas = v.slots[1];
    square = decay(a, square, v.grad);
    Value delta = a.mul(a.div(deviation(a, deltas), deviation(a, square)), v.grad);
    deltas = decay(a, deltas, delta);
    descend(a, s.lr, delta, v);
  }

private:
  Value deviation(Arithmetic &a, Value square) const { return a.sqrt(a.shift(square, o.eps)); }
  Value decay(Arithmetic &a, Value average, Value x) const {
    return a.add(a.scale(average, o.rho), a.mul(a.scale(x, 1 - o.rho), x));
  }

  OptimizerOptions o;
};

} // namespace

std::unique_ptr<OptimizerRule> getOptimizerRule(const OptimizerOptions &options) {
  switch (options.kind) {
  case OptimizerKind::Sgd:
    return std::make_unique<Sgd>(options);
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    return std::make_unique<Adam>(options);
  case OptimizerKind::Adadelta:
    return std::make_unique<Adadelta>(options);
  }
  return nullptr;
}

} // namespace cleave

#include "compiler/Training/Optimizers.h"

using namespace mlir;

namespace cleave {

namespace {

// grad + weight_decay * param: the coupled weight decay of all but AdamW. A term of -0 changes no bit.
void addWeightDecay(Arithmetic &a, const StepScalars &s, UpdateValues &v) {
  Value none = a.splat(tensorType(v.param), -0.0);
  Value term = s.weightDecay.choose(a, [&](double decay) { return decay == 0 ? none : a.scale(v.param, decay); });
  v.grad = a.add(v.grad, term);
}

// param - lr * direction
void descend(Arithmetic &a, const StepScalars &s, Value direction, UpdateValues &v) {
  Value rate = s.lr.choose(a, [&](Value lr) { return a.spread(lr, direction); });
  v.param = a.sub(v.param, a.mul(rate, direction));
}

class Sgd : public OptimizerRule {
public:
  explicit Sgd(const OptimizerOptions &options) : o(options) {}

  SmallVector<StringRef> getSlots() const override {
    return o.momentum != 0 ? SmallVector<StringRef>{"momentum_buffer"} : SmallVector<StringRef>{};
  }

  void build(Arithmetic &a, const StepScalars &s, UpdateValues &v) const override {
    addWeightDecay(a, s, v);
    if (o.momentum == 0)
      return descend(a, s, v.grad, v);
    v.slots[0] = nextMomentum(a, s.step, v);
    Value direction = o.nesterov ? a.add(v.grad, a.scale(v.slots[0], o.momentum)) : v.slots[0];
    descend(a, s, direction, v);
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
      addWeightDecay(a, s, v);
    Value &mean = v.slots[0], &square = v.slots[1];
    mean = a.add(mean, a.scale(a.sub(v.grad, mean), 1 - o.beta1));
    square = a.add(a.scale(square, o.beta2), a.mul(a.scale(v.grad, 1 - o.beta2), v.grad));
    Value correction = biasCorrection(a, s.step, o.beta1);
    Value stepSize = s.lr.choose(a, [&](Value lr) { return a.spread(a.div(lr, correction), mean); });
    Value root = a.sqrt(biasCorrection(a, s.step, o.beta2));
    Value deviation = a.shift(a.div(a.sqrt(square), a.spread(root, square)), o.eps);
    v.param = a.sub(v.param, a.div(a.mul(stepSize, mean), deviation));
  }

private:
  // param * (1 - lr * weight_decay); a factor of 1 changes no bit
  void shrink(Arithmetic &a, const StepScalars &s, UpdateValues &v) const {
    Value one = a.splat(tensorType(v.param), 1);
    Value factor = s.lrAndDecay.choose(a, [&](std::pair<Value, double> group) {
      auto [lr, decay] = group;
      return decay == 0 ? one : a.spread(a.sub(a.splat(tensorType(lr), 1), a.scale(lr, decay)), v.param);
    });
    v.param = a.mul(v.param, factor);
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
    addWeightDecay(a, s, v);
    Value &square = v.slots[0], &deltas = v.slots[1];
    square = decay(a, square, v.grad);
    Value delta = a.mul(a.div(deviation(a, deltas), deviation(a, square)), v.grad);
    deltas = decay(a, deltas, delta);
    descend(a, s, delta, v);
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

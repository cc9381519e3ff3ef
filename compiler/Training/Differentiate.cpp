#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Diagnose.h"
#include "compiler/Training/LossScale.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/States.h"
#include "compiler/Training/TrainingOptions.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "compiler/Training/Passes.h.inc"

namespace {

bool isFloat(Value value) { return isa<FloatType>(tensorType(value).getElementType()); }

// The values that change when a trainable parameter does. Only they get gradients.
class ActiveValues {
public:
  ActiveValues(ModuleOp module, Block &block) {
    SymbolTable symbols(module);
    for (Operation &op : block) {
      auto read = dyn_cast<ReadOp>(op);
      bool active = read ? isTrainable(symbols.lookup<StateOp>(read.getState()))
                         : llvm::any_of(op.getOperands(), [&](Value v) { return contains(v); });
      if (active)
        for (Value result : op.getResults())
          if (isFloat(result))
            values.insert(result);
    }
  }

  bool contains(Value value) const { return values.contains(value); }

  // Whether a gradient on the way from `loss` to the parameters is of fp16: it has the type of its value.
  bool hasFp16Gradients(Value loss) const {
    SmallVector<Value> stack = {loss};
    llvm::DenseSet<Value> seen;
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      if (!contains(value) || !seen.insert(value).second)
        continue;
      if (tensorType(value).getElementType().isF16())
        return true;
      llvm::append_range(stack, value.getDefiningOp()->getOperands());
    }
    return false;
  }

private:
  static bool isTrainable(StateOp state) { return state && state.getRole() == Role::Parameter && !state.getFrozen(); }

  llvm::DenseSet<Value> values;
};

// Reverse-mode differentiation of one block. Gradients are built at the builder's place, behind the whole forward pass.
class ReverseWalk {
public:
  ReverseWalk(OpBuilder &builder, const ActiveValues &active) : builder(builder), active(active) {}

  void seed(Value value, Value gradient) { gradients[value] = gradient; }
  Value get(Value value) const { return gradients.lookup(value); }

  LogicalResult run(ArrayRef<Operation *> forward) {
    for (Operation *op : llvm::reverse(forward))
      if (failed(visit(op)))
        return failure();
    return success();
  }

private:
  LogicalResult visit(Operation *op) {
    SmallVector<Value> results = llvm::map_to_vector(op->getResults(), [&](Value v) { return get(v); });
    bool reached = llvm::any_of(results, [](Value v) { return v != nullptr; });
    bool passesOn = llvm::any_of(op->getOperands(), [&](Value v) { return active.contains(v); });
    if (!reached || !passesOn)
      return success();
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitError("a parameter's gradient passes here, and '")
             << op->getName()
             << "' has no derivative; freeze the parameters before it, or express it by other operators";
    SmallVector<Value> operands(op->getNumOperands());
    if (failed(differentiable.buildVJP(builder, results, operands)))
      return op->emitError("the gradient of '") << op->getName() << "' cannot be built";
    for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operands))
      if (gradient && active.contains(operand))
        accumulate(operand, gradient);
    return success();
  }

  void accumulate(Value value, Value gradient) {
    Value &sum = gradients[value];
    sum = sum ? AddOp::create(builder, gradient.getLoc(), sum, gradient) : gradient;
  }

  OpBuilder &builder;
  const ActiveValues &active;
  llvm::DenseMap<Value, Value> gradients;
};

class DifferentiatePass : public impl::DifferentiateBase<DifferentiatePass> {
public:
  using DifferentiateBase::DifferentiateBase;

private:
  void runOnOperation() override {
    func::FuncOp model = lookupFunction(getOperation(), "model");
    auto average = orDiagnose(getOperation(), parseLossAverage(lossAverage));
    auto types = orDiagnose(getOperation(), parsePrecision(reduce.empty() ? "" : "reduce=" + reduce));
    auto scale = orDiagnose(getOperation(), parseLossScale(lossScale));
    if (failed(average) || failed(types) || failed(scale))
      return signalPassFailure();
    if (types->reduce)
      gradientType = floatType(&getContext(), *types->reduce);
    if (!model || model.getNumResults() != 2 || !model.getResultAttr(0, "cleave.loss_sum")) {
      getOperation().emitError("expected a function @model with the two results of split-loss");
      return signalPassFailure();
    }
    model.setName("c0");
    mergeReads(model);
    Block &block = model.getBody().front();
    Operation *terminator = block.getTerminator();
    Value sum = terminator->getOperand(0), count = terminator->getOperand(1);
    ActiveValues active(getOperation(), block);
    FailureOr<bool> scaled =
        needsLossScale(getOperation(), *scale, types->reduce == FloatKind::F16 || active.hasFp16Gradients(sum));
    if (failed(scaled))
      return signalPassFailure();
    SmallVector<Operation *> forward =
        llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
    OpBuilder builder(terminator);
    addToLoss(builder, block, sum, count);
    if (*scaled)
      declareLossScale(getOperation(), *scale, count, *average, microBatches);

    ReverseWalk walk(builder, active);
    walk.seed(sum, scaleSeed(builder, block.addArgument(sum.getType(), sum.getLoc()), count, *average));
    if (failed(walk.run(forward)))
      return signalPassFailure();
    if (!addToGradients(builder, block, forward, walk)) {
      model.emitError("no parameter has a gradient: all are frozen, or the loss uses none");
      return signalPassFailure();
    }
    finish(model, terminator);
  }

  // scalar.loss_sum += sum, scalar.loss_count += count. Reads stand at the block's beginning, before all writes.
  void addToLoss(OpBuilder &builder, Block &block, Value sum, Value count) {
    for (auto [name, value] : {std::pair("scalar.loss_sum", sum), std::pair("scalar.loss_count", count)}) {
      Arithmetic a(builder, value.getLoc());
      StateOp state = getScalar(getOperation(), name, tensorType(value).getElementType());
      accumulate(builder, block, state, a.sum(value), value.getLoc());
    }
  }

  void accumulate(OpBuilder &builder, Block &block, StateOp state, Value term, Location loc) {
    OpBuilder atBegin = OpBuilder::atBlockBegin(&block);
    Value old = readState(atBegin, loc, state);
    WriteOp::create(builder, loc, AddOp::create(builder, loc, old, term), state.getSymName());
  }

  // rank: the mean over ranks and micro-batches of their means; `count` has one entry per rank.
  Value scaleSeed(OpBuilder &builder, Value seed, Value count, LossAverage average) {
    Arithmetic a(builder, count.getLoc());
    if (Value scale = readLossScale(getOperation(), builder, count.getLoc()))
      seed = a.mul(seed, a.spread(scale, seed));
    if (average == LossAverage::Global)
      return seed;
    double means = static_cast<double>(microBatches * tensorType(count).getNumElements());
    return a.div(seed, a.scale(count, means));
  }

  // One gradient state a parameter, written as soon as its gradient is there. False if there is none.
  bool addToGradients(OpBuilder &builder, Block &block, ArrayRef<Operation *> forward, const ReverseWalk &walk) {
    SmallVector<std::pair<Value, StateOp>> found;
    SymbolTable symbols(getOperation());
    for (Operation *op : forward)
      if (auto read = dyn_cast<ReadOp>(op))
        if (Value gradient = walk.get(read.getResult()))
          found.emplace_back(gradient, symbols.lookup<StateOp>(read.getState()));
    for (auto [gradient, parameter] : found) {
      Type element = parameter.getTensorType().getElementType();
      if (gradientType && floatKind(element))
        element = gradientType;
      StateOp state =
          addState(symbols, gradientName(parameter.getSymName()), parameter.getTensorType().clone(element),
                   Role::Gradient, retyped(zeroedSegments(parameter.getSegments()), element), "grad");
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(gradient);
      // Rounded here, so that sums over micro-batches and ranks are of the gradient's type.
      Value term = Arithmetic(builder, gradient.getLoc()).cast(gradient, element);
      accumulate(builder, block, state, term, gradient.getLoc());
    }
    return !found.empty();
  }

  void finish(func::FuncOp function, Operation *terminator) {
    terminator->setOperands({});
    Builder builder(&getContext());
    SmallVector<Attribute> attrs(function.getFunctionType().getNumInputs(), builder.getDictionaryAttr({}));
    if (ArrayAttr old = function.getArgAttrsAttr())
      attrs.assign(old.begin(), old.end());
    attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr("cleave.seed", builder.getUnitAttr())));
    function.removeResAttrsAttr();
    function.setFunctionType(builder.getFunctionType(function.getBody().front().getArgumentTypes(), {}));
    function.setArgAttrsAttr(builder.getArrayAttr(attrs));
  }

  Type gradientType; // null: that of the parameter
};
} // namespace
} // namespace cleave

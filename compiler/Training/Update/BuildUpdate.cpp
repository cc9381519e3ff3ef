#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Loss/LossSums.h"
#include "compiler/Training/Optimizers/Optimizer.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/Precision/LossScale.h"
#include "compiler/Training/States.h"
#include "compiler/Training/TrainingOptions.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Messages.h"
#include "dialects/Cleave/IR/StepFunctions.h"
#include "runtime/plan/ScalarNames.h"

#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_BUILDUPDATE
#include "compiler/Training/Passes.h.inc"

namespace {

struct ParamGroupConstants {
  double lrScale = 1, weightDecay = 0;
};

// Returns the module's group table. A group without a weight decay of its own has the optimizer's. The table is written
// back to the module, so that the plan says which values were used.
FailureOr<SmallVector<ParamGroupConstants>> resolveGroups(ModuleOp module, const OptimizerOptions &options) {
  bool decays = options.settings.has(OptimizerSetting::kWeightDecay);
  double weightDecay = decays ? options.settings.get(OptimizerSetting::kWeightDecay) : 0;
  Builder builder(module.getContext());
  SmallVector<ParamGroupConstants> groups;
  SmallVector<Attribute> table;
  auto declared = module->getAttrOfType<ArrayAttr>(kParamGroupsAttr);
  if (!declared)
    return SmallVector<ParamGroupConstants>{{1, weightDecay}};
  for (auto row : declared.getAsRange<DictionaryAttr>()) {
    NamedAttrList entries(row);
    if (!decays && entries.get("weight_decay"))
      return diagnose(module, usageError("--param-group", "optimizer '" + options.optimizer->name +
                                                              "' has no weight_decay; leave it out"));
    if (!entries.get("weight_decay"))
      entries.set("weight_decay", builder.getF64FloatAttr(weightDecay));
    groups.push_back({cast<FloatAttr>(entries.get("lr_scale")).getValueAsDouble(),
                      cast<FloatAttr>(entries.get("weight_decay")).getValueAsDouble()});
    table.push_back(entries.getDictionary(module.getContext()));
  }
  module->setAttr(kParamGroupsAttr, builder.getArrayAttr(table));
  return groups;
}

class UpdateBuilder {
public:
  UpdateBuilder(ModuleOp module, OpBuilder &builder, const OptimizerOptions &options,
                ArrayRef<ParamGroupConstants> groups)
      : module(module), symbols(module), builder(builder), a(builder, module.getLoc()), options(options),
        groups(groups) {}

  LogicalResult build(ArrayRef<StateOp> gradientStates, LossAverage average) {
    Value lossSum = readScalar(rt::kLossSumScalar), lossCount = readScalar(rt::kLossCountScalar);
    lossCount = guardCount(a, lossCount, takeCountGuards(module));
    Value divisor = average == LossAverage::Global ? lossCount : Value();
    if (Value scale = readLossScale(module, builder, module.getLoc()))
      divisor = divisor ? a.mul(divisor, scale) : scale;
    SmallVector<Value> gradients;
    llvm::StringMap<SmallVector<StateOp>> allFurther = furtherGradients(module);
    for (StateOp state : gradientStates) {
      Type type = accumulationType(state.getTensorType().getElementType());
      gradients.push_back(a.cast(read(state), type));
      for (StateOp further : allFurther.lookup(state.getSymName()))
        gradients.back() = a.add(gradients.back(), a.cast(read(further), type));
    }
    Value norm = buildNorm(gradients);
    if (divisor) {
      divisor = orOneWhereNothingCounts(divisor, lossCount, norm);
      norm = a.div(norm, a.spread(divisor, norm));
      norm = a.max(norm, a.neg(norm)); // a loss may be divided by a number below 0
    }
    Value factor = buildFactor(norm, divisor);
    if (isScaled())
      finite = a.compare(Predicate::Lt, norm, a.splat(tensorType(norm), INFINITY)); // false for NaN too
    for (auto [state, gradient] : llvm::zip_equal(gradientStates, gradients))
      if (failed(updateOne(state, a.mul(gradient, a.spread(factor, gradient)))))
        return failure();
    writeResult(rt::kGradNormScalar, norm);
    writeResult(rt::kLossScalar, a.div(lossSum, lossCount));
    updateStatistics();
    if (finite) {
      keepBuffers();
      writeLossScale(module, builder, module.getLoc(), finite);
    }
    return success();
  }

private:
  // True if the loss is scaled. Then a step with an infinite or undefined gradient on any rank changes no state.
  bool isScaled() { return lookupState(module, rt::kLossScaleScalar) != nullptr; }

  // Builds the 2-norm of all gradients together, before the division by the count. It is computed in f64: the square of
  // an f32 element of 2e19 is infinite in f32, so the norm would be infinite although the gradients are not.
  Value buildNorm(ArrayRef<Value> gradients) {
    Value squares;
    for (Value gradient : gradients) {
      Value wide = a.cast(gradient, builder.getF64Type());
      Value term = a.sum(a.mul(wide, wide));
      squares = squares ? a.add(squares, term) : term;
    }
    return a.sqrt(squares);
  }

  // If nothing counts in a step, the gradients of the sum are 0, and 0 / 0 would make all parameters NaN. The gradients
  // stay 0, as in PyTorch: only the loss is NaN. If the count is 0 and gradients are not, they become infinite, as they
  // should.
  Value orOneWhereNothingCounts(Value divisor, Value count, Value norm) {
    Value isEmpty = a.mask(a.compare(Predicate::Eq, count, a.splat(tensorType(count), 0)),
                           a.compare(Predicate::Eq, norm, a.splat(tensorType(norm), 0)));
    return a.select(isEmpty, a.splat(tensorType(divisor), 1), divisor);
  }

  // Builds the factor of every gradient: 1 / count, times min(1, clip_norm / (norm + 1e-6)) of
  // torch.nn.utils.clip_grad_norm_. A clip_norm of +inf means no clipping: the norm is only reported. In particular,
  // one infinite or NaN gradient does not make the others NaN.
  Value buildFactor(Value norm, Value count) {
    Value limit = a.spread(readScalar(rt::kClipNormScalar, builder.getF32Type()), norm);
    Value one = a.splat(tensorType(norm), 1), unlimited = a.splat(tensorType(norm), INFINITY);
    Value clip = a.min(a.div(limit, a.shift(norm, 1e-6)), one);
    clip = a.select(a.compare(Predicate::Lt, limit, unlimited), clip, one);
    return count ? a.div(clip, a.spread(count, clip)) : clip;
  }

  LogicalResult updateOne(StateOp gradientState, Value gradient) {
    StateOp parameter = getParameterOf(symbols, gradientState);
    Type stored = parameter.getTensorType().getElementType(), type = accumulationType(stored);
    StateOp master = stored == type ? parameter : addSlot(parameter, "master", type, parameter.getSegments());
    Value old = read(master);
    Value wide = a.cast(gradient, type);
    SmallVector<std::tuple<StateOp, std::string, Value>> slots; // each with its name and its old value
    for (const OptimizerState &state : options.optimizer->states(options.settings)) {
      StateOp slot = addSlot(parameter, state.name, type, beginningWith(parameter.getSegments(), state.init));
      slots.emplace_back(slot, state.name, read(slot));
    }
    OptimizerUpdate update(a, options.settings, buildScalars(parameter), tensorsOf(parameter), old, wide);
    for (auto &[slot, name, oldValue] : slots)
      update.addState(name, oldValue);
    Operation *before = &builder.getInsertionBlock()->back();
    options.optimizer->update(update);
    auto isLike = [](Value next, Value before) { return next && next.getType() == before.getType(); };
    bool keepsTypes = isLike(update.param, old);
    for (auto &[slot, name, oldValue] : slots)
      keepsTypes &= isLike(update.state(name), oldValue);
    if (failed(checkRule(update, before, keepsTypes)))
      return failure();
    if (update.param == old)
      return refuseRule("the parameter stays as it is; OptimizerUpdate::descend moves it, or assign to `param`");
    Value next = ifFinite(update.param, old);
    write(master, next);
    if (master != parameter) // the same bits as before if the master has not changed
      write(parameter, a.cast(next, stored));
    for (auto &[slot, name, oldValue] : slots)
      write(slot, ifFinite(update.state(name), oldValue));
    return success();
  }

  // A mistake in a rule is told with the optimizer's name, because its author can mend it.
  LogicalResult refuseRule(const Twine &mistake) {
    return module.emitError("optimizer '" + options.optimizer->name + "': ") << mistake;
  }

  // The rule built the operations after `before`.
  LogicalResult checkRule(const OptimizerUpdate &update, Operation *before, bool keepsTypes) {
    std::string mistake = update.undeclared();
    if (mistake.empty()) {
      ScopedDiagnosticHandler errors(module.getContext(), [&](Diagnostic &error) { mistake = textOf(error); });
      for (Operation *op = before->getNextNode(); op && mistake.empty(); op = op->getNextNode())
        (void)verify(op);
    }
    if (mistake.empty() && !keepsTypes)
      mistake =
          "the parameter and the states keep their shape and type; Arithmetic::spread makes a tensor of one number";
    return mistake.empty() ? success() : refuseRule(mistake);
  }

  // Updates running statistics from all values of the step (DeferStatistics.cpp). The states that are named exist
  // (checkDeferred).
  void updateStatistics() {
    for (StateOp mean : llvm::to_vector(module.getOps<StateOp>())) {
      auto note = mean->getAttrOfType<DictionaryAttr>(kDeferredAttr);
      if (!note)
        continue;
      auto variance = symbols.lookup<StateOp>(note.getAs<StringAttr>("variance"));
      double momentum = note.getAs<FloatAttr>("momentum").getValueAsDouble();
      auto terms = static_cast<double>(note.getAs<IntegerAttr>("terms").getInt());
      double values = terms * static_cast<double>(note.getAs<IntegerAttr>("count").getInt());
      Value moved = a.scale(read(symbols.lookup<StateOp>(note.getAs<StringAttr>("sum"))), 1 / terms);
      Value squares = a.scale(read(symbols.lookup<StateOp>(note.getAs<StringAttr>("squares"))), 1 / terms);
      Type type = tensorType(moved).getElementType();
      Value unbiased = a.scale(a.sub(squares, a.mul(moved, moved)), values / (values - 1));
      auto update = [&](StateOp state, Value now) {
        Value old = read(state), wide = a.cast(old, type);
        Value mixed = a.add(a.scale(wide, momentum), a.scale(now ? now : a.add(wide, moved), 1 - momentum));
        write(state, ifFinite(a.cast(mixed, tensorType(old).getElementType()), old));
      };
      update(mean, Value());
      update(variance, unbiased);
      mean->removeAttr(kDeferredAttr);
    }
  }

  // The forward pass writes running statistics before it is known whether the step is skipped. So it also keeps the old
  // ones, and the update restores them.
  void keepBuffers() {
    for (unsigned chunk : chunksOf(module))
      if (func::FuncOp joint = lookupFunction(module, chunkName(chunk)))
        keepBuffers(joint);
  }

  void keepBuffers(func::FuncOp forward) {
    for (WriteOp write : llvm::to_vector(forward.getBody().front().getOps<WriteOp>())) {
      auto state = symbols.lookup<StateOp>(write.getState());
      if (state.getRole() != Role::Buffer || isAccumulator(state))
        continue;
      StateOp before = addState(symbols, (state.getSymName() + ".before").str(), state.getTensorType(), Role::Buffer,
                                zeroedSegments(state.getSegments()), kBeforeSlot);
      OpBuilder atBegin = OpBuilder::atBlockBegin(&forward.getBody().front()), atWrite(write);
      Value old = readState(atBegin, write.getLoc(), state);
      WriteOp::create(atWrite, write.getLoc(), old, before.getSymName());
      this->write(state, ifFinite(read(state), read(before)));
    }
  }

  // Adds an optimizer state of the parameter, in the type in which the optimizer computes.
  StateOp addSlot(StateOp parameter, StringRef slot, Type type, ArrayAttr segments) {
    return addState(symbols, (parameter.getSymName() + "." + slot).str(), parameter.getTensorType().clone(type),
                    Role::Optimizer, retyped(segments, type), slot);
  }

  // A skipped step selects the old value, so plans need no branches.
  Value ifFinite(Value value, Value old) {
    if (!finite)
      return value;
    return a.select(a.spread(finite, tensorType(value).clone(builder.getI1Type())), value, old);
  }

  StepScalars buildScalars(StateOp parameter) {
    Type f64 = builder.getF64Type();
    if (!lr) {
      lr = a.cast(readScalar(rt::kRateScalar, builder.getF32Type()), f64);
      // Steps that a loss scale skipped do not count, also if an fp16 run made them and this program has no loss scale.
      step = a.cast(readScalar(rt::kStepScalar, builder.getI64Type()), f64);
      step = a.sub(step, a.cast(readScalar(rt::kSkippedScalar), f64));
    }
    StepScalars scalars{step, {}, {}, {}};
    for (auto segment : parameter.getSegments().getAsRange<SegmentAttr>()) {
      size_t group = segment.getGroup();
      ParamGroupConstants constants = group < groups.size() ? groups[group] : groups.front();
      Value rate = lrOf(constants.lrScale);
      scalars.lr.append(segment.getOffset(), rate);
      scalars.weightDecay.append(segment.getOffset(), constants.weightDecay);
      scalars.lrAndDecay.append(segment.getOffset(), {rate, constants.weightDecay});
    }
    return scalars;
  }

  static TensorRanges tensorsOf(StateOp parameter) {
    TensorRanges tensors;
    for (auto segment : parameter.getSegments().getAsRange<SegmentAttr>())
      tensors.append(segment.getOffset(), segment.getType().getNumElements());
    return tensors;
  }

  // Returns the learning rate times a group's scale. All groups with the same scale have the same value.
  Value lrOf(double scale) {
    auto found = llvm::find_if(rates, [&](const auto &rate) { return rate.first == scale; });
    return found != rates.end() ? found->second : rates.emplace_back(scale, a.scale(lr, scale)).second;
  }

  Value read(StateOp state) { return readState(builder, state.getLoc(), state); }
  void write(StateOp state, Value value) { WriteOp::create(builder, state.getLoc(), value, state.getSymName()); }
  Value readScalar(StringRef name, Type type = {}) {
    return read(getScalar(module, name, type ? type : builder.getF32Type()));
  }
  void writeResult(StringRef name, Value value) {
    write(getScalar(module, name, builder.getF32Type()), a.cast(value, builder.getF32Type()));
  }

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder &builder;
  Arithmetic a;
  const OptimizerOptions &options;
  ArrayRef<ParamGroupConstants> groups;
  Value lr, step;                              // read once, f64
  SmallVector<std::pair<double, Value>> rates; // lr by scale
  Value finite;                                // with a loss scale: true if all gradients are finite
};

// Checks that `cleave.deferred` names existing states.
LogicalResult checkDeferred(const SymbolTable &symbols) {
  for (StateOp mean : cast<ModuleOp>(symbols.getOp()).getOps<StateOp>())
    if (auto note = mean->getAttrOfType<DictionaryAttr>(kDeferredAttr))
      for (StringRef key : {"variance", "sum", "squares"})
        if (auto name = note.getAs<StringAttr>(key); !symbols.lookup<StateOp>(name))
          return mean.emitOpError("expects states in ") << kDeferredAttr << "; got: " << key << " = " << name;
  return success();
}

class BuildUpdatePass : public impl::BuildUpdateBase<BuildUpdatePass> {
public:
  using BuildUpdateBase::BuildUpdateBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto options = orDiagnose(module, parseOptimizer(optimizer));
    auto average = orDiagnose(module, parseLossAverage(lossAverage));
    if (failed(options) || failed(average))
      return signalPassFailure();
    SmallVector<StateOp> gradients;
    for (auto state : module.getOps<StateOp>())
      if (state.getRole() == Role::Gradient && !chunkNumber(state.getSymName().rsplit('.').second))
        gradients.push_back(state); // further gradients of tied parameters are added to the first
    SymbolTable symbols(module);
    for (StateOp state : gradients)
      if (!getParameterOf(symbols, state)) {
        state.emitError("a gradient state is named after its parameter, NAME.grad; there is no state of that name");
        return signalPassFailure();
      }
    if (gradients.empty()) {
      module.emitError("expected gradient states; differentiate makes them");
      return signalPassFailure();
    }
    auto groups = resolveGroups(module, *options);
    if (failed(groups) || failed(checkDeferred(symbols)))
      return signalPassFailure();
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto update = func::FuncOp::create(builder, module.getLoc(), "update", builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(update.addEntryBlock());
    if (failed(UpdateBuilder(module, builder, *options, *groups).build(gradients, *average)))
      return signalPassFailure();
    func::ReturnOp::create(builder, module.getLoc());
  }
};
} // namespace
} // namespace cleave

#include "compiler/Planning/Passes.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_FLATTENPROGRAMS
#include "compiler/Planning/Passes.h.inc"

namespace {

// Inlines functions one behind the other into a new one, whose arguments are the inputs of all of them by name.
class Flattener {
public:
  Flattener(ModuleOp module, StringRef name) : module(module) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    result = func::FuncOp::create(builder, module.getLoc(), name, builder.getFunctionType({}, {}));
    result.addEntryBlock();
  }

  func::FuncOp finish() {
    Block &block = result.getBody().front();
    OpBuilder builder = OpBuilder::atBlockEnd(&block);
    func::ReturnOp::create(builder, module.getLoc());
    return result;
  }

  // Declares the inputs of `function` without running it.
  LogicalResult addInputs(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      if (!function.getArgAttr(argument.getArgNumber(), "cleave.residual") && failed(input(function, argument)))
        return failure();
    return success();
  }

  // Appends the body; residual arguments are the results of the function appended before.
  LogicalResult append(func::FuncOp function) {
    IRMapping mapping;
    for (BlockArgument argument : function.getArguments()) {
      FailureOr<Value> value = valueOf(function, argument);
      if (failed(value))
        return failure();
      mapping.map(argument, *value);
    }
    OpBuilder builder = OpBuilder::atBlockEnd(&result.getBody().front());
    bool marks = isBackward(function);
    for (Operation &op : function.getBody().front().without_terminator()) {
      Operation *copy = builder.clone(op, mapping);
      // Which of the prefetch options is meant can no longer be seen when both are one body.
      if (marks && (isa<shard::ShardDialect>(op.getDialect()) || isa<cleave::KernelOp, ComputeOpInterface>(op)))
        copy->setAttr("cleave.backward", builder.getUnitAttr());
    }
    residuals.clear();
    for (Value value : function.getBody().front().getTerminator()->getOperands())
      residuals.push_back(mapping.lookup(value));
    return success();
  }

private:
  FailureOr<Value> valueOf(func::FuncOp function, BlockArgument argument) {
    auto index = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "cleave.residual");
    if (!index)
      return input(function, argument);
    if (index.getInt() < 0 || index.getInt() >= static_cast<int64_t>(residuals.size()) ||
        residuals[index.getInt()].getType() != argument.getType())
      return function.emitError("expected argument ")
             << argument.getArgNumber() << " to be a residual of the forward function; got: residual "
             << index.getInt();
    return residuals[index.getInt()];
  }

  FailureOr<Value> input(func::FuncOp function, BlockArgument argument) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "cleave.name");
    if (!name)
      return function.emitError("expected argument ")
             << argument.getArgNumber() << " to have cleave.name or cleave.residual";
    auto [known, isNew] = inputs.insert({name, Value()});
    if (isNew) {
      unsigned index = result.getNumArguments();
      if (failed(result.insertArgument(index, argument.getType(), function.getArgAttrDict(argument.getArgNumber()),
                                       argument.getLoc())))
        return failure();
      known->second = result.getArgument(index);
    }
    if (known->second.getType() != argument.getType())
      return function.emitError("expected input ")
             << name << " to have one type; got: " << argument.getType() << " and " << known->second.getType();
    return known->second;
  }

  ModuleOp module;
  func::FuncOp result;
  llvm::MapVector<StringAttr, Value> inputs;
  llvm::SmallVector<Value> residuals;
};

struct FlattenPrograms : impl::FlattenProgramsBase<FlattenPrograms> {
  void runOnOperation() override {
    for (StringRef name : {"infer", "evaluate"})
      if (func::FuncOp entry = lookup(name))
        entry->setAttr("cleave.entry", UnitAttr::get(&getContext()));
    if (!lookup("c0.fwd"))
      return;
    if (lookup("c1.fwd"))
      return fail("pipelines are not planned yet; expected one chunk");
    auto count = getOperation()->getAttrOfType<IntegerAttr>("cleave.micro_batches");
    if (failed(flatten(count ? count.getInt() : 1)))
      signalPassFailure();
    for (StringRef name : {"c0.fwd", "c0.bwd", "c0.fwd.first", "c0.bwd.first", "update"})
      if (func::FuncOp function = lookup(name))
        function.erase();
  }

  func::FuncOp lookup(StringRef name) { return getOperation().lookupSymbol<func::FuncOp>(name); }
  void fail(const Twine &message) {
    getOperation().emitError(message);
    signalPassFailure();
  }

  // A function of that name that runs `parts`.
  FailureOr<func::FuncOp> join(StringRef name, ArrayRef<StringRef> parts) {
    Flattener flattener(getOperation(), name);
    for (StringRef part : parts) {
      func::FuncOp function = lookup(part);
      if (!function)
        return getOperation().emitError("expected a function @") << part << " to build @" << name;
      if (failed(flattener.append(function)))
        return failure();
    }
    return flattener.finish();
  }

  LogicalResult flatten(int64_t microBatches) {
    FailureOr<func::FuncOp> step;
    if (microBatches == 1) {
      step = join("train_step", {"c0.fwd", "c0.bwd", "update"});
    } else {
      if (failed(join("micro.first", {"c0.fwd.first", "c0.bwd.first"})) ||
          failed(join("micro.last", {"c0.fwd", "c0.bwd", "update"})) ||
          (microBatches > 2 && failed(join("micro", {"c0.fwd", "c0.bwd"}))))
        return failure();
      step = callMicroBatches(microBatches);
    }
    if (failed(step))
      return failure();
    (*step)->setAttr("cleave.entry", UnitAttr::get(&getContext()));
    return success();
  }

  FailureOr<func::FuncOp> callMicroBatches(int64_t count) {
    Flattener flattener(getOperation(), "train_step");
    if (failed(flattener.addInputs(lookup("c0.fwd"))) || failed(flattener.addInputs(lookup("c0.bwd"))))
      return failure();
    func::FuncOp step = flattener.finish();
    Builder builder(&getContext());
    llvm::SmallVector<Attribute> calls;
    auto call = [&](StringRef program, int64_t times, int64_t frame) {
      calls.push_back(
          builder.getDictionaryAttr({builder.getNamedAttr("program", builder.getStringAttr(program)),
                                     builder.getNamedAttr("times", builder.getI64IntegerAttr(times)),
                                     builder.getNamedAttr("first_frame", builder.getI64IntegerAttr(frame))}));
    };
    call("micro.first", 1, 0);
    if (count > 2)
      call("micro", count - 2, 1);
    call("micro.last", 1, count - 1);
    step->setAttr("cleave.calls", builder.getArrayAttr(calls));
    return step;
  }
};

} // namespace
} // namespace cleave::plan

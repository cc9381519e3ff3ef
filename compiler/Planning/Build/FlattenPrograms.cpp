#include "compiler/Planning/Passes.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/RankKinds.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace cleave::plan {

#define GEN_PASS_DEF_FLATTENPROGRAMS
#include "compiler/Planning/Passes.h.inc"

namespace {

// Inlines functions, one after another, into a new one. Its arguments are the inputs of all of them, by name. Residuals
// and edges must be results of functions that were appended before.
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
      if (function.getArgAttr(argument.getArgNumber(), kNameAttr) && failed(input(function, argument)))
        return failure();
    return success();
  }

  // Appends the function's body.
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
      // In one body, it can no longer be seen which prefetch option applies.
      if (marks && (isa<shard::ShardDialect>(op.getDialect()) || isa<cleave::KernelOp, ComputeOpInterface>(op)))
        copy->setAttr(kBackwardAttr, builder.getUnitAttr());
    }
    for (OpOperand &returned : function.getBody().front().getTerminator()->getOpOperands())
      results[&returned] = mapping.lookup(returned.get());
    return success();
  }

private:
  FailureOr<Value> valueOf(func::FuncOp function, BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    if (function.getArgAttr(index, kNameAttr))
      return input(function, argument);
    OpOperand *source = sourceOf(argument);
    Value value = source ? results.lookup(source) : Value();
    if (!value || value.getType() != argument.getType())
      return function.emitError("expected argument ")
             << index << " of @" << function.getName()
             << " to be a named input, or a residual or an edge that a function before it returns";
    return value;
  }

  FailureOr<Value> input(func::FuncOp function, BlockArgument argument) {
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kNameAttr);
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
  llvm::DenseMap<OpOperand *, Value> results; // of the functions appended, by the operand that returns them
};

struct FlattenPrograms : impl::FlattenProgramsBase<FlattenPrograms> {
  void runOnOperation() override {
    if (getOperation()->hasAttr(kKindAttr)) // build-programs has done it
      return;
    for (StringRef name : {"infer", "evaluate"})
      if (func::FuncOp entry = lookup(name))
        entry->setAttr(kEntryAttr, UnitAttr::get(&getContext()));
    chunks = chunksOf(getOperation());
    if (chunks.empty())
      return;
    auto count = getOperation()->getAttrOfType<IntegerAttr>(kMicroBatchesAttr);
    if (failed(flatten(count ? count.getInt() : 1)))
      signalPassFailure();
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (chunkNumber(function.getName()) || function.getName() == "update")
        function.erase();
  }

  func::FuncOp lookup(StringRef name) { return getOperation().lookupSymbol<func::FuncOp>(name); }
  // Returns a new function of that name that runs `parts`. Fails if one of them does not exist.
  FailureOr<func::FuncOp> join(StringRef name, ArrayRef<std::string> parts) {
    Flattener flattener(getOperation(), name);
    for (const std::string &part : parts) {
      func::FuncOp function = lookup(part);
      if (!function)
        return getOperation().emitError("expected a function @") << part << " to build @" << name;
      if (failed(flattener.append(function)))
        return failure();
    }
    return flattener.finish();
  }

  // Lists the functions that take one micro-batch through all chunks, forward and back, on one rank; then the update if
  // it is the last one.
  SmallVector<std::string> microBatch(StringRef variant, bool isLast) {
    SmallVector<std::string> parts;
    for (unsigned chunk : chunks)
      parts.push_back(chunkName(chunk) + ".fwd" + variant.str());
    for (unsigned chunk : llvm::reverse(chunks)) {
      bool isSplit = lookup(chunkName(chunk) + ".bwd_x") != nullptr;
      for (const char *half : {".bwd_x", ".bwd_w", ".bwd"})
        if (isSplit == (StringRef(half) != ".bwd"))
          parts.push_back(chunkName(chunk) + half + variant.str());
    }
    if (isLast)
      parts.push_back("update");
    return parts;
  }

  bool hasLast() { return lookup(chunkName(chunks.front()) + ".fwd.last") != nullptr; }

  LogicalResult flatten(int64_t microBatches) {
    FailureOr<func::FuncOp> step;
    if (microBatches == 1) {
      step = join("train_step", microBatch("", /*isLast=*/true));
    } else {
      if (failed(join("micro.first", microBatch(".first", /*isLast=*/false))) ||
          failed(join("micro.last", microBatch(hasLast() ? ".last" : "", /*isLast=*/true))) ||
          (microBatches > 2 && failed(join("micro", microBatch("", /*isLast=*/false)))))
        return failure();
      step = callMicroBatches(microBatches);
    }
    if (failed(step))
      return failure();
    (*step)->setAttr(kEntryAttr, UnitAttr::get(&getContext()));
    return success();
  }

  FailureOr<func::FuncOp> callMicroBatches(int64_t count) {
    Flattener flattener(getOperation(), "train_step");
    for (const std::string &part : microBatch("", /*isLast=*/false))
      if (func::FuncOp function = lookup(part); function && failed(flattener.addInputs(function)))
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
    step->setAttr(kCallsAttr, builder.getArrayAttr(calls));
    return step;
  }

  SmallVector<unsigned> chunks;
};

} // namespace
} // namespace cleave::plan

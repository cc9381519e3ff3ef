#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Chunks/ChunkPorts.h"
#include "compiler/Training/Chunks/GradientSum.h"
#include "compiler/Training/Chunks/OpGradient.h"
#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/Precision/LossScale.h"
#include "compiler/Training/States.h"
#include "compiler/Training/TrainingOptions.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/GradientFlow.h"
#include "dialects/Cleave/IR/StepFunctions.h"
#include "dialects/Cleave/IR/StopGradient.h"

#include "runtime/plan/ScalarNames.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "compiler/Training/Passes.h.inc"

namespace {

bool isFloat(Value value) { return isa<FloatType>(tensorType(value).getElementType()); }

// The values of all chunks that depend on a trainable parameter. Only they get gradients.
class ActiveValues {
public:
  // `chunks` must be in ascending order, so that a chunk's edges are known before the chunks that use them are visited.
  ActiveValues(ModuleOp module, ArrayRef<func::FuncOp> chunks) {
    SymbolTable symbols(module);
    for (func::FuncOp chunk : chunks) {
      for (BlockArgument argument : chunk.getArguments())
        if (OpOperand *source = sourceOf(argument); source && contains(source->get()))
          values.insert(argument);
      for (Operation &op : chunk.getBody().front())
        add(symbols, op);
    }
  }

  bool contains(Value value) const { return values.contains(value); }

  // True if a gradient between `loss` and the parameters is fp16. A gradient has the type of its value.
  bool hasFp16Gradients(Value loss) const {
    SmallVector<Value> stack = {loss};
    llvm::DenseSet<Value> seen;
    while (!stack.empty()) {
      Value value = stack.pop_back_val();
      if (!contains(value) || !seen.insert(value).second)
        continue;
      if (tensorType(value).getElementType().isF16())
        return true;
      if (auto argument = dyn_cast<BlockArgument>(value))
        stack.push_back(sourceOf(argument)->get());
      else
        llvm::append_range(stack, value.getDefiningOp()->getOperands());
    }
    return false;
  }

private:
  void add(const SymbolTable &symbols, Operation &op) {
    auto read = dyn_cast<ReadOp>(op);
    bool active = read ? isTrainable(symbols.lookup<StateOp>(read.getState()))
                       : llvm::any_of(op.getOperands(), [&](Value v) { return contains(v); });
    if (active)
      for (Value result : op.getResults())
        if (isFloat(result))
          values.insert(result);
  }

  static bool isTrainable(StateOp state) { return state && state.getRole() == Role::Parameter && !state.getFrozen(); }

  llvm::DenseSet<Value> values;
};

// Reverse-mode differentiation of one block. Gradients are built at the builder's insertion point, after the whole
// forward pass.
class ReverseWalk {
public:
  ReverseWalk(OpBuilder &builder, const ActiveValues &active) : builder(builder), active(active) {}

  // Adds a gradient of the value. Several are added in the order of the calls.
  void seed(Value value, Value gradient) { accumulate(value, gradient); }
  // Marks a value that has a gradient of zeros from another chunk (dialects/Cleave/IR/GradientFlow.h,
  // givesZeroGradient).
  void seedZero(Value value) { zeros.insert(value); }
  // True if the only gradient of the value is one of zeros: ops such as floor end all its paths to the loss.
  bool isZero(Value value) const { return zeros.contains(value) && !gradients.count(value); }
  // Returns the gradient, or null if there is none. All ops that add to it must have been visited.
  Value get(Value value) {
    auto it = gradients.find(value);
    return it == gradients.end() ? Value() : it->second.total(builder);
  }

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
    if (!passesOn)
      return success();
    bool isZero = llvm::any_of(op->getResults(), [&](Value v) { return zeros.contains(v); });
    if (isZero || (reached && givesZeroGradient(op)))
      for (Value operand : op->getOperands())
        if (active.contains(operand))
          zeros.insert(operand);
    if (!reached)
      return success();
    auto differentiable = dyn_cast<DifferentiableOpInterface>(op);
    if (!differentiable)
      return op->emitError("a parameter's gradient passes here, and '")
             << op->getName()
             << "' has no derivative; freeze the parameters before it (--freeze PATTERN), express it by other "
                "operators, or implement DifferentiableOpInterface if it is an op of yours";
    SmallVector<Value> operands(op->getNumOperands());
    if (failed(buildGradient(builder, differentiable, results, operands)))
      return op->emitError("the gradient of '") << op->getName() << "' cannot be built";
    for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operands))
      if (gradient && active.contains(operand))
        accumulate(operand, gradient);
    return success();
  }

  void accumulate(Value value, Value gradient) { gradients[value].add(builder, gradient); }

  OpBuilder &builder;
  const ActiveValues &active;
  llvm::DenseMap<Value, GradientSum> gradients;
  llvm::DenseSet<Value> zeros; // they may also have another gradient
};

class DifferentiatePass : public impl::DifferentiateBase<DifferentiatePass> {
public:
  using DifferentiateBase::DifferentiateBase;

private:
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto average = orDiagnose(module, parseLossAverage(lossAverage));
    auto types = orDiagnose(module, parsePrecision(reduce.empty() ? "" : "reduce=" + reduce));
    auto scale = orDiagnose(module, parseLossScale(lossScale));
    if (failed(average) || failed(types) || failed(scale))
      return signalPassFailure();
    if (types->reduce)
      gradientType = floatType(&getContext(), *types->reduce);
    gradientsOfEdges.clear();
    zeroEdges.clear();
    SmallVector<func::FuncOp> chunks = takeChunks();
    FailureOr<Loss> loss = findLoss(chunks);
    if (failed(loss))
      return signalPassFailure();
    for (func::FuncOp chunk : chunks)
      mergeReads(chunk);
    ActiveValues active(module, chunks);
    bool isFp16 = types->reduce == FloatKind::F16 || active.hasFp16Gradients(loss->sum());
    FailureOr<bool> scaled = needsLossScale(module, *scale, isFp16);
    if (failed(scaled))
      return signalPassFailure();
    bool any = false;
    for (func::FuncOp chunk : llvm::reverse(chunks)) {
      FailureOr<bool> found = differentiate(chunk, active, *loss, *average, *scaled ? &*scale : nullptr);
      if (failed(found))
        return signalPassFailure();
      any |= *found;
    }
    if (!any) {
      bool hasParameters =
          llvm::any_of(module.getOps<StateOp>(), [](StateOp state) { return state.getRole() == Role::Parameter; });
      loss->function.emitError(
          hasParameters ? "no parameter has a gradient: all are frozen, or the loss uses none; give fewer patterns to "
                          "--freeze, or by --loss-output an output that depends on parameters"
                        : "the model has no parameters, so there is nothing to train: its initializers are buffers or "
                          "constants, or every gradient ends before it, as at a detach(); give fewer patterns to "
                          "--buffers, export the model with its weights, or take the detach() out of it");
      return signalPassFailure();
    }
    for (auto function : module.getOps<func::FuncOp>())
      eraseStopGradients(function);
  }

  // Returns the chunks that cut-model has made. Without any, @model becomes the only chunk.
  SmallVector<func::FuncOp> takeChunks() {
    SmallVector<func::FuncOp> chunks;
    for (unsigned number : chunksOf(getOperation()))
      chunks.push_back(lookupFunction(getOperation(), chunkName(number)));
    func::FuncOp model = chunks.empty() ? lookupFunction(getOperation(), "model") : func::FuncOp();
    if (model) {
      model.setName(chunkName(0));
      chunks.push_back(model);
    }
    return chunks;
  }

  // The chunk with the results of split-loss, which are its last two.
  struct Loss {
    func::FuncOp function;
    unsigned index = 0;
    Value result(unsigned i) const {
      return func::FuncOp(function).getBody().front().getTerminator()->getOperand(index + i);
    }
    Value sum() const { return result(0); }
    Value count() const { return result(1); }
  };

  FailureOr<Loss> findLoss(ArrayRef<func::FuncOp> chunks) {
    for (func::FuncOp chunk : chunks)
      if (unsigned results = chunk ? chunk.getNumResults() : 0;
          results >= 2 && chunk.getResultAttr(results - 2, kLossSumAttr))
        return Loss{chunk, results - 2};
    return getOperation().emitError("expected a function @model with the two results of split-loss, or chunks of it");
  }

  // Appends the backward pass of one chunk. The chunks that use its values must have theirs already. True if a
  // parameter has a gradient here.
  FailureOr<bool> differentiate(func::FuncOp chunk, const ActiveValues &active, Loss loss, LossAverage average,
                                const LossScaleOptions *scale) {
    Block &block = chunk.getBody().front();
    Operation *terminator = block.getTerminator();
    SmallVector<Operation *> forward =
        llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
    OpBuilder builder(terminator);
    ChunkPorts ports(chunk);
    ReverseWalk walk(builder, active);
    if (chunk == loss.function) {
      Value sum = loss.sum(), count = loss.count();
      addToLoss(builder, block, sum, count, average);
      if (scale)
        declareLossScale(getOperation(), *scale, count, average, microBatches);
      Value seed = ports.addArgument(kSeedAttr, "", sum);
      walk.seed(sum, scaleSeed(builder, seed, count, average));
      ports.dropResults(loss.index);
    }
    for (auto [value, edge] : ports.outEdges()) {
      for (unsigned user : gradientsOfEdges.lookup(edge))
        walk.seed(value, ports.addArgument(kCotangentAttr, edgeGradientName(edge, user), value));
      if (zeroEdges.contains(edge))
        walk.seedZero(value);
    }
    if (failed(walk.run(forward)))
      return failure();
    bool found = addToGradients(builder, block, forward, walk, *chunkNumber(chunk.getName()));
    for (auto [argument, edge] : ports.inEdges()) {
      if (walk.isZero(argument))
        zeroEdges.insert(edge);
      if (Value gradient = walk.get(argument)) {
        ports.addResult(edgeGradientName(edge, *chunkNumber(chunk.getName())), gradient);
        gradientsOfEdges[edge].push_back(*chunkNumber(chunk.getName()));
      }
    }
    ports.finish();
    return found;
  }

  // scalar.loss_sum += sum, scalar.loss_count += count. For means, their sum and their number are added up, so that the
  // quotient is the mean of means. Both states are f32, as all scalars that the host reads, even if the loss is f64.
  // Their reads are at the beginning of the block, before all writes.
  void addToLoss(OpBuilder &builder, Block &block, Value sum, Value count, LossAverage average) {
    if (average == LossAverage::Rank) {
      Arithmetic a(builder, sum.getLoc());
      sum = a.div(sum, count);
      count = a.splat(tensorType(count), 1);
    }
    for (auto [name, value] : {std::pair(rt::kLossSumScalar, sum), std::pair(rt::kLossCountScalar, count)}) {
      Arithmetic a(builder, value.getLoc());
      StateOp state = getScalar(getOperation(), name, builder.getF32Type());
      accumulate(builder, block, state, a.cast(a.sum(value), builder.getF32Type()), value.getLoc());
    }
  }

  void accumulate(OpBuilder &builder, Block &block, StateOp state, Value term, Location loc) {
    OpBuilder atBegin = OpBuilder::atBlockBegin(&block);
    Value old = readState(atBegin, loc, state);
    WriteOp::create(builder, loc, AddOp::create(builder, loc, old, term), state.getSymName());
  }

  // With the average `rank`, the loss is the mean over ranks and micro-batches of their means, and `count` has one
  // entry for each rank. A rank without labels that count adds no gradient: the gradient of its sum is 0, and must not
  // become 0 / 0.
  Value scaleSeed(OpBuilder &builder, Value seed, Value count, LossAverage average) {
    Arithmetic a(builder, count.getLoc());
    if (Value scale = readLossScale(getOperation(), builder, count.getLoc()))
      seed = a.mul(seed, a.spread(scale, seed));
    if (average == LossAverage::Global)
      return seed;
    double means = static_cast<double>(microBatches * tensorType(count).getNumElements());
    Value none = a.compare(Predicate::Eq, count, a.splat(tensorType(count), 0));
    return a.div(seed, a.select(none, a.splat(tensorType(count), 1), a.scale(count, means)));
  }

  // Adds one gradient state for each parameter and chunk. It is written as soon as the gradient is known. False if
  // there is no gradient. A micro-batch's gradient is rounded to the gradient's type. Several are added in f32 at least:
  // a sum in bf16 stops growing when it is 256 times as large as its terms.
  bool addToGradients(OpBuilder &builder, Block &block, ArrayRef<Operation *> forward, ReverseWalk &walk,
                      unsigned chunk) {
    SmallVector<std::pair<Value, StateOp>> found;
    SymbolTable symbols(getOperation());
    for (Operation *op : forward)
      if (auto read = dyn_cast<ReadOp>(op)) {
        Value gradient = walk.get(read.getResult());
        if (walk.isZero(read.getResult())) // an optimizer decays a parameter that has a gradient, even one of zeros
          gradient = Arithmetic(builder, op->getLoc()).splat(tensorType(read.getResult()), 0);
        if (gradient)
          found.emplace_back(gradient, symbols.lookup<StateOp>(read.getState()));
      }
    for (auto [gradient, parameter] : found) {
      Type term = parameter.getTensorType().getElementType();
      if (gradientType && floatKind(term))
        term = gradientType;
      Type element = microBatches > 1 ? accumulationType(term) : term;
      StateOp state =
          addState(symbols, freeGradientName(symbols, parameter, chunk), parameter.getTensorType().clone(element),
                   Role::Gradient, retyped(zeroedSegments(parameter.getSegments()), element), "grad");
      if (element != term)
        state->setAttr(kTermTypeAttr, TypeAttr::get(term));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(gradient);
      Arithmetic a(builder, gradient.getLoc());
      accumulate(builder, block, state, a.cast(a.cast(gradient, term), element), gradient.getLoc());
    }
    return !found.empty();
  }

  // Returns "w.grad", or "w.grad.c0" if another chunk that uses the tied parameter has the first name.
  static std::string freeGradientName(const SymbolTable &symbols, StateOp parameter, unsigned chunk) {
    std::string name = gradientName(parameter.getSymName());
    auto taken = symbols.lookup<StateOp>(name);
    return taken && taken.getRole() == Role::Gradient ? furtherGradientName(name, chunk) : name;
  }

  llvm::StringMap<SmallVector<unsigned>> gradientsOfEdges; // the chunks that return one, the last chunk first
  llvm::StringSet<> zeroEdges;                             // edges that have a gradient of zeros in a chunk
  Type gradientType;                                       // null: the type of the parameter
};
} // namespace
} // namespace cleave

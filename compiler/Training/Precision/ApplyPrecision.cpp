// Rounds the values that are kept to a narrow type. Everything is computed in f32.
//
// A model's values have two forms: f32, in which everything except products is computed, and the parameters' type P, in
// which values are kept. The pass decides at the model level where a value is rounded to P, so that the result depends
// neither on fusion nor on the target:
//
//   parameters            are states of type P, which are read and widened. A frozen one has no master in an optimizer,
//                         so it is a state of the model's type, and is rounded where it is read
//   products              (kernels that do arithmetic on a value that depends on a parameter) have operands of type P,
//                         sum in f32, including their bias (form-epilogues), and have a result of type P
//   values of several users  are rounded, because they are kept for later: residual connections, activations
//   inner values of an operator  are not rounded: the importer marks them (cleave.inner), and the operator's result
//                         is. A product among them has operands rounded to P and a result in f32. A pool among them has
//                         operands in f32, too
//   moved elements        (reshape, transpose, take) are moved in P if they are in P
//
// Everything else between two products is one f32 chain, which fuses. These are never rounded: the tail after the last
// product (logits with their bias, softmax, the loss), statistics (reductions, and values computed from them alone:
// means, variances), and values that no parameter reaches (masks, whose -3.4e38 does not exist in narrower types).
//
// An op says itself to which class it belongs: ComputeOpInterface (kernels, views), CostOpInterface (a kernel without
// floating-point operations moves elements), ShardingInterface (reductions), and its linalg body (without arithmetic,
// it moves elements).
//
// Rejected: every op in P, as in eager frameworks. Norms and activations that exporters write in primitives would be
// rounded ten times instead of once. Rejected: rounding where fusion happens to store values. The result would then
// depend on fusion.
#include "compiler/Training/Arithmetic.h"
#include "compiler/Training/Diagnose.h"
#include "compiler/Training/Passes.h"
#include "compiler/Training/Precision/Precision.h"
#include "compiler/Training/States.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/ComputingKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace cleave {
#define GEN_PASS_DEF_APPLYPRECISION
#include "compiler/Training/Passes.h.inc"

namespace {

bool isHalf(Type type) { return type.isBF16() || type.isF16(); }
// The types that the pass replaces. A model has f64 where accuracy matters, so f64 stays.
bool isWorking(Type type) { return type.isF32() || isHalf(type); }
Type elementOf(Value value) { return tensorType(value).getElementType(); }

bool survivesRounding(Attribute value) {
  auto number = dyn_cast<FloatAttr>(value);
  if (!number)
    return true;
  for (const llvm::fltSemantics *type : {&APFloat::IEEEhalf(), &APFloat::BFloat()}) {
    APFloat rounded = number.getValue();
    bool lost = false;
    rounded.convert(*type, APFloat::rmNearestTiesToEven, &lost);
    if (lost)
      return false;
  }
  return true;
}

// True if the op, which is in linalg form, leaves elements as they are.
bool movesElements(Operation &op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return survivesRounding(constant.getValue());
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return llvm::all_of(generic.getBody()->without_terminator(), [](Operation &inner) {
      return isa<linalg::IndexOp, tensor::ExtractOp>(inner) ||
             llvm::none_of(inner.getResultTypes(), [](Type t) { return isa<FloatType>(t); });
    });
  return isa<linalg::TransposeOp, linalg::BroadcastOp, linalg::FillOp, linalg::YieldOp>(op) ||
         isa<tensor::TensorDialect>(op.getDialect());
}

// Builds the op's linalg form in a block that is thrown away, and looks whether it only moves elements.
bool isMovedByLinalg(ComputeOpInterface compute) {
  Block scratch;
  OpBuilder builder(compute.getContext());
  builder.setInsertionPointToEnd(&scratch);
  for (Value operand : compute->getOperands())
    scratch.addArgument(operand.getType(), operand.getLoc());
  if (compute.buildLinalg(builder, scratch.getArguments()).empty())
    return false;
  return llvm::all_of(scratch, movesElements);
}

bool isKernel(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  return compute && compute.getComputeKind() == ComputeKind::Kernel;
}

// True if the result's elements are elements of the operands (or constants that every type has).
bool onlyMoves(Operation *op) {
  auto compute = dyn_cast<ComputeOpInterface>(op);
  if (!compute || op->getNumOperands() == 0 || op->getNumResults() != 1)
    return false;
  switch (compute.getComputeKind()) {
  case ComputeKind::View:
    return true;
  case ComputeKind::Fusible:
    return isMovedByLinalg(compute);
  case ComputeKind::Composite:
    return false;
  case ComputeKind::Kernel:
    return !isComputingKernel(op);
  }
  return false;
}

bool reduces(Operation *op) {
  auto loops = dyn_cast<shard::ShardingInterface>(op);
  return loops && llvm::is_contained(loops.getLoopIteratorTypes(), utils::IteratorType::reduction);
}

// Rounds one function. At first, all its floating-point results become f32.
class FunctionRounder {
public:
  FunctionRounder(ModuleOp module, func::FuncOp function, Type narrow)
      : symbols(module), function(function), block(function.getBody().front()), builder(function.getContext()),
        wide(builder.getF32Type()), narrow(narrow) {}

  void run() {
    widenArguments();
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      if (!isa<WriteOp>(op))
        widenResults(&op);
    if (narrow)
      round();
    restoreEnds();
    for (Operation &op : block)
      op.removeAttr(kInnerAttr);
  }

private:
  // Sources keep their type and are widened after the op. All other results become f32 themselves.
  void widenArguments() {
    builder.setInsertionPointToStart(&block);
    for (BlockArgument argument : block.getArguments())
      if (isHalf(elementOf(argument)))
        insertWidening(argument);
  }

  void widenResults(Operation *op) {
    if (widenings.contains(op))
      return;
    for (Value result : op->getResults()) {
      if (auto read = dyn_cast<ReadOp>(op))
        result.setType(symbols.lookup<StateOp>(read.getState()).getTensorType());
      if (!isHalf(elementOf(result)))
        continue;
      builder.setInsertionPointAfter(op);
      if (isa<ReadOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
        insertWidening(result);
      else
        result.setType(tensorType(result).clone(wide));
    }
  }

  Value insertWidening(Value value) {
    Value widened = Arithmetic(builder, value.getLoc()).cast(value, wide);
    value.replaceAllUsesExcept(widened, widened.getDefiningOp());
    widenings.insert(widened.getDefiningOp());
    return widened;
  }

  // Splits products of the tail into product and bias. The bias is then in the tail, and is not rounded with the
  // product.
  void openTail() {
    findTail();
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      auto compute = dyn_cast<ComputeOpInterface>(op);
      if (!isProduct(&op) || !compute.isDecomposable() || beforeProduct.contains(op.getResult(0)))
        continue;
      builder.setInsertionPoint(&op);
      op.replaceAllUsesWith(compute.decompose(builder, op.getOperands()));
      op.erase();
    }
    for (llvm::DenseSet<Value> *notes : {&active, &beforeProduct})
      notes->clear();
  }

  void round() {
    openTail();
    findTail();
    // Ops that the walk inserts are not visited: they are right before or after the current op.
    auto ops = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
    for (Operation *op : ops) {
      noteOrigin(op);
      if (isa<WriteOp>(op) || widenings.contains(op))
        continue;
      if (auto read = dyn_cast<ReadOp>(op); read && isParameter(read))
        roundParameter(read);
      else if (isProduct(op) || movesNarrow(op))
        makeNarrow(op);
      else
        for (Value result : op->getResults())
          if (isKept(result))
            roundResult(result);
    }
  }

  // Finds the values from which a product can be reached (beforeProduct). The others are the tail.
  void findTail() {
    for (Operation &op : block)
      for (Value result : op.getResults())
        if (auto read = dyn_cast<ReadOp>(op); read && isParameter(read))
          active.insert(result);
        else if (llvm::any_of(op.getOperands(), [&](Value v) { return active.contains(v); }))
          active.insert(result);
    for (Operation &op : llvm::reverse(block)) {
      bool before = isProduct(&op) || llvm::any_of(op.getResults(), [&](Value v) { return beforeProduct.contains(v); });
      if (before)
        beforeProduct.insert(op.operand_begin(), op.operand_end());
    }
  }

  bool isParameter(ReadOp read) {
    StateOp state = symbols.lookup<StateOp>(read.getState());
    return state && state.getRole() == Role::Parameter && isWorking(state.getTensorType().getElementType());
  }

  // A pool counts as a product, because it is faster in P, except inside of an operator.
  bool isProduct(Operation *op) {
    return isComputingKernel(op) && (isProductKernel(op) || !op->hasAttr(kInnerAttr)) && op->getNumResults() == 1 &&
           isWorking(elementOf(op->getResult(0))) &&
           llvm::any_of(op->getOperands(), [&](Value v) { return active.contains(v); });
  }

  // A value that is computed from reductions alone is a statistic. Values that the walk inserts have the same notes as
  // those that they replace.
  void noteOrigin(Operation *op) {
    bool shrinks = reduces(op) && !isKernel(op);
    int64_t taken = 0;
    bool onlyStatistics = true, any = false;
    for (Value operand : op->getOperands()) {
      taken = std::max(taken, tensorType(operand).getNumElements());
      onlyStatistics &= statistics.contains(operand) || !active.contains(operand);
      any |= statistics.contains(operand);
    }
    for (Value result : op->getResults())
      if ((shrinks && tensorType(result).getNumElements() < taken) || (any && onlyStatistics && !isKernel(op)))
        statistics.insert(result);
  }

  bool isKept(Value value) {
    if (elementOf(value) != wide || !active.contains(value) || !beforeProduct.contains(value) ||
        statistics.contains(value) || value.getDefiningOp()->hasAttr(kInnerAttr))
      return false;
    llvm::SmallPtrSet<Operation *, 4> users(value.user_begin(), value.user_end());
    return users.size() > 1;
  }

  bool isWidened(Value value) {
    auto cast = value.getDefiningOp<CastOp>();
    return cast && elementOf(cast.getOperand()) == narrow;
  }

  bool movesNarrow(Operation *op) {
    bool any = false;
    for (Value operand : op->getOperands())
      if (elementOf(operand) == wide) {
        if (!isWidened(operand))
          return false;
        any = true;
      }
    return any && elementOf(op->getResult(0)) == wide && onlyMoves(op);
  }

  // Rounds a parameter that is not stored in P (but in f32 or the other narrow type), for all users, including the
  // tail.
  void roundParameter(ReadOp read) {
    if (elementOf(read) == narrow)
      return;
    Value stored = read.getResult();
    roundResult(elementOf(stored) == wide ? stored : stored.user_begin()->getResult(0)); // otherwise the widening
  }

  // Changes operands and result to P, and widens the result for its users. A product inside of an operator stays in
  // f32, but its operands are rounded to P first.
  void makeNarrow(Operation *op) {
    builder.setInsertionPoint(op);
    bool isInner = op->hasAttr(kInnerAttr);
    for (OpOperand &operand : op->getOpOperands())
      if (elementOf(operand.get()) == wide && !(isInner && isWidened(operand.get())))
        operand.set(isInner ? insertWidening(toNarrow(operand.get())) : toNarrow(operand.get()));
    if (isInner)
      return;
    Value result = op->getResult(0);
    result.setType(tensorType(result).clone(narrow));
    builder.setInsertionPointAfter(op);
    replaceNotes(result, insertWidening(result));
  }

  void roundResult(Value value) {
    builder.setInsertionPointAfterValue(value);
    Arithmetic a(builder, value.getLoc());
    Value rounded = a.cast(value, narrow), widened = a.cast(rounded, wide);
    value.replaceAllUsesExcept(widened, rounded.getDefiningOp());
    widenings.insert(widened.getDefiningOp());
    replaceNotes(value, widened);
  }

  void replaceNotes(Value from, Value to) {
    for (llvm::DenseSet<Value> *notes : {&active, &beforeProduct, &statistics})
      if (notes->contains(from))
        notes->insert(to);
  }

  Value toNarrow(Value value) {
    return isWidened(value) ? value.getDefiningOp<CastOp>().getOperand()
                            : Arithmetic(builder, value.getLoc()).cast(value, narrow);
  }

  // Casts results to the function's types, and written values to the types of their states.
  void restoreEnds() {
    Operation *terminator = block.getTerminator();
    builder.setInsertionPoint(terminator);
    for (auto [operand, type] : llvm::zip_equal(terminator->getOpOperands(), function.getResultTypes()))
      operand.set(Arithmetic(builder, operand.get().getLoc()).cast(operand.get(), getElementTypeOrSelf(type)));
    for (auto write : block.getOps<WriteOp>()) {
      builder.setInsertionPoint(write);
      Type type = symbols.lookup<StateOp>(write.getState()).getTensorType().getElementType();
      write.getValueMutable().assign(Arithmetic(builder, write.getLoc()).cast(write.getValue(), type));
    }
  }

  SymbolTable symbols;
  func::FuncOp function;
  Block &block;
  OpBuilder builder;
  Type wide, narrow;
  llvm::DenseSet<Operation *> widenings;
  llvm::DenseSet<Value> active, beforeProduct, statistics;
};

class ApplyPrecisionPass : public impl::ApplyPrecisionBase<ApplyPrecisionPass> {
public:
  using ApplyPrecisionBase::ApplyPrecisionBase;

private:
  // These dialects are declared here and not in Passes.td, because linalg forms are only built to look at them, and the
  // headers are large.
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, linalg::LinalgDialect, math::MathDialect, tensor::TensorDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto options = orDiagnose(module, parsePrecision(precision));
    if (failed(options))
      return signalPassFailure();
    if (!options->param && !options->buffer)
      return;
    for (auto state : module.getOps<StateOp>())
      setType(state, *options);
    Type narrow = options->param ? Type(floatType(&getContext(), *options->param)) : Type();
    if (narrow && narrow.isF32())
      narrow = nullptr;
    for (auto function : module.getOps<func::FuncOp>())
      FunctionRounder(module, function, narrow).run();
  }

  void setType(StateOp state, const PrecisionOptions &options) {
    auto kind = state.getRole() == Role::Parameter ? options.param
                : state.getRole() == Role::Buffer  ? options.buffer
                                                   : std::nullopt;
    Type element = state.getTensorType().getElementType();
    if (!kind || !isa<FloatType>(element))
      return;
    if (!isWorking(element)) {
      state.emitRemark("a precision is for f32, bf16 and fp16; '")
          << onlySegment(state).getName().getValue() << "' stays " << element;
      return;
    }
    if (state.getFrozen())
      return;
    element = floatType(&getContext(), *kind);
    state.setType(state.getTensorType().clone(element));
    state.setSegmentsAttr(retyped(state.getSegments(), element));
  }
};
} // namespace
} // namespace cleave

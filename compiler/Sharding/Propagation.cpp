#include "compiler/Sharding/Propagation.h"
#include "compiler/Sharding/Linearity.h"
#include "compiler/Sharding/LoopSharding.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Narrowing.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <utility>

using namespace cleave;
using llvm::LogicalResult;
using llvm::SmallVector;
using mlir::failure;
using mlir::success;
using mlir::Value;
using mlir::func::FuncOp;

ShardingAttr cleave::resolved(ShardingAttr sharding) { return ShardingAttr::get(sharding.getDims()); }

SmallVector<llvm::StringRef> Propagation::getOwnerAxes() const {
  SmallVector<llvm::StringRef> axes;
  if (hasServer())
    for (mlir::Attribute axis : dataAxes)
      axes.push_back(llvm::cast<mlir::StringAttr>(axis).getValue());
  return axes;
}

Propagation::Propagation(mlir::ModuleOp module, MeshAttr mesh, llvm::ArrayRef<std::string> dataAxes,
                         const StatePolicy &policy)
    : module(module), symbols(module), mesh(mesh), policy(policy) {
  for (const std::string &axis : dataAxes)
    if (mesh.getSize(axis) > 1)
      this->dataAxes.push_back(mlir::StringAttr::get(module.getContext(), axis));
}

ShardingAttr Propagation::whole(mlir::Type type) {
  return ShardingAttr::replicated(type.getContext(), llvm::cast<mlir::RankedTensorType>(type).getRank());
}

LogicalResult Propagation::run() {
  initStorage();
  do {
    made.clear();
    used.clear();
    preferred.clear();
    blocked.clear();
    if (mlir::failed(propagate()))
      return failure();
  } while (blocked.empty() && !settleStorage());
  return success();
}

SmallVector<FuncOp> Propagation::inOrder() const { return inStepOrder(module); }

LogicalResult Propagation::propagate() {
  for (FuncOp function : inOrder()) {
    if (mlir::failed(setArguments(function)))
      return failure();
    collectPreferred(function);
    forward(function);
    if (mlir::failed(setReturn(function)))
      return failure();
    backward(function);
    shareReductions(function);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Fixed points
//===----------------------------------------------------------------------===//

llvm::FailureOr<ShardingAttr> Propagation::portSharding(FuncOp function, mlir::Type type, mlir::Attribute batchDim,
                                                        const llvm::Twine &what) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor)
    return function.emitError("expected ranked tensors at the ports of @") << function.getName() << "; got: " << type;
  auto dim = llvm::dyn_cast_if_present<mlir::IntegerAttr>(batchDim);
  if (!dim || dataAxes.empty())
    return whole(type);
  if (dim.getInt() < 0 || dim.getInt() >= tensor.getRank())
    return function.emitError("cleave.batch_dim of ") << what << " is not one of its dimensions; got: " << dim.getInt();
  int64_t ranks = 1;
  for (mlir::Attribute axis : dataAxes)
    ranks *= mesh.getSize(llvm::cast<mlir::StringAttr>(axis).getValue());
  if (tensor.getDimSize(dim.getInt()) % ranks != 0)
    return function.emitError("cannot split ")
           << what << " of @" << function.getName() << " evenly: dimension " << dim.getInt() << " of " << tensor
           << " over " << ranks << " data ranks; bind a batch that is a multiple of " << ranks;
  mlir::Builder builder(module.getContext());
  SmallVector<mlir::Attribute> dims(tensor.getRank(), builder.getArrayAttr({}));
  dims[dim.getInt()] = builder.getArrayAttr(dataAxes);
  return ShardingAttr::get(builder.getArrayAttr(dims));
}

Value Propagation::residualSource(mlir::BlockArgument argument) const {
  mlir::OpOperand *result = sourceOf(argument);
  return result ? result->get() : Value();
}

LogicalResult Propagation::setArguments(FuncOp function) {
  for (mlir::BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    if (auto residual = function.getArgAttrOfType<mlir::IntegerAttr>(index, kResidualAttr)) {
      mlir::OpOperand *result = sourceOf(argument);
      if (!result || !used.contains(result))
        return function.emitError("argument ") << index << " is residual " << residual.getInt()
                                               << ", which no forward function returns; expected the function that "
                                                  "cleave.backward_of names to return it";
      made[argument] = used.lookup(result);
      continue;
    }
    if (llvm::StringRef edge = edgeOfArgument(function, index); !edge.empty()) {
      mlir::OpOperand *result = sourceOf(argument);
      if (!result || !used.contains(result))
        return function.emitError("argument ") << index << " is edge \"" << edge
                                               << "\", which no function before returns; cut-model and differentiate "
                                                  "make edges with both ends";
      made[argument] = used.lookup(result);
      continue;
    }
    auto sharding = portSharding(function, argument.getType(), function.getArgAttr(index, kBatchDimAttr),
                                 "argument " + llvm::Twine(index));
    if (mlir::failed(sharding))
      return failure();
    made[argument] = *sharding;
  }
  return success();
}

LogicalResult Propagation::setReturn(FuncOp function) {
  for (mlir::OpOperand &operand : function.getBody().front().getTerminator()->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    bool isNamed = function.getResultAttr(index, kNameAttr) != nullptr;
    if (!isNamed) { // a residual or an edge keeps its split; terms are reduced
      used[&operand] = resolved(made.lookup(operand.get()));
      continue;
    }
    auto sharding = portSharding(function, operand.get().getType(), function.getResultAttr(index, kBatchDimAttr),
                                 "result " + llvm::Twine(index));
    if (mlir::failed(sharding))
      return failure();
    used[&operand] = *sharding;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Between storage and use
//===----------------------------------------------------------------------===//

// True for a function of samples: it has arguments, and the data axes split samples in it.
static bool runsPerMicroBatch(FuncOp function) { return function.getNumArguments() > 0; }

static bool isSplit(ShardingAttr sharding) {
  return llvm::any_of(llvm::seq<int64_t>(0, sharding.getDims().size()),
                      [&](int64_t dim) { return !sharding.getDimAxes(dim).empty(); });
}

// Values that are written to a split state prefer its split. In @update, the values that they are computed from also
// prefer it. The same holds for states with an owner, and in @update for parameters of a parameter server.
void Propagation::collectPreferred(FuncOp function) {
  for (mlir::Operation &op : llvm::reverse(function.getBody().front().without_terminator())) {
    if (auto write = llvm::dyn_cast<WriteOp>(op)) {
      ShardingAttr stored = storage.lookup(symbols.lookup(write.getState()));
      auto state = llvm::cast<StateOp>(symbols.lookup(write.getState()));
      bool isUpdated = hasServer() && !runsPerMicroBatch(function) && state.getRole() == Role::Parameter;
      if (isSplit(stored) || stored.isOwned()) {
        preferred.try_emplace(write.getValue(), stored);
        if (CastOp widening = wideningOf(write))
          preferred.try_emplace(widening.getResult(), stored);
      } else if (isUpdated)
        preferred.try_emplace(write.getValue(), ownedStorage(state.getTensorType(), dataAxes));
    } else if (!runsPerMicroBatch(function)) {
      preferForOperands(&op);
    }
  }
}

void Propagation::preferForOperands(mlir::Operation *op) {
  if (op->getNumResults() != 1 || !preferred.contains(op->getResult(0)))
    return;
  if (preferred.lookup(op->getResult(0)).isOwned()) {
    for (Value operand : op->getOperands())
      preferred.try_emplace(operand, ownedStorage(llvm::cast<mlir::RankedTensorType>(operand.getType()), dataAxes));
    return;
  }
  LoopSharding loops(op, mesh);
  if (!loops.propose(op->getNumOperands(), resolved(preferred.lookup(op->getResult(0))), /*allowReduction=*/false))
    return;
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (ShardingAttr sharding = loops.getOperand(operand.getOperandNumber()); isSplit(sharding))
      preferred.try_emplace(operand.get(), sharding);
}

// True for a value that a rank reads from a state, or the same value in fewer bytes.
static bool isStoredPart(Value value) {
  mlir::Operation *maker = value.getDefiningOp();
  return maker && (llvm::isa<ReadOp>(maker) || (narrows(maker) && isStoredPart(maker->getOperand(0))));
}

// Returns the form in which a value comes to an op that takes no partial values. In a function of samples, a stored
// value loses the data axes of its storage, unless the op narrows it. A partial value is reduced, to the split that it
// prefers.
ShardingAttr Propagation::offered(mlir::OpOperand &operand) {
  Value value = operand.get();
  ShardingAttr sharding = made.lookup(value);
  mlir::Operation *user = operand.getOwner();
  if (runsPerMicroBatch(user->getParentOfType<FuncOp>()) && isStoredPart(value) && !narrows(user)) {
    mlir::Builder builder(module.getContext());
    SmallVector<mlir::Attribute> dims;
    for (auto axes : sharding.getDims().getAsRange<mlir::ArrayAttr>())
      dims.push_back(builder.getArrayAttr(llvm::to_vector(
          llvm::make_filter_range(axes, [&](mlir::Attribute axis) { return !llvm::is_contained(dataAxes, axis); }))));
    sharding = sharding.withDims(builder.getArrayAttr(dims));
  }
  ShardingAttr preference = sharding.getPartialAxes().empty() ? ShardingAttr() : preferred.lookup(value);
  if (preference && mlir::succeeded(planReshard(sharding, resolved(preference))))
    return resolved(preference);
  return resolved(sharding);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void Propagation::forward(FuncOp function) {
  for (mlir::Operation &op : function.getBody().front().without_terminator())
    forwardOp(&op);
}

void Propagation::forwardOp(mlir::Operation *op) {
  if (auto read = llvm::dyn_cast<ReadOp>(op)) {
    made[read.getResult()] = storage.lookup(symbols.lookup(read.getState()));
    return;
  }
  if (auto write = llvm::dyn_cast<WriteOp>(op)) {
    used[&op->getOpOperand(0)] = storage.lookup(symbols.lookup(write.getState()));
    return;
  }
  constexpr bool (Propagation::*kRules[])(mlir::Operation *) = {&Propagation::passPartial, &Propagation::passOwned,
                                                                &Propagation::passPreferred};
  if (llvm::any_of(kRules, [&](auto rule) { return (this->*rule)(op); }))
    return;
  SmallVector<ShardingAttr> operands;
  for (mlir::OpOperand &operand : op->getOpOperands())
    operands.push_back(offered(operand));
  setLoops(op, operands);
}

// Operands that are most expensive to move propose first. An operand whose proposal fails is resharded.
void Propagation::setLoops(mlir::Operation *op, llvm::ArrayRef<ShardingAttr> operands) {
  LoopSharding loops(op, mesh);
  auto order = llvm::to_vector(llvm::seq<unsigned>(0, operands.size()));
  llvm::stable_sort(order, [&](unsigned a, unsigned b) {
    return byteSize(op->getOperand(a).getType()) > byteSize(op->getOperand(b).getType());
  });
  auto compute = llvm::dyn_cast<ComputeOpInterface>(op);
  bool isDecomposable = compute && compute.isDecomposable();
  for (unsigned index : order)
    if (!loops.propose(index, operands[index]) && isDecomposable && !llvm::is_contained(blocked, op) &&
        !LoopSharding(op, mesh).propose(index, operands[index]))
      blocked.push_back(op);
  for (mlir::OpOperand &operand : op->getOpOperands())
    used[&operand] = loops.getOperand(operand.getOperandNumber());
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    made[result] = loops.getResult(index);
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

void Propagation::backward(FuncOp function) {
  for (mlir::Operation &op : llvm::reverse(function.getBody().front().without_terminator()))
    refine(&op);
}

static bool isTable(mlir::Operation *op) {
  mlir::DenseElementsAttr constant;
  return op->hasTrait<mlir::OpTrait::ConstantLike>() &&
         !(mlir::matchPattern(op, mlir::m_Constant(&constant)) && constant.isSplat());
}

// Makes a whole value split if every user wants the same split and no operand has to be moved for it.
void Propagation::refine(mlir::Operation *op) {
  if (op->getNumResults() != 1 || !llvm::isa<mlir::shard::ShardingInterface>(op) || isTable(op))
    return;
  Value result = op->getResult(0);
  if (!made.lookup(result).isReplicated() || result.use_empty())
    return;
  ShardingAttr wanted = used.lookup(&*result.use_begin());
  for (mlir::OpOperand &use : result.getUses())
    if (used.lookup(&use) != wanted)
      return;
  if (wanted.isReplicated() || !wanted.getPartialAxes().empty() || wanted.isOwned())
    return;
  LoopSharding loops(op, mesh);
  if (!loops.propose(op->getNumOperands(), wanted, /*allowReduction=*/false) || loops.getResult(0) != wanted)
    return;
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (!made.lookup(operand.get()).isReplicated())
      return;
  for (mlir::OpOperand &operand : op->getOpOperands())
    used[&operand] = loops.getOperand(operand.getOperandNumber());
  made[result] = wanted;
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

// Returns the cast of the terms that are written to an accumulator of a wider type, or are added to it first. Null if
// there is none.
CastOp Propagation::wideningOf(WriteOp write) const {
  auto type = symbols.lookup(write.getState())->getAttrOfType<mlir::TypeAttr>(kTermTypeAttr);
  if (!type)
    return nullptr;
  SmallVector<Value> terms = {write.getValue()};
  if (auto sum = write.getValue().getDefiningOp<AddOp>())
    terms.assign(sum->operand_begin(), sum->operand_end());
  for (Value term : terms)
    if (auto cast = term.getDefiningOp<CastOp>();
        cast && mlir::getElementTypeOrSelf(cast.getOperand()) == type.getValue())
      return cast;
  return nullptr;
}

// Begins with the storage that the policy wants, and with every other accumulator partial over the data axes.
void Propagation::initStorage() {
  llvm::DenseMap<mlir::Operation *, llvm::SmallPtrSet<mlir::Operation *, 2>> readers, writers;
  module.walk([&](mlir::Operation *op) {
    if (auto read = llvm::dyn_cast<ReadOp>(op))
      readers[symbols.lookup(read.getState())].insert(op->getParentOfType<FuncOp>());
    if (auto write = llvm::dyn_cast<WriteOp>(op)) {
      writers[symbols.lookup(write.getState())].insert(op->getParentOfType<FuncOp>());
      if (CastOp widening = wideningOf(write))
        widenings[widening] = symbols.lookup(write.getState());
    }
  });
  for (StateOp state : module.getOps<StateOp>()) {
    bool isFloat = llvm::isa<mlir::FloatType>(state.getTensorType().getElementType());
    bool isTransient = state.getRole() == Role::Gradient || state.getRole() == Role::Scalar;
    bool isReadElsewhere =
        llvm::any_of(readers[state], [&](mlir::Operation *function) { return !writers[state].contains(function); });
    bool isAccumulator = isFloat && isTransient && !writers[state].empty() && isReadElsewhere && !dataAxes.empty();
    bool hasOwner = hasServer() && state.getRole() == Role::Optimizer;
    storage[state] =
        wantedStorage(state, mesh, policy, isAccumulator || hasOwner ? dataAxes : llvm::ArrayRef<mlir::Attribute>());
    if (!isAccumulator)
      continue;
    if (state.getRole() == Role::Scalar)
      storage[state] = ShardingAttr::get(storage[state].getDims(), dataAxes);
    guesses[state] = Guess::Wanted;
  }
}

// True if every accumulator is stored in a form to which the written values can be brought. Changes the guesses of the
// others.
bool Propagation::settleStorage() {
  bool isSettled = true;
  module.walk([&](WriteOp write) {
    mlir::Operation *state = symbols.lookup(write.getState());
    ShardingAttr written = made.lookup(write.getValue()), stored = storage[state];
    bool isReachable =
        isSplit(stored) || stored.isOwned() ? mlir::succeeded(planReshard(written, stored)) : written == stored;
    if (!guesses.contains(state) || isReachable || isZero(write.getValue()) || stored.isReplicated())
      return;
    guessAgain(state, written);
    isSettled = false;
  });
  return isSettled;
}

// Goes one step down the ladder. The step from Wanted leads to the wanted split without partial axes; if no split is
// wanted, to the form of the written value. All other steps lead to Whole, also the first one if no split is wanted and
// the written value is partial or in blocks.
void Propagation::guessAgain(mlir::Operation *state, ShardingAttr written) {
  bool isFirst = std::exchange(guesses[state], Guess::AsWritten) == Guess::Wanted;
  if (isFirst && isSplit(storage[state])) {
    storage[state] = resolved(storage[state]);
  } else if (isFirst && written.getPartialAxes().empty() && !written.hasBlocks()) {
    storage[state] = written;
  } else {
    storage[state] = whole(llvm::cast<StateOp>(state).getTensorType());
    guesses[state] = Guess::Whole;
  }
}

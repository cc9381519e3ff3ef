#include "compiler/Sharding/Propagation.h"
#include "compiler/Sharding/Linearity.h"
#include "compiler/Sharding/LoopSharding.h"
#include "compiler/Sharding/ShardingForms.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Narrowing.h"
#include "dialects/Cleave/IR/StepFunctions.h"

#include "mlir/IR/Matchers.h"

using namespace cleave;
using llvm::LogicalResult;
using llvm::SmallVector;
using mlir::failure;
using mlir::success;
using mlir::Value;
using mlir::func::FuncOp;

// The axes with more than one rank.
static SmallVector<mlir::Attribute> axesIn(MeshAttr mesh, llvm::ArrayRef<std::string> names) {
  SmallVector<mlir::Attribute> axes;
  for (const std::string &name : names)
    if (mesh.getSize(name) > 1)
      axes.push_back(mlir::StringAttr::get(mesh.getContext(), name));
  return axes;
}

static int64_t microBatchesOf(mlir::ModuleOp module) {
  auto count = module->getAttrOfType<mlir::IntegerAttr>(kMicroBatchesAttr);
  return count ? count.getInt() : 1;
}

Propagation::Propagation(mlir::ModuleOp module, MeshAttr mesh, llvm::ArrayRef<std::string> dataAxes,
                         const StatePolicy &policy)
    : module(module), mesh(mesh), dataAxes(axesIn(mesh, dataAxes)), hasServer(policy.dpSync == DpSync::ParameterServer),
      states(module, mesh, policy, this->dataAxes),
      preferences(states, mesh, hasServer ? llvm::ArrayRef(this->dataAxes) : llvm::ArrayRef<mlir::Attribute>()),
      terms(states, made, microBatchesOf(module)) {}

SmallVector<llvm::StringRef> Propagation::getOwnerAxes() const {
  SmallVector<llvm::StringRef> axes;
  if (hasServer)
    for (mlir::Attribute axis : dataAxes)
      axes.push_back(llvm::cast<mlir::StringAttr>(axis).getValue());
  return axes;
}

ShardingAttr Propagation::wholeForm(mlir::Type type) {
  return ShardingAttr::replicated(type.getContext(), llvm::cast<mlir::RankedTensorType>(type).getRank());
}

LogicalResult Propagation::run() {
  do {
    made.clear();
    used.clear();
    preferences.clear();
    toDecompose.clear();
    if (mlir::failed(propagate()))
      return failure();
  } while (toDecompose.empty() && !states.settle([&](Value value) { return made.lookup(value); }));
  return success();
}

SmallVector<FuncOp> Propagation::inOrder() const { return inStepOrder(module); }

LogicalResult Propagation::propagate() {
  for (FuncOp function : inOrder()) {
    if (mlir::failed(setArguments(function)))
      return failure();
    preferences.collect(function);
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
    return wholeForm(type);
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
  ShardingAttr preference = sharding.getPartialAxes().empty() ? ShardingAttr() : preferences.of(value);
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
    made[read.getResult()] = states.getStored(read.getState());
    return;
  }
  if (auto write = llvm::dyn_cast<WriteOp>(op)) {
    used[&op->getOpOperand(0)] = states.getStored(write.getState());
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
    if (!loops.propose(index, operands[index]) && isDecomposable && !llvm::is_contained(toDecompose, op) &&
        !LoopSharding(op, mesh).propose(index, operands[index]))
      toDecompose.push_back(op);
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

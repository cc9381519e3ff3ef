// partition: makes the program of one rank. A value's local form is made by the same op on local operands. All
// communication follows from the difference between `cleave.uses` and `cleave.sharding`.
#include "compiler/Sharding/Collectives.h"
#include "compiler/Sharding/DistributionRules.h"
#include "compiler/Sharding/Linearity.h"
#include "compiler/Sharding/Passes.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/Reason.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

namespace cleave {
#define GEN_PASS_DEF_PARTITION
#include "compiler/Sharding/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using llvm::LogicalResult;
using mlir::failure;
using mlir::OpBuilder;
using mlir::RankedTensorType;
using mlir::success;
using mlir::Value;
using mlir::func::FuncOp;

static ShardingAttr shardingAt(mlir::Operation *op, llvm::StringRef name, unsigned index) {
  auto list = op->getAttrOfType<mlir::ArrayAttr>(name);
  return list && index < list.size() ? llvm::dyn_cast<ShardingAttr>(list[index]) : ShardingAttr();
}

namespace {
class FunctionPartitioner {
public:
  FunctionPartitioner(FuncOp function, MeshAttr mesh, Collectives &collectives)
      : function(function), mesh(mesh), collectives(collectives), builder(function.getContext()) {}

  LogicalResult run() {
    mlir::Block &body = function.getBody().front();
    for (mlir::BlockArgument argument : body.getArguments()) {
      auto sharding = function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), kShardingAttr);
      if (!sharding)
        return function.emitError("partition needs cleave.sharding on every argument; run assign-shardings first");
      made[argument] = sharding;
    }
    // Global ops stay until the end, because later ops need their types.
    llvm::SmallVector<mlir::Operation *> globals;
    for (mlir::Operation &op : body)
      globals.push_back(&op);
    auto arguments = llvm::to_vector(body.getArguments());
    for (mlir::BlockArgument argument : arguments)
      locals.map(argument, body.addArgument(localType(argument), argument.getLoc()));
    for (mlir::Operation *op : globals)
      if (mlir::failed(partition(op)))
        return failure();
    for (mlir::Operation *op : llvm::reverse(globals))
      op->erase();
    body.eraseArguments(0, arguments.size());
    auto results = body.getTerminator()->getOperandTypes();
    function.setType(builder.getFunctionType(body.getArgumentTypes(), results));
    return success();
  }

private:
  RankedTensorType localType(Value value) {
    return made[value].getLocalType(llvm::cast<RankedTensorType>(value.getType()), mesh);
  }

  LogicalResult partition(mlir::Operation *op) {
    builder.setInsertionPoint(op);
    llvm::SmallVector<Value> operands;
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      auto local = localOperand(operand);
      if (mlir::failed(local))
        return failure();
      operands.push_back(*local);
    }
    for (auto [index, result] : llvm::enumerate(op->getResults())) {
      made[result] = shardingAt(op, kShardingAttr, index);
      if (!made[result])
        return op->emitOpError("has no cleave.sharding for result ") << index << "; run assign-shardings first";
    }
    if (op->getNumResults() == 1)
      if (Value splat = splatForm(op->getResult(0), made[op->getResult(0)])) {
        locals.map(op->getResult(0), splat);
        return success();
      }
    mlir::Operation *local = op->clone();
    builder.insert(local);
    local->setOperands(operands);
    local->removeAttr(kShardingAttr);
    local->removeAttr(kUsesAttr);
    for (auto [whole, part] : llvm::zip_equal(op->getResults(), local->getResults()))
      part.setType(localType(whole));
    locals.map(op->getResults(), local->getResults());
    if (isSameBytes(op) && local->getResult(0).getType() != op->getResult(0).getType())
      local->setAttr(kWholeAttr, mlir::TypeAttr::get(op->getResult(0).getType()));
    localize(op, local);
    return success();
  }

  // Returns the operand in the form in which this op uses it. Each form of a value is made once.
  llvm::FailureOr<Value> localOperand(mlir::OpOperand &operand) {
    Value value = operand.get();
    ShardingAttr used = shardingAt(operand.getOwner(), kUsesAttr, operand.getOperandNumber());
    if (!used)
      return operand.getOwner()->emitOpError("has no cleave.uses for operand ")
             << operand.getOperandNumber() << "; run assign-shardings first";
    if (used == made[value] || (isZero(value) && used.getDims() == made[value].getDims()))
      return locals.lookup(value);
    Value &form = forms[{value, used}];
    if (form || (form = splatForm(value, used)))
      return form;
    auto local = collectives.reshard(builder, value.getLoc(), locals.lookup(value),
                                     llvm::cast<RankedTensorType>(value.getType()), made[value], used,
                                     reasonOf(operand, made[value], used));
    if (mlir::failed(local))
      return failure();
    return form = *local;
  }

  // Returns a splat in the form `sharding`; null if `value` is not a splat. Every part of a splat is a splat, so it is
  // made again for each other form. For example, one constant may serve a split value and a whole one of the same
  // global shape.
  Value splatForm(Value value, ShardingAttr sharding) {
    mlir::DenseElementsAttr constant;
    if (!mlir::matchPattern(value, mlir::m_Constant(&constant)) || !constant.isSplat())
      return {};
    if (!sharding.getPartialAxes().empty() && !isZero(value))
      return {}; // terms that add up to it are not equal to it
    auto type = sharding.getLocalType(llvm::cast<RankedTensorType>(value.getType()), mesh);
    auto part = mlir::DenseElementsAttr::get(type, constant.getSplatValue<mlir::Attribute>());
    return ConstantOp::create(builder, value.getLoc(), part).getResult();
  }

  void localize(mlir::Operation *op, mlir::Operation *local) {
    auto positional = llvm::dyn_cast<PositionalOpInterface>(local);
    if (!positional || local->getResult(0).getType() == op->getResult(0).getType())
      return;
    Value whole = op->getResult(0);
    RankedTensorType type = localType(whole);
    Value origin = collectives.origin(builder, op->getLoc(), made[whole], type);
    // The clone already has the local type. localize() makes the op that computes this part of the whole.
    Value part = positional.localize(builder, type, origin);
    locals.map(whole, part);
    local->erase();
  }

  FuncOp function;
  MeshAttr mesh;
  Collectives &collectives;
  OpBuilder builder;
  mlir::IRMapping locals;
  llvm::DenseMap<Value, ShardingAttr> made;
  llvm::DenseMap<std::pair<Value, mlir::Attribute>, Value> forms;
};

struct Partition : cleave::impl::PartitionBase<Partition> {
  using PartitionBase::PartitionBase;

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    auto mesh = module->getAttrOfType<MeshAttr>(kMeshAttr);
    if (!mesh) {
      module.emitError("partition needs the module's cleave.mesh; got: none");
      return signalPassFailure();
    }
    Collectives collectives(module, mesh);
    for (FuncOp function : llvm::to_vector(module.getOps<FuncOp>()))
      if (!function.isDeclaration() && mlir::failed(FunctionPartitioner(function, mesh, collectives).run()))
        return signalPassFailure();
    module->setAttr(kLevelAttr, mlir::StringAttr::get(&getContext(), "sharded"));
  }
};
} // namespace

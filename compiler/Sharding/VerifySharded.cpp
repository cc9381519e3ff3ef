// verify-sharded: see Passes.td. Reports all errors, not only the first.
#include "compiler/Sharding/Collectives.h"
#include "compiler/Sharding/DistributionCheck.h"
#include "compiler/Sharding/Passes.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/StepFunctions.h"
#include "dialects/Cleave/Transforms/LevelChecks.h"

#include "llvm/ADT/StringMap.h"

namespace cleave {
#define GEN_PASS_DEF_VERIFYSHARDED
#include "compiler/Sharding/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using mlir::func::FuncOp;

namespace {
struct VerifySharded : cleave::impl::VerifyShardedBase<VerifySharded> {
  using VerifyShardedBase::VerifyShardedBase;

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    mesh = module->getAttrOfType<MeshAttr>(kMeshAttr);
    auto level = module->getAttrOfType<mlir::StringAttr>(kLevelAttr);
    if (!mesh || !level || level.getValue() != "sharded") {
      module.emitError("expected cleave.level = \"sharded\" and a cleave.mesh; got: ") << module->getAttrDictionary();
      return signalPassFailure();
    }
    checkGrid();
    for (auto state : module.getOps<StateOp>())
      states[state.getSymName()] = state;
    module.walk([&](mlir::Operation *op) { check(op); });
    isWrong |= mlir::failed(checkAttributes(module, Level::Sharded));
    isWrong |= mlir::failed(checkFunctions(module));
    if (isWrong || mlir::failed(checkDistributions(module, mesh)))
      signalPassFailure();
  }

  template <typename Op> mlir::InFlightDiagnostic error(Op op) {
    isWrong = true;
    return op->emitError();
  }

  void checkGrid() {
    auto grid = getOperation().lookupSymbol<mlir::shard::GridOp>(Collectives::kGrid);
    if (mesh.getNumRanks() > 1 && (!grid || grid.getShape() != mesh.getSizes()))
      error(getOperation()) << "expected shard.grid @mesh of the shape of " << mesh;
  }

  void check(mlir::Operation *op) {
    if (auto state = llvm::dyn_cast<StateOp>(op); state && !state.getStorage())
      error(op) << "state @" << state.getSymName() << " has no storage";
    if (auto function = llvm::dyn_cast<FuncOp>(op))
      checkPorts(function);
    if (auto read = llvm::dyn_cast<ReadOp>(op))
      checkAccess(op, read.getState(), read.getResult().getType());
    if (auto write = llvm::dyn_cast<WriteOp>(op))
      checkAccess(op, write.getState(), write.getValue().getType());
    if (llvm::isa<mlir::shard::ShardDialect>(op->getDialect()) && op->getParentOfType<FuncOp>())
      checkCollective(op);
  }

  // Residuals and edges need no sharding, because both of their functions are in this module.
  void checkPorts(FuncOp function) {
    bool hasBackward = llvm::any_of(getOperation().getOps<FuncOp>(),
                                    [&](FuncOp other) { return isBackward(other) && forwardOf(other) == function; });
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (!function.getArgAttr(i, kResidualAttr) && !function.getArgAttr(i, kEdgeAttr) &&
          !function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr))
        error(function) << "argument " << i << " has no cleave.sharding";
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!(hasBackward && !function.getResultAttr(i, kNameAttr)) && edgeOfResult(function, i).empty() &&
          !function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr))
        error(function) << "result " << i << " has no cleave.sharding";
  }

  void checkAccess(mlir::Operation *op, llvm::StringRef name, mlir::Type type) {
    auto state = states.lookup(name);
    if (!state || !state.getStorage())
      return; // reported already
    auto stored = state.getStorage()->getLocalType(state.getTensorType(), mesh);
    if (type != stored)
      error(op) << "state @" << name << " is stored as " << stored << "; got: " << type;
  }

  void checkCollective(mlir::Operation *op) {
    auto instance = op->getAttrOfType<mlir::IntegerAttr>(kInstanceAttr);
    if (!instance || !op->hasAttr(kReasonAttr))
      error(op) << "a collective has cleave.instance and cleave.reason";
    else if (!instances.insert(instance.getInt()).second)
      error(op) << "collectives have instances of their own; got: " << instance.getInt() << " twice";
  }

  MeshAttr mesh;
  llvm::StringMap<StateOp> states;
  llvm::DenseSet<int64_t> instances;
  bool isWrong = false;
};
} // namespace

// assign-shardings: runs the propagation and writes its answers into the IR.
#include "compiler/Sharding/GatherNotes.h"
#include "compiler/Sharding/Offload.h"
#include "compiler/Sharding/Passes.h"
#include "compiler/Sharding/Propagation.h"
#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/RankKinds.h"

namespace cleave {
#define GEN_PASS_DEF_ASSIGNSHARDINGS
#include "compiler/Sharding/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using mlir::Attribute;

// Replaces ops by their parts, whose loops can be split.
static llvm::LogicalResult decomposeAll(llvm::ArrayRef<mlir::Operation *> ops) {
  for (mlir::Operation *op : ops) {
    mlir::OpBuilder builder(op);
    auto parts = llvm::cast<ComputeOpInterface>(op).decompose(builder, op->getOperands());
    if (parts.size() != op->getNumResults())
      return op->emitOpError("cannot be split along its reduced dimension, and does not decompose");
    op->replaceAllUsesWith(parts);
    op->erase();
  }
  return mlir::success();
}

static void annotateOps(mlir::ModuleOp module, const Propagation &shardings) {
  mlir::Builder builder(module.getContext());
  module.walk([&](mlir::Operation *op) {
    if (!op->getParentOfType<mlir::func::FuncOp>())
      return;
    llvm::SmallVector<Attribute> made, used;
    for (mlir::Value result : op->getResults())
      made.push_back(shardings.getMade(result));
    for (mlir::OpOperand &operand : op->getOpOperands())
      used.push_back(shardings.getUsed(operand));
    if (!made.empty())
      op->setAttr(kShardingAttr, builder.getArrayAttr(made));
    if (!used.empty())
      op->setAttr(kUsesAttr, builder.getArrayAttr(used));
  });
}

static mlir::DictionaryAttr withSharding(mlir::DictionaryAttr port, ShardingAttr sharding) {
  mlir::NamedAttrList attributes(port);
  attributes.set(kShardingAttr, sharding);
  return attributes.getDictionary(sharding.getContext());
}

// Sets the attributes of all ports at once, because each change of one port makes a new list for all of them.
static void annotatePorts(mlir::func::FuncOp function, const Propagation &shardings) {
  llvm::SmallVector<mlir::DictionaryAttr> arguments, results;
  for (mlir::BlockArgument argument : function.getArguments())
    arguments.push_back(
        withSharding(function.getArgAttrDict(argument.getArgNumber()), shardings.getMade(argument)));
  for (mlir::OpOperand &result : function.getBody().front().getTerminator()->getOpOperands())
    results.push_back(withSharding(function.getResultAttrDict(result.getOperandNumber()), shardings.getUsed(result)));
  function.setAllArgAttrs(arguments);
  function.setAllResultAttrs(results);
}

namespace {
struct AssignShardings : cleave::impl::AssignShardingsBase<AssignShardings> {
  using AssignShardingsBase::AssignShardingsBase;

  void runOnOperation() override {
    mlir::ModuleOp module = getOperation();
    auto mesh = module->getAttrOfType<MeshAttr>(kMeshAttr);
    if (!mesh) {
      module.emitError("assign-shardings needs the module's cleave.mesh; got: none");
      return signalPassFailure();
    }
    auto policy = parsePolicy();
    auto stored = parseOffload(offload);
    if (!policy || !stored) {
      module.emitError("assign-shardings: ") << llvm::toString(llvm::joinErrors(
          policy ? llvm::Error::success() : policy.takeError(), stored ? llvm::Error::success() : stored.takeError()));
      return signalPassFailure();
    }
    llvm::SmallVector<std::string> axes(dataAxes.begin(), dataAxes.end());
    if (axes.empty())
      axes = {"dp", "fsdp"};
    while (true) {
      Propagation shardings(module, mesh, axes, *policy);
      if (mlir::failed(shardings.run()))
        return signalPassFailure();
      if (shardings.opsToDecompose().empty())
        return annotate(shardings, *stored);
      if (mlir::failed(decomposeAll(shardings.opsToDecompose())))
        return signalPassFailure();
    }
  }

  llvm::Expected<StatePolicy> parsePolicy() {
    auto strategy = parseFsdpStrategy(fsdpStrategy);
    if (!strategy)
      return strategy.takeError();
    auto sync = parseGradSync(gradSync, *strategy);
    if (!sync)
      return sync.takeError();
    auto where = parseDpSync(dpSync);
    if (!where)
      return where.takeError();
    return StatePolicy{*strategy, *sync, *where};
  }

  void annotate(const Propagation &shardings, const Offload &stored) {
    noteGathers(getOperation(), shardings);
    annotateOps(getOperation(), shardings);
    for (auto function : getOperation().getOps<mlir::func::FuncOp>())
      if (!function.isDeclaration())
        annotatePorts(function, shardings);
    for (auto state : getOperation().getOps<StateOp>()) {
      state.setStorageAttr(shardings.getStorage(state));
      if (stored.covers(state.getRole()))
        state->setAttr(kOffloadedAttr, mlir::UnitAttr::get(&getContext()));
    }
    if (llvm::SmallVector<llvm::StringRef> owners = shardings.getOwnerAxes(); !owners.empty())
      getOperation()->setAttr(kKindsAttr, listKinds(owners));
  }

  // Lists the kinds of ranks: the owners, and for each axis the ranks that are at coordinate 0 of the axes before it,
  // but not of this axis.
  mlir::ArrayAttr listKinds(llvm::ArrayRef<llvm::StringRef> owners) {
    auto mesh = getOperation()->getAttrOfType<MeshAttr>(kMeshAttr);
    llvm::SmallVector<std::tuple<llvm::StringRef, int64_t, int64_t>> where;
    llvm::SmallVector<Attribute> workers;
    for (llvm::StringRef axis : owners) {
      where.emplace_back(axis, 1, mesh.getSize(axis));
      std::string name = owners.size() == 1 ? "worker" : "worker." + axis.str();
      workers.push_back(RankKind::makeEntry(&getContext(), name, where));
      where.back() = {axis, 0, 1};
    }
    workers.insert(workers.begin(), RankKind::makeEntry(&getContext(), "server", where));
    return mlir::ArrayAttr::get(&getContext(), workers);
  }
};
} // namespace

#include "dialects/Cleave/Transforms/LevelChecks.h"

#include "dialects/Cleave/IR/Attributes.h"

#include "llvm/ADT/StringMap.h"

using namespace cleave;
using llvm::LogicalResult;
using mlir::func::FuncOp;

LogicalResult cleave::checkLevel(mlir::ModuleOp module, llvm::StringRef level) {
  auto got = module->getAttrOfType<mlir::StringAttr>(kLevelAttr);
  if (!got || got.getValue() != level) {
    auto error = module.emitError("expects a module with cleave.level = \"") << level << "\"; got: ";
    return got ? error << got : error << "no level";
  }
  if (!module->getAttrOfType<MeshAttr>(kMeshAttr))
    return module.emitError("expects a module with cleave.mesh, a #cleave.mesh; got: none");
  return mlir::success();
}

LogicalResult cleave::checkUnsharded(mlir::ModuleOp module) {
  bool failed = false;
  module.walk([&](mlir::Operation *op) {
    if (mlir::isa<KernelOp>(op)) {
      op->emitOpError("is formed after sharding and must not be here yet");
      failed = true;
    } else if (llvm::isa_and_present<mlir::shard::ShardDialect>(op->getDialect())) {
      op->emitOpError("crosses ranks, which is decided by sharding and must not be here yet");
      failed = true;
    } else if (auto state = mlir::dyn_cast<StateOp>(op); state && state.getStorage()) {
      state.emitOpError("has a storage, which is decided by sharding and must not be here yet");
      failed = true;
    }
  });
  return mlir::failure(failed);
}

LogicalResult cleave::checkStateAccess(mlir::ModuleOp module) {
  bool failed = false;
  for (FuncOp function : module.getOps<FuncOp>()) {
    llvm::StringMap<WriteOp> written;
    function.walk([&](mlir::Operation *op) {
      if (auto read = mlir::dyn_cast<ReadOp>(op)) {
        auto write = written.find(read.getState());
        if (write == written.end())
          return;
        read.emitOpError("of @") << read.getState()
                                 << " stands after its write; reads see the old value and come first";
        failed = true;
      } else if (auto write = mlir::dyn_cast<WriteOp>(op)) {
        if (written.try_emplace(write.getState(), write).second)
          return;
        write.emitOpError("writes @") << write.getState() << " a second time in a function; only one write is allowed";
        failed = true;
      }
    });
  }
  return mlir::failure(failed);
}

// An op of a plug-in's dialect is accepted if it has the interfaces that every later stage uses.
static bool isCompleteOp(mlir::Operation *op) {
  return mlir::isa<ComputeOpInterface>(op) && mlir::isa<mlir::shard::ShardingInterface>(op);
}

LogicalResult cleave::checkFunctions(mlir::ModuleOp module) {
  bool failed = false;
  for (FuncOp function : module.getOps<FuncOp>()) {
    if (function.isDeclaration() || !function.getBody().hasOneBlock()) {
      function.emitOpError("must have a body of one block");
      failed = true;
      continue;
    }
    for (mlir::Operation &op : function.getBody().front())
      if (!mlir::isa<CleaveDialect, mlir::shard::ShardDialect>(op.getDialect()) &&
          !mlir::isa<mlir::func::ReturnOp>(op) && !isCompleteOp(&op)) {
        op.emitOpError("is not an op of the cleave or shard dialect and must not be here; an op of a plug-in says how "
                       "it is computed and how it may be split (dialects/Cleave/IR/CleaveInterfaces.td)");
        failed = true;
      }
  }
  return mlir::failure(failed);
}

static LogicalResult checkPort(FuncOp function, mlir::DictionaryAttr attributes, mlir::Type type, llvm::StringRef what,
                               unsigned index) {
  if (!attributes)
    return mlir::success();
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return function.emitOpError("expects a statically shaped tensor as ") << what << " " << index << "; got: " << type;
  auto batch = attributes.getAs<mlir::IntegerAttr>(kBatchDimAttr);
  if (batch && (batch.getInt() < 0 || batch.getInt() >= tensor.getRank()))
    return function.emitOpError("expects a dimension of ")
           << tensor << " as cleave.batch_dim of " << what << " " << index << "; got: " << batch;
  return mlir::success();
}

LogicalResult cleave::checkPorts(FuncOp function) {
  bool failed = false;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    failed |= mlir::failed(checkPort(function, function.getArgAttrDict(index), type, "argument", index));
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    failed |= mlir::failed(checkPort(function, function.getResultAttrDict(index), type, "result", index));
  return mlir::failure(failed);
}

LogicalResult cleave::checkAllNamed(FuncOp function) {
  bool failed = false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!function.getArgAttr(i, kNameAttr)) {
      function.emitOpError("expects cleave.name on every argument; got: none on argument ") << i;
      failed = true;
    }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!function.getResultAttr(i, kNameAttr)) {
      function.emitOpError("expects cleave.name on every result; got: none on result ") << i;
      failed = true;
    }
  return mlir::failure(failed);
}

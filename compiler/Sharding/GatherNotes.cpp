#include "compiler/Sharding/GatherNotes.h"

#include "dialects/Cleave/IR/Attributes.h"
#include "runtime/base/HumanUnits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace cleave;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::func::FuncOp;

namespace {

// Everything that one op of the model gathers in a step.
struct Gathers {
  RankedTensorType type; // of the first value
  llvm::SetVector<llvm::StringRef> axes;
  int64_t bytes = 0; // sent by a rank
};

class GatherFinder {
public:
  GatherFinder(mlir::ModuleOp module, const Propagation &shardings)
      : module(module), mesh(module->getAttrOfType<MeshAttr>(kMeshAttr)), shardings(shardings) {}

  void run() {
    for (FuncOp function : shardings.inOrder()) {
      findSamples(function);
      if (int64_t times = timesPerStep(function))
        find(function, times);
    }
    for (const auto &[place, gathers] : found)
      mlir::emitRemark(place.first) << place.second << " needs all samples: " << gathers.type << " is gathered over "
                                    << llvm::join(gathers.axes.getArrayRef(), ", ") << ", "
                                    << rt::exactBytesText(static_cast<uint64_t>(gathers.bytes))
                                    << " sent by a rank a step. Each rank then computes the rest for the whole batch. "
                                       "An op that works on each sample alone needs no gather";
  }

private:
  // Returns how often a step runs the function. @evaluate is not part of a step. With several micro-batches, the first
  // one has functions of its own.
  int64_t timesPerStep(FuncOp function) const {
    auto count = module->getAttrOfType<mlir::IntegerAttr>(kMicroBatchesAttr);
    int64_t microBatches = count ? count.getInt() : 1;
    llvm::StringRef name = function.getName();
    if (name == "evaluate")
      return 0;
    if (microBatches == 1 || name.ends_with(".first"))
      return 1;
    return microBatches - 1;
  }

  // Collects inputs with a batch, residuals that are made of such values, and everything that is computed from them.
  void findSamples(FuncOp function) {
    for (mlir::BlockArgument argument : function.getArguments()) {
      Value source = shardings.residualSource(argument);
      if (source ? sampleValues.contains(source)
                 : function.getArgAttr(argument.getArgNumber(), kBatchDimAttr) != nullptr)
        sampleValues.insert(argument);
    }
    for (mlir::Operation &op : function.getBody().front())
      if (llvm::any_of(op.getOperands(), [&](Value operand) { return sampleValues.contains(operand); }))
        sampleValues.insert_range(op.getResults());
  }

  void find(FuncOp function, int64_t times) {
    llvm::DenseSet<std::pair<Value, mlir::Attribute>> forms; // each form is made once
    for (mlir::Operation &op : function.getBody().front())
      for (mlir::OpOperand &operand : op.getOpOperands()) {
        ShardingAttr used = shardings.getUsed(operand);
        if (sampleValues.contains(operand.get()) && forms.insert({operand.get(), used}).second)
          count(&op, operand.get(), used, times);
      }
  }

  void count(mlir::Operation *op, Value value, ShardingAttr used, int64_t times) {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    ShardingAttr at = shardings.getMade(value);
    for (ShardingAttr next : {withEqualSplitFactors(at, used), used}) {
      auto collectives = planReshard(at, next);
      if (mlir::failed(collectives))
        return; // partition reports the error
      int64_t local = byteSize(at.getLocalType(type, mesh));
      for (const ReshardCollective &collective : *collectives) {
        int64_t parts = 1;
        for (llvm::StringRef axis : collective.axes)
          parts *= mesh.getSize(axis);
        if (collective.kind == ReshardKind::AllGather || collective.kind == ReshardKind::AllToAll) {
          Gathers &gathers = found[{op->getLoc(), op->getName().getStringRef()}];
          gathers.type = gathers.type ? gathers.type : type;
          gathers.axes.insert_range(collective.axes);
          gathers.bytes += times * (parts - 1) * local;
        }
        local = byteSize(collective.result.getLocalType(type, mesh));
      }
      at = next;
    }
  }

  mlir::ModuleOp module;
  MeshAttr mesh;
  const Propagation &shardings;
  llvm::DenseSet<Value> sampleValues;
  llvm::MapVector<std::pair<mlir::Location, llvm::StringRef>, Gathers> found;
};

} // namespace

void cleave::noteGathers(mlir::ModuleOp module, const Propagation &shardings) { GatherFinder(module, shardings).run(); }

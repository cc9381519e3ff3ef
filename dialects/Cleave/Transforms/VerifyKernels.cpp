#include "dialects/Cleave/IR/Attributes.h"
#include "dialects/Cleave/IR/KernelText.h"
#include "dialects/Cleave/Transforms/LevelChecks.h"
#include "dialects/Cleave/Transforms/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace cleave {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "dialects/Cleave/Transforms/Passes.h.inc"
} // namespace cleave

using namespace cleave;
using llvm::LogicalResult;

// Checks that the op may be in a function's body: see Rationale.md, "kernels".
static LogicalResult checkBodyOp(mlir::Operation &op) {
  if (mlir::isa<KernelOp, ConstantOp, ReadOp, WriteOp, mlir::func::ReturnOp>(op) ||
      mlir::isa<mlir::shard::ShardDialect>(op.getDialect()))
    return mlir::success();
  auto compute = mlir::dyn_cast<ComputeOpInterface>(op);
  if (!compute)
    return op.emitOpError("has no way to be computed; expects kernels, views, state and collectives only");
  switch (compute.getComputeKind()) {
  case ComputeKind::View:
  case ComputeKind::Kernel:
    return mlir::success();
  case ComputeKind::Fusible:
    return op.emitOpError("is fusible and must be inside a cleave.kernel");
  case ComputeKind::Composite:
    return op.emitOpError("is composite and must be decomposed first");
  }
  llvm_unreachable("all kinds are above");
}

// Checks that the code generator can compile the op inside a kernel.
static LogicalResult checkKernelOp(mlir::Operation &op) {
  if (mlir::isa<YieldOp>(op))
    return mlir::success();
  auto compute = mlir::dyn_cast<ComputeOpInterface>(op);
  if (compute && (compute.getComputeKind() == ComputeKind::View || compute.getComputeKind() == ComputeKind::Fusible))
    return mlir::success();
  return op.emitOpError("is neither fusible nor a view and must not be inside a cleave.kernel");
}

static LogicalResult checkOps(mlir::ModuleOp module) {
  bool failed = false;
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (function.isDeclaration())
      continue;
    for (mlir::Operation &op : function.getBody().front()) {
      failed |= mlir::failed(checkBodyOp(op));
      if (auto kernel = mlir::dyn_cast<KernelOp>(op))
        for (mlir::Operation &inner : kernel.getBody().front())
          failed |= mlir::failed(checkKernelOp(inner));
    }
  }
  return mlir::failure(failed);
}

// Upstream's collectives are pure, so each needs its own instance number, or equal ones would be merged.
static LogicalResult checkInstances(mlir::ModuleOp module) {
  bool failed = false;
  llvm::DenseMap<int64_t, mlir::Operation *> seen;
  module.walk([&](mlir::Operation *op) {
    if (!mlir::isa<mlir::shard::ShardDialect>(op->getDialect()) || !op->getParentOfType<mlir::func::FuncOp>())
      return;
    auto instance = op->getAttrOfType<mlir::IntegerAttr>(kInstanceAttr);
    if (!instance) {
      op->emitOpError("expects cleave.instance, a number of its own; got: none");
      failed = true;
      return;
    }
    auto [first, isNew] = seen.try_emplace(instance.getInt(), op);
    if (isNew)
      return;
    auto error = op->emitOpError("expects a cleave.instance of its own; got: ") << instance.getInt() << " twice";
    error.attachNote(first->second->getLoc()) << "the first op of this instance";
    failed = true;
  });
  return mlir::failure(failed);
}

static LogicalResult checkAllPorts(mlir::ModuleOp module) {
  bool failed = false;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    failed |= mlir::failed(checkPorts(function));
  return mlir::failure(failed);
}

// Each label is compiled once, from the first kernel that has it.
static LogicalResult checkLabels(mlir::ModuleOp module) {
  bool failed = false;
  llvm::StringMap<KernelOp> first;
  module.walk([&](KernelOp kernel) {
    if (!kernel.getLabel())
      return;
    auto [known, isNew] = first.try_emplace(*kernel.getLabel(), kernel);
    if (isNew || haveEqualCode(known->second, kernel))
      return;
    auto error = kernel.emitOpError("expects to be equal to all kernels of its label, which share code; got: another "
                                    "kernel of label '")
                 << *kernel.getLabel() << "' (run name-kernels after a pass that changes kernels)";
    error.attachNote(known->second.getLoc()) << "the first kernel of this label";
    failed = true;
  });
  return mlir::failure(failed);
}

namespace {
struct VerifyKernels : impl::VerifyKernelsBase<VerifyKernels> {
  void runOnOperation() override {
    LogicalResult (*rules[])(mlir::ModuleOp) = {checkFunctions, checkAllPorts, checkOps,
                                                checkInstances, checkLabels,   checkStateAccess};
    bool failed = mlir::failed(checkAttributes(getOperation(), Level::Kernels));
    for (auto rule : rules)
      failed |= mlir::failed(rule(getOperation()));
    if (failed)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
